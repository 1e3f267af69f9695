// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

// A server that costs almost nothing, so that in a benchmark the client is what is measured.
//
// It speaks just enough of OSS for an upload: InitiateMultipartUpload, UploadPart, ListParts, CompleteMultipartUpload,
// AbortMultipartUpload, PutObject, HeadObject and an empty ListMultipartUploads. It checks nothing and stores nothing but
// sizes and ETags. Bodies are thrown away in the kernel (MSG_TRUNC), without a copy. An ETag is the request's Content-MD5
// where there is one; with --md5 it is computed; else it is a word that nobody takes for an MD5.
//
//   sink [--port N] [--latency MS] [--rate BYTES] [--total-rate BYTES] [--busy-above N] [--fail-every N]
//        [--refuse-part N] [--md5] [--tls CERT KEY]
//
// It prints its port and ends when its standard input does. `GET /-/counts` tells how many requests of each kind there were
// since the last `GET /-/reset`. --refuse-part refuses the part of that number each odd time.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_CONNECTIONS = 1024,
    MAX_PARTS = 10000,
    MAX_UPLOADS = 64,
    HEAD_SIZE = 16 * 1024,
    // The longest reply is a page of 1,000 parts.
    REPLY_SIZE = 256 * 1024,
    // With a rate: small, so that what waits in the kernel does not count as sent.
    PACED_RECEIVE_BUFFER = 64 * 1024,
};

typedef enum {
    INITIATE, UPLOAD_PART, LIST_PARTS, COMPLETE, ABORT, PUT_OBJECT, HEAD_OBJECT, LIST_UPLOADS, COUNTS, RESET, OTHER, KINDS
} kind;

static const char *const kind_names[KINDS] = {
    "InitiateMultipartUpload", "UploadPart", "ListParts", "CompleteMultipartUpload", "AbortMultipartUpload", "PutObject",
    "HeadObject", "ListMultipartUploads", "counts", "reset", "other",
};

typedef struct {
    int64_t size;
    char etag[36];
} stored;

/// An upload; its ID is its place in `uploads`, counted from the first one ever.
typedef struct {
    long number;
    stored *parts;
} upload;

typedef enum { READ_HEAD, READ_BODY, WAIT, WRITE } state;

typedef struct {
    int fd;
    SSL *tls;
    bool is_shaking_hands;
    state state;
    bool is_watched;
    char head[HEAD_SIZE];
    size_t head_used;
    // The request.
    kind kind;
    char path[1200];
    long upload, part, marker;
    int64_t length, left;
    char etag[36];
    EVP_MD_CTX *md5;
    bool is_refused_as_busy;
    // When it may read on, or reply, in nanoseconds; 0: at once.
    int64_t due;
    int64_t allowance_time;
    double allowance;
    char *reply;
    size_t reply_size, reply_done;
} connection;

typedef struct {
    char *path;
    stored object;
} object;

static connection *connections[MAX_CONNECTIONS];
static int connection_limit = 0;
static upload uploads[MAX_UPLOADS];
static long next_upload = 1;
static object *objects;
static size_t object_count, object_capacity;
static long counts[KINDS];
static int64_t bytes_discarded;
static long part_requests;
static int in_flight, most_in_flight;
static bool refuses_next = true;

static long latency_ms, fail_every, refuse_part, busy_above;
static double rate, total_rate, total_allowance;
static int64_t total_time;
static bool computes_md5;
static int epoll;
static char scratch[1 << 20];

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// MARK: What is stored

static upload *find_upload(long number) {
    upload *found = &uploads[number % MAX_UPLOADS];
    return number > 0 && found->number == number ? found : NULL;
}

static void remove_upload(upload *upload) {
    free(upload->parts);
    memset(upload, 0, sizeof *upload);
}

static long begin_upload(void) {
    upload *fresh = &uploads[next_upload % MAX_UPLOADS];
    if(fresh->number) remove_upload(fresh);
    fresh->number = next_upload;
    fresh->parts = calloc(MAX_PARTS + 1, sizeof(stored));
    if(!fresh->parts) fail("calloc");
    return next_upload++;
}

/// The object of a path, made where it is missing. Benchmarks have a thousand at most: a list will do.
static stored *object_at(const char *path, bool creates) {
    for(size_t i = 0; i < object_count; i++)
        if(strcmp(objects[i].path, path) == 0) return &objects[i].object;
    if(!creates) return NULL;
    if(object_count == object_capacity) {
        object_capacity = object_capacity ? object_capacity * 2 : 64;
        objects = realloc(objects, object_capacity * sizeof *objects);
        if(!objects) fail("realloc");
    }
    objects[object_count].path = strdup(path);
    memset(&objects[object_count].object, 0, sizeof(stored));
    return &objects[object_count++].object;
}

// MARK: Requests

static void hex(const unsigned char *bytes, char *text) {
    for(int i = 0; i < 16; i++) sprintf(text + 2 * i, "%02X", bytes[i]);
}

static long query_number(const char *query, const char *name) {
    size_t length = strlen(name);
    for(const char *at = query; at; at = strchr(at, '&')) {
        if(*at == '&') at++;
        if(strncmp(at, name, length) == 0 && at[length] == '=') return atol(at + length + 1);
    }
    return 0;
}

static bool query_has(const char *query, const char *name) {
    size_t length = strlen(name);
    for(const char *at = query; at; at = strchr(at, '&')) {
        if(*at == '&') at++;
        if(strncmp(at, name, length) == 0 && (!at[length] || at[length] == '&' || at[length] == '=')) return true;
    }
    return false;
}

static const char *field(const char *head, const char *name) {
    size_t length = strlen(name);
    for(const char *line = strchr(head, '\n'); line; line = strchr(line + 1, '\n'))
        if(strncasecmp(line + 1, name, length) == 0 && line[1 + length] == ':') return line + 2 + length;
    return NULL;
}

/// Reads the head, which ends with a zero here.
static void parse(connection *c) {
    char method[8] = "", target[2048] = "";
    sscanf(c->head, "%7s %2047s", method, target);
    char *query = strchr(target, '?');
    if(query) *query++ = 0;
    else query = target + strlen(target);
    snprintf(c->path, sizeof c->path, "%s", target);
    c->upload = query_number(query, "uploadId");
    c->part = query_number(query, "partNumber");
    c->marker = query_number(query, "part-number-marker");
    bool is_put = strcmp(method, "PUT") == 0, is_post = strcmp(method, "POST") == 0;
    if(strcmp(target, "/-/counts") == 0) c->kind = COUNTS;
    else if(strcmp(target, "/-/reset") == 0) c->kind = RESET;
    else if(is_put) c->kind = c->part ? UPLOAD_PART : PUT_OBJECT;
    else if(is_post) c->kind = query_has(query, "uploads") ? INITIATE : COMPLETE;
    else if(strcmp(method, "DELETE") == 0) c->kind = ABORT;
    else if(strcmp(method, "HEAD") == 0) c->kind = HEAD_OBJECT;
    else if(strcmp(method, "GET") == 0) c->kind = query_has(query, "uploads") ? LIST_UPLOADS : LIST_PARTS;
    else c->kind = OTHER;
    counts[c->kind]++;

    const char *length = field(c->head, "Content-Length"), *digest = field(c->head, "Content-MD5");
    c->length = c->left = length ? atoll(length) : 0;
    snprintf(c->etag, sizeof c->etag, "SINK-%lld", (long long)c->length);
    unsigned char bytes[64];
    if(digest) {
        while(*digest == ' ') digest++;
        if(EVP_DecodeBlock(bytes, (const unsigned char *)digest, 24) > 0) hex(bytes, c->etag);
    } else if(computes_md5 && is_put) {
        if(!c->md5) c->md5 = EVP_MD_CTX_new();
        EVP_DigestInit_ex(c->md5, EVP_md5(), NULL);
    }
    c->allowance_time = now();
    c->allowance = 0;
    c->is_refused_as_busy = false;
    if(c->kind == UPLOAD_PART || c->kind == PUT_OBJECT) {
        in_flight++;
        if(in_flight > most_in_flight) most_in_flight = in_flight;
        c->is_refused_as_busy = busy_above && in_flight > busy_above;
    }
}

// MARK: Replies

static void reply(connection *c, const char *status, const char *fields, const char *body) {
    static long request;
    if(!c->reply && !(c->reply = malloc(REPLY_SIZE))) fail("malloc");
    c->reply_size = (size_t)snprintf(
        c->reply, REPLY_SIZE,
        "HTTP/1.1 %s\r\nServer: sink\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nContent-Length: %zu\r\n"
        "x-oss-request-id: %024lX\r\n%s\r\n%s",
        status, strlen(body), ++request, fields, body);
    c->reply_done = 0;
}

static void refuse(connection *c, const char *status, const char *fields, const char *code) {
    char body[256];
    snprintf(body, sizeof body, "<Error><Code>%s</Code><Message>as asked</Message></Error>", code);
    reply(c, status, fields, body);
}

static void list_parts(connection *c, const upload *upload) {
    static char body[REPLY_SIZE - 1024];
    size_t used = (size_t)sprintf(body, "<ListPartsResult><EncodingType>url</EncodingType>");
    int listed = 0;
    long last = 0, number = c->marker + 1;
    for(; number <= MAX_PARTS && listed < 1000; number++) {
        if(!upload->parts[number].etag[0]) continue;
        used += (size_t)sprintf(
            body + used,
            "<Part><PartNumber>%ld</PartNumber><LastModified>2024-01-01T00:00:00.000Z</LastModified>"
            "<ETag>\"%s\"</ETag><Size>%lld</Size></Part>",
            number, upload->parts[number].etag, (long long)upload->parts[number].size);
        last = number;
        listed++;
    }
    bool is_truncated = false;
    for(; number <= MAX_PARTS; number++) is_truncated |= upload->parts[number].etag[0] != 0;
    sprintf(
        body + used,
        "<NextPartNumberMarker>%ld</NextPartNumberMarker><IsTruncated>%s</IsTruncated></ListPartsResult>", last,
        is_truncated ? "true" : "false");
    reply(c, "200 OK", "Content-Type: application/xml\r\n", body);
}

static void tell_counts(connection *c) {
    char body[2048];
    size_t used = (size_t)sprintf(body, "{\"bytes\": %lld, \"mostInFlight\": %d", (long long)bytes_discarded, most_in_flight);
    for(int kind = 0; kind < COUNTS; kind++)
        used += (size_t)sprintf(body + used, ", \"%s\": %ld", kind_names[kind], counts[kind]);
    sprintf(body + used, "}\n");
    reply(c, "200 OK", "", body);
}

/// The whole request is there: makes the reply.
static void answer(connection *c) {
    char fields[256] = "", body[1024];
    upload *upload = find_upload(c->upload);
    if(c->kind == UPLOAD_PART || c->kind == PUT_OBJECT) in_flight--;
    bool needs_upload = c->kind == UPLOAD_PART || c->kind == LIST_PARTS || c->kind == COMPLETE || c->kind == ABORT;
    if(needs_upload && !upload) return refuse(c, "404 Not Found", "", "NoSuchUpload");
    bool is_sent = c->kind == UPLOAD_PART || c->kind == PUT_OBJECT;
    if(is_sent && (c->is_refused_as_busy || (fail_every && ++part_requests % fail_every == 0)))
        return refuse(c, "503 Service Unavailable", "x-oss-qos-delay-time: 20\r\n", "ServiceUnavailable");
    if(c->kind == UPLOAD_PART && c->part == refuse_part) {
        refuses_next = !refuses_next;
        if(!refuses_next) return refuse(c, "403 Forbidden", "", "AccessDenied");
    }
    if(is_sent && computes_md5 && c->etag[0] == 'S') {
        unsigned char bytes[EVP_MAX_MD_SIZE];
        EVP_DigestFinal_ex(c->md5, bytes, NULL);
        hex(bytes, c->etag);
    }
    switch(c->kind) {
    case INITIATE:
        snprintf(
            body, sizeof body, "<InitiateMultipartUploadResult><UploadId>%ld</UploadId></InitiateMultipartUploadResult>",
            begin_upload());
        return reply(c, "200 OK", "Content-Type: application/xml\r\n", body);
    case UPLOAD_PART:
    case PUT_OBJECT: {
        stored *place =
            c->kind == PUT_OBJECT ? object_at(c->path, true)
                                  : &upload->parts[c->part >= 1 && c->part <= MAX_PARTS ? c->part : 0];
        place->size = c->length;
        memcpy(place->etag, c->etag, sizeof place->etag);
        snprintf(fields, sizeof fields, "ETag: \"%s\"\r\n", c->etag);
        return reply(c, "200 OK", fields, "");
    }
    case LIST_PARTS: return list_parts(c, upload);
    case COMPLETE: {
        stored *object = object_at(c->path, true);
        object->size = 0;
        for(int number = 1; number <= MAX_PARTS; number++) object->size += upload->parts[number].size;
        strcpy(object->etag, "SINK");
        remove_upload(upload);
        return reply(
            c, "200 OK", "ETag: \"SINK\"\r\nContent-Type: application/xml\r\n",
            "<CompleteMultipartUploadResult><ETag>\"SINK\"</ETag></CompleteMultipartUploadResult>");
    }
    case ABORT:
        remove_upload(upload);
        return reply(c, "204 No Content", "", "");
    case HEAD_OBJECT: {
        stored *object = object_at(c->path, false);
        if(!object) return reply(c, "404 Not Found", "", "");
        reply(c, "200 OK", "", "");
        // Content-Length is the object's here, and there is no body.
        c->reply_size = (size_t)snprintf(
            c->reply, REPLY_SIZE,
            "HTTP/1.1 200 OK\r\nServer: sink\r\nContent-Length: %lld\r\nETag: \"%s\"\r\nx-oss-request-id: 0\r\n\r\n",
            (long long)object->size, object->etag);
        return;
    }
    case LIST_UPLOADS:
        return reply(
            c, "200 OK", "Content-Type: application/xml\r\n",
            "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>");
    case COUNTS: return tell_counts(c);
    case RESET:
        memset(counts, 0, sizeof counts);
        bytes_discarded = part_requests = most_in_flight = 0;
        return reply(c, "200 OK", "", "");
    default: return refuse(c, "405 Method Not Allowed", "", "MethodNotAllowed");
    }
}

// MARK: Connections

static void watch(connection *c, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = c};
    if(epoll_ctl(epoll, EPOLL_CTL_MOD, c->fd, &event) != 0) fail("epoll_ctl");
    c->is_watched = events != 0;
}

static void end(connection *c) {
    bool is_counted = (c->kind == UPLOAD_PART || c->kind == PUT_OBJECT) && (c->state == READ_BODY || c->state == WAIT);
    if(is_counted) in_flight--;
    if(c->tls) SSL_free(c->tls);
    close(c->fd);
    for(int i = 0; i < connection_limit; i++)
        if(connections[i] == c) connections[i] = NULL;
    EVP_MD_CTX_free(c->md5);
    free(c->reply);
    free(c);
}

/// Reads into the buffer, or throws away; 0: nothing there now, -1: the end.
static ssize_t take(connection *c, char *buffer, size_t size, bool discards) {
    while(true) {
        ssize_t count;
        if(c->tls) {
            count = SSL_read(c->tls, buffer, (int)size);
            if(count <= 0) {
                int error = SSL_get_error(c->tls, (int)count);
                return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? 0 : -1;
            }
        } else {
            count = recv(c->fd, buffer, size, discards && !computes_md5 ? MSG_TRUNC : 0);
            if(count == 0) return -1;
            if(count < 0 && errno == EINTR) continue;
            if(count < 0) return errno == EAGAIN ? 0 : -1;
        }
        return count;
    }
}

static void use_body(connection *c, const char *bytes, size_t count) {
    c->left -= (int64_t)count;
    bytes_discarded += (int64_t)count;
    if(c->md5 && computes_md5 && c->etag[0] == 'S') EVP_DigestUpdate(c->md5, bytes, count);
    c->allowance -= (double)count;
    total_allowance -= (double)count;
}

/// How many bytes may be read now; where there are none, `due` says when there will be.
static size_t allowed(connection *c) {
    if(rate == 0 && total_rate == 0) return sizeof scratch;
    int64_t time = now();
    double bytes = sizeof scratch;
    if(rate > 0) {
        c->allowance += (double)(time - c->allowance_time) * rate / 1e9;
        c->allowance_time = time;
        if(c->allowance > rate / 50) c->allowance = rate / 50;
        if(c->allowance < bytes) bytes = c->allowance;
    }
    if(total_rate > 0) {
        total_allowance += (double)(time - total_time) * total_rate / 1e9;
        total_time = time;
        if(total_allowance > total_rate / 50) total_allowance = total_rate / 50;
        if(total_allowance < bytes) bytes = total_allowance;
    }
    if(bytes >= 4096 || bytes >= (double)c->left) return (size_t)bytes;
    c->due = time + 2000000;
    return 0;
}

/// Goes on with a connection as far as it can; false where it has ended.
static bool advance(connection *c) {
    if(c->is_shaking_hands) {
        int result = SSL_accept(c->tls);
        if(result != 1) {
            int error = SSL_get_error(c->tls, result);
            return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
        }
        c->is_shaking_hands = false;
    }
    while(true) {
        switch(c->state) {
        case READ_HEAD: {
            // What came behind the last body is here already.
            c->head[c->head_used] = 0;
            char *stop = strstr(c->head, "\r\n\r\n");
            if(!stop) {
                if(c->head_used == HEAD_SIZE - 1) return false;
                ssize_t count = take(c, c->head + c->head_used, HEAD_SIZE - 1 - c->head_used, false);
                if(count <= 0) return count == 0;
                c->head_used += (size_t)count;
                continue;
            }
            stop[2] = 0;
            size_t size = (size_t)(stop - c->head) + 4;
            parse(c);
            size_t rest = c->head_used - size;
            size_t count = (int64_t)rest < c->left ? rest : (size_t)c->left;
            use_body(c, c->head + size, count);
            memmove(c->head, c->head + size + count, rest - count);
            c->head_used = rest - count;
            c->state = READ_BODY;
            break;
        }
        case READ_BODY: {
            if(c->left == 0) {
                c->state = WAIT;
                c->due = latency_ms && c->kind < COUNTS ? now() + latency_ms * 1000000 : 0;
                if(c->due) {
                    watch(c, 0);
                    return true;
                }
                break;
            }
            size_t most = allowed(c);
            if(most == 0) {
                watch(c, 0);
                return true;
            }
            if((int64_t)most > c->left) most = (size_t)c->left;
            ssize_t count = take(c, scratch, most < sizeof scratch ? most : sizeof scratch, true);
            if(count <= 0) return count == 0;
            use_body(c, scratch, (size_t)count);
            break;
        }
        case WAIT:
            c->due = 0;
            answer(c);
            c->state = WRITE;
            break;
        case WRITE: {
            size_t left = c->reply_size - c->reply_done;
            ssize_t count =
                c->tls ? SSL_write(c->tls, c->reply + c->reply_done, (int)left)
                       : send(c->fd, c->reply + c->reply_done, left, MSG_NOSIGNAL);
            if(count <= 0) {
                bool may_wait = c->tls ? SSL_get_error(c->tls, (int)count) == SSL_ERROR_WANT_WRITE : errno == EAGAIN;
                if(!may_wait) return false;
                watch(c, EPOLLOUT);
                return true;
            }
            c->reply_done += (size_t)count;
            if(c->reply_done == c->reply_size) c->state = READ_HEAD;
            break;
        }
        }
    }
}

static void accept_all(int listener, SSL_CTX *tls) {
    while(true) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if(fd < 0) return;
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        connection *c = calloc(1, sizeof *c);
        int place = 0;
        while(place < MAX_CONNECTIONS && connections[place]) place++;
        if(!c || place == MAX_CONNECTIONS) {
            fprintf(stderr, "sink: too many connections\n");
            exit(1);
        }
        c->fd = fd;
        c->is_watched = true;
        if(tls) {
            c->tls = SSL_new(tls);
            SSL_set_fd(c->tls, fd);
            c->is_shaking_hands = true;
        }
        connections[place] = c;
        if(place >= connection_limit) connection_limit = place + 1;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
        if(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) fail("epoll_ctl");
    }
}

/// Goes on with those whose time has come, and returns how long to wait for the next, in milliseconds.
static int advance_due(void) {
    if(latency_ms == 0 && rate == 0 && total_rate == 0) return -1;
    int64_t next = INT64_MAX, time = now();
    // Each time another one comes first: what all of them share is shared alike.
    static int first = 0;
    first++;
    for(int n = 0; n < connection_limit; n++) {
        connection *c = connections[(first + n) % connection_limit];
        if(!c || c->is_watched) continue;
        if(c->due <= time) {
            watch(c, EPOLLIN);
            if(!advance(c)) {
                end(c);
                continue;
            }
        }
        if(!c->is_watched && c->due < next) next = c->due;
    }
    if(next == INT64_MAX) return -1;
    time = now();
    return next <= time ? 0 : (int)((next - time + 999999) / 1000000);
}

int main(int count, char **arguments) {
    int port = 0;
    SSL_CTX *tls = NULL;
    for(int i = 1; i < count; i++) {
        const char *name = arguments[i], *value = i + 1 < count ? arguments[i + 1] : "";
        if(strcmp(name, "--md5") == 0) {
            computes_md5 = true;
            continue;
        }
        i++;
        if(strcmp(name, "--port") == 0) port = atoi(value);
        else if(strcmp(name, "--latency") == 0) latency_ms = atol(value);
        else if(strcmp(name, "--rate") == 0) rate = atof(value);
        else if(strcmp(name, "--total-rate") == 0) total_rate = atof(value);
        else if(strcmp(name, "--busy-above") == 0) busy_above = atol(value);
        else if(strcmp(name, "--fail-every") == 0) fail_every = atol(value);
        else if(strcmp(name, "--refuse-part") == 0) refuse_part = atol(value);
        else if(strcmp(name, "--tls") == 0 && i + 1 < count) {
            tls = SSL_CTX_new(TLS_server_method());
            if(SSL_CTX_use_certificate_file(tls, value, SSL_FILETYPE_PEM) != 1
               || SSL_CTX_use_PrivateKey_file(tls, arguments[++i], SSL_FILETYPE_PEM) != 1) {
                fprintf(stderr, "sink: certificate or key cannot be used\n");
                return 2;
            }
        } else {
            fprintf(stderr, "sink: unknown option %s\n", name);
            return 2;
        }
    }
    signal(SIGPIPE, SIG_IGN);
    total_time = now();
    epoll = epoll_create1(EPOLL_CLOEXEC);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if(rate > 0 || total_rate > 0) {
        int size = PACED_RECEIVE_BUFFER;
        setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    }
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if(bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 256) != 0) fail("listen");
    getsockname(listener, (struct sockaddr *)&address, &size);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);

    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &listener};
    if(epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) != 0) fail("epoll_ctl");
    event = (struct epoll_event){.events = EPOLLIN | EPOLLHUP, .data.ptr = NULL};
    // A file as standard input cannot be watched: then only a signal ends it.
    epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &event);
    while(true) {
        struct epoll_event events[64];
        int ready = epoll_wait(epoll, events, 64, advance_due());
        if(ready < 0 && errno != EINTR) fail("epoll_wait");
        for(int i = 0; i < ready; i++) {
            if(events[i].data.ptr == NULL) return 0;
            if(events[i].data.ptr == &listener) {
                accept_all(listener, tls);
                continue;
            }
            connection *c = events[i].data.ptr;
            if(!c->is_watched) {
                // It waits for its time; only a connection that has broken is told of, and nobody waits for a reply then.
                end(c);
                continue;
            }
            if(c->state == WRITE) watch(c, EPOLLIN);
            if(!advance(c)) end(c);
        }
    }
}
