// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

// GNU libmicrohttpd: the HTTP side of the local server.

#ifndef CMICROHTTPD_SHIM_H
#define CMICROHTTPD_SHIM_H

// microhttpd.h names socket types without including their headers.
#include <errno.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <sys/socket.h>

#include <stdint.h>
#include <string.h>

#include <microhttpd.h>

// What the daemon calls; every function gets `context` as its first argument.
struct cmhd_callbacks {
    void * _Nullable context;
    void * _Nullable (* _Nonnull request_line)(
        void * _Nullable context, const char * _Nonnull uri, struct MHD_Connection * _Nonnull connection);
    enum MHD_Result (* _Nonnull access)(
        void * _Nullable context, struct MHD_Connection * _Nonnull connection, const char * _Nonnull url,
        const char * _Nonnull method, const char * _Nonnull version, const char * _Nullable data,
        size_t * _Nonnull size, void * _Nullable * _Nonnull request);
    void (* _Nonnull completed)(
        void * _Nullable context, struct MHD_Connection * _Nonnull connection, void * _Nullable * _Nonnull request,
        enum MHD_RequestTerminationCode code);
    void (* _Nonnull connection)(
        void * _Nullable context, struct MHD_Connection * _Nonnull connection,
        void * _Nullable * _Nonnull socket_context, enum MHD_ConnectionNotificationCode code);
};

// MHD_start_daemon is variadic, which Swift cannot call. `host` is an IPv4 or IPv6 address in digits. Returns NULL with
// errno set where the daemon cannot start; EINVAL where `host` is no address.
static inline struct MHD_Daemon * _Nullable cmhd_start(
    const char * _Nonnull host, uint16_t port, unsigned int connection_limit, unsigned int idle_seconds,
    size_t connection_memory, size_t stack_size, const struct cmhd_callbacks * _Nonnull callbacks
) {
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    memset(&v4, 0, sizeof v4);
    memset(&v6, 0, sizeof v6);
    const struct sockaddr *address;
    unsigned int flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL | MHD_USE_ITC;
    if (inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
        v4.sin_family = AF_INET;
        v4.sin_port = htons(port);
        address = (const struct sockaddr *)&v4;
    } else if (inet_pton(AF_INET6, host, &v6.sin6_addr) == 1) {
        v6.sin6_family = AF_INET6;
        v6.sin6_port = htons(port);
        address = (const struct sockaddr *)&v6;
        flags |= MHD_USE_IPv6;
    } else {
        errno = EINVAL;
        return NULL;
    }
    return MHD_start_daemon(
        flags, port, NULL, NULL, callbacks->access, callbacks->context,
        MHD_OPTION_SOCK_ADDR, address,
        MHD_OPTION_URI_LOG_CALLBACK, callbacks->request_line, callbacks->context,
        MHD_OPTION_NOTIFY_COMPLETED, callbacks->completed, callbacks->context,
        MHD_OPTION_NOTIFY_CONNECTION, callbacks->connection, callbacks->context,
        MHD_OPTION_CONNECTION_LIMIT, connection_limit,
        MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_memory,
        MHD_OPTION_THREAD_STACK_SIZE, stack_size,
        MHD_OPTION_END);
}

// MHD_get_daemon_info is variadic. The port that the daemon listens on; 0 where it does not say.
static inline uint16_t cmhd_port(struct MHD_Daemon * _Nonnull daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : 0;
}

// MHD_get_connection_info is variadic. The connection's socket, or -1.
static inline int cmhd_socket(struct MHD_Connection * _Nonnull connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

// MHD_get_connection_info is variadic. What the connection callback left in `socket_context`.
static inline void * _Nullable cmhd_socket_context(struct MHD_Connection * _Nonnull connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

// The macros behind these are casts, which the importer leaves out.
static inline ssize_t cmhd_content_end_with_error(void) { return MHD_CONTENT_READER_END_WITH_ERROR; }

#endif
