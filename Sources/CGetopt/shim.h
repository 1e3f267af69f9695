// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

// getopt_long(3): the C library's reader of command lines. Swift's own C library module leaves the header out, and its
// results are in global variables, which Swift does not let one read: each has a function here.

#ifndef CGETOPT_SHIM_H
#define CGETOPT_SHIM_H

#include <getopt.h>
#include <stddef.h>

/// getopt_long; the next option's value, -1 at the end, '?' for one that is not known.
static inline int cgetopt_next(
    int count, char *_Nullable const *_Nonnull arguments, const char *_Nonnull letters,
    const struct option *_Nonnull options) {
    return getopt_long(count, arguments, letters, options, NULL);
}

/// optarg: the argument of the option just read, NULL where it has none.
static inline const char *_Nullable cgetopt_argument(void) { return optarg; }

/// optind: where the operands begin, once the options are at their end.
static inline int cgetopt_operands(void) { return optind; }

#endif
