// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

// ISA-L: CRC-64 by carry-less multiplication. crc64_ecma_refl takes and gives the finished value (the inversions at
// both ends are its own), so the value of one call is the seed of the next.

#ifndef CISAL_SHIM_H
#define CISAL_SHIM_H

#include <isa-l/crc64.h>

#endif
