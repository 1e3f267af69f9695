// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

// libcurl: the HTTP/1.1 transport of the client.
//
// Swift imports no variadic C function, so each kind of argument of curl_easy_setopt, curl_easy_getinfo and
// curl_multi_setopt has one function with a type here. They add nothing else.

#ifndef CCURL_SHIM_H
#define CCURL_SHIM_H

#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#if defined(__linux__)
#include <linux/sockios.h>
#endif

/// curl_easy_setopt for options that take a long.
static inline CURLcode ccurl_easy_set_long(CURL *_Nonnull easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

/// curl_easy_setopt for options that take a curl_off_t.
static inline CURLcode ccurl_easy_set_offset(CURL *_Nonnull easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

/// curl_easy_setopt for options that take a text, which curl copies; NULL is the option's "none".
static inline CURLcode ccurl_easy_set_text(CURL *_Nonnull easy, CURLoption option, const char *_Nullable value) {
    return curl_easy_setopt(easy, option, value);
}

/// curl_easy_setopt for options that take a pointer, which curl keeps and does not own.
static inline CURLcode ccurl_easy_set_pointer(CURL *_Nonnull easy, CURLoption option, void *_Nullable value) {
    return curl_easy_setopt(easy, option, value);
}

/// curl_easy_setopt for options that take a list, which curl keeps and does not own.
static inline CURLcode ccurl_easy_set_list(CURL *_Nonnull easy, CURLoption option, struct curl_slist *_Nullable value) {
    return curl_easy_setopt(easy, option, value);
}

/// curl_easy_setopt for CURLOPT_READFUNCTION, CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION, which look alike.
static inline CURLcode ccurl_easy_set_data_function(
    CURL *_Nonnull easy, CURLoption option,
    size_t (*_Nonnull function)(char *_Nullable buffer, size_t size, size_t count, void *_Nullable context)) {
    return curl_easy_setopt(easy, option, function);
}

/// curl_easy_setopt for CURLOPT_SEEKFUNCTION.
static inline CURLcode ccurl_easy_set_seek_function(
    CURL *_Nonnull easy, int (*_Nonnull function)(void *_Nullable context, curl_off_t offset, int origin)) {
    return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, function);
}

/// curl_easy_setopt for CURLOPT_PREREQFUNCTION.
static inline CURLcode ccurl_easy_set_prereq_function(
    CURL *_Nonnull easy,
    int (*_Nonnull function)(
        void *_Nullable context, char *_Nullable primary_ip, char *_Nullable local_ip, int primary_port,
        int local_port)) {
    return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, function);
}

/// curl_easy_setopt for CURLOPT_SOCKOPTFUNCTION.
static inline CURLcode ccurl_easy_set_sockopt_function(
    CURL *_Nonnull easy, int (*_Nonnull function)(void *_Nullable context, curl_socket_t socket, curlsocktype purpose)) {
    return curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, function);
}

/// curl_easy_setopt for CURLOPT_CLOSESOCKETFUNCTION.
static inline CURLcode ccurl_easy_set_close_function(
    CURL *_Nonnull easy, int (*_Nonnull function)(void *_Nullable context, curl_socket_t socket)) {
    return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, function);
}

/// curl_easy_getinfo for values that are a long.
static inline CURLcode ccurl_easy_get_long(CURL *_Nonnull easy, CURLINFO info, long *_Nonnull value) {
    return curl_easy_getinfo(easy, info, value);
}

/// curl_easy_getinfo for values that are a curl_off_t.
static inline CURLcode ccurl_easy_get_offset(CURL *_Nonnull easy, CURLINFO info, curl_off_t *_Nonnull value) {
    return curl_easy_getinfo(easy, info, value);
}

/// curl_multi_setopt for options that take a long.
static inline CURLMcode ccurl_multi_set_long(CURLM *_Nonnull multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

/// The easy handle of a message of curl_multi_info_read that says that a transfer is done; NULL for any other message.
///
/// Here because the message keeps its result in a union.
static inline CURL *_Nullable ccurl_message_done(const CURLMsg *_Nonnull message, CURLcode *_Nonnull result) {
    if(message->msg != CURLMSG_DONE)
        return NULL;
    *result = message->data.result;
    return message->easy_handle;
}

/// Whether the resolver's thread may be left behind when a transfer ends before it; older versions wait for it.
static inline CURLcode ccurl_easy_set_quick_exit(CURL *_Nonnull easy) {
#if LIBCURL_VERSION_NUM >= 0x075700
    return curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#else
    (void)easy;
    return CURLE_OK;
#endif
}

/// The port that an IPv4 or IPv6 socket is bound to; -1 where it cannot be told.
///
/// Here because an address has a type of its own for each family.
static inline int ccurl_local_port(curl_socket_t socket) {
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    if(getsockname(socket, (struct sockaddr *)&address, &size) != 0)
        return -1;
    if(address.ss_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)&address)->sin_port);
    if(address.ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)&address)->sin6_port);
    return -1;
}

/// Bytes in the socket's send queue that the other side has not acknowledged yet; -1 where it cannot be told.
///
/// ioctl is variadic, and its request is a macro.
static inline int ccurl_send_queue(curl_socket_t socket) {
#if defined(SIOCOUTQ)
    int bytes = 0;
    return ioctl(socket, SIOCOUTQ, &bytes) == 0 ? bytes : -1;
#else
    (void)socket;
    return -1;
#endif
}

#endif
