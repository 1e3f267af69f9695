// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

// GNU libmicrohttpd: the HTTP side of the local server.

#ifndef CMICROHTTPD_SHIM_H
#define CMICROHTTPD_SHIM_H

// microhttpd.h names socket types without including their headers.
#include <netinet/in.h>
#include <arpa/inet.h>
#include <sys/socket.h>

#include <microhttpd.h>

#endif
