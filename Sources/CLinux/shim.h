// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

// What Linux has and Swift's own C library module leaves out: what the C library declares for _GNU_SOURCE alone.

#ifndef CLINUX_SHIM_H
#define CLINUX_SHIM_H

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __linux__
extern ssize_t preadv64v2(
    int descriptor, const struct iovec *_Nonnull vectors, int count, __off64_t offset, int flags);
extern int pipe2(int *_Nonnull ends, int flags);
extern int pthread_setname_np(pthread_t thread, const char *_Nonnull name);
#endif

/// pthread_setname_np for the thread that calls: the name that ps and debuggers show, at most 15 bytes. A longer one is
/// refused, which changes nothing.
static inline void clinux_name_thread(const char *_Nonnull name) {
#ifdef __linux__
    (void)pthread_setname_np(pthread_self(), name);
#else
    (void)name;
#endif
}

/// pipe, with flags of open: with O_CLOEXEC a program that is begun in whatever moment has none of its ends. pipe2.
static inline int clinux_pipe(int *_Nonnull ends, int flags) {
#ifdef __linux__
    return pipe2(ends, flags);
#else
    (void)ends, (void)flags;
    errno = ENOSYS;
    return -1;
#endif
}

/// pread, but only of what needs no wait for a disk: -1 and EAGAIN where that is nothing, EOPNOTSUPP where the file system
/// cannot tell. preadv2 with RWF_NOWAIT.
static inline ssize_t clinux_read_cached(int descriptor, void *_Nullable memory, size_t count, long offset) {
#ifdef __linux__
    const int nowait = 8;  // RWF_NOWAIT of <linux/fs.h>
    struct iovec vector = {memory, count};
    return preadv64v2(descriptor, &vector, 1, offset, nowait);
#else
    (void)descriptor, (void)memory, (void)count, (void)offset;
    errno = EOPNOTSUPP;
    return -1;
#endif
}

#endif
