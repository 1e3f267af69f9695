// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

// The floor: an upload in parts with threads, libcurl easy handles, OpenSSL and ISA-L, and nothing else.
//
// It does the work that any client has to do: read each part's region with pread, compute its MD5 for Content-MD5, send it
// with a PUT and compute the CRC-64 on the way; sign every request (V4) and append a line a part to a record, made durable
// once a second. It has no retries, no resuming, no progress and no cancellation: what the library costs beyond it is what
// those cost.
//
//   floor --endpoint URL --file PATH [--bucket NAME] [--key KEY] [--part-size BYTES] [--parallel N]
//         [--integrity md5+crc64|crc64|none] [--record PATH] [--ca FILE]

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <isa-l/crc64.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    DIGEST_BUFFER = 32 * 1024,
    UPLOAD_BUFFER = 256 * 1024,
    REPLY_LIMIT = 64 * 1024,
    MAX_PARTS = 10000,
};

static const char *endpoint, *path, *record_path, *ca_file;
static const char *bucket = "bench", *key = "object";
static const char *access_key = "bench-id", *secret = "bench-secret", *region = "cn-hangzhou";
static int64_t part_size = 8 << 20;
static int parallel = 4;
static bool with_md5 = true, with_crc64 = true;

static int file, record = -1;
static int64_t size;
static long part_count;
static char upload_id[128];
static atomic_long next_part = 1;
static char etags[MAX_PARTS + 1][48];
static uint64_t checksums[MAX_PARTS + 1];
static pthread_mutex_t record_lock = PTHREAD_MUTEX_INITIALIZER;
static time_t last_sync;
static char day[16];
static unsigned char signing_key[32];

static void fail(const char *what) {
    fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
    exit(1);
}

// MARK: One request

typedef struct {
    CURL *easy;
    // The body: a region of the file, or bytes.
    int64_t offset, length, done;
    const char *bytes;
    uint64_t crc64;
    // The reply.
    char etag[48];
    char reply[REPLY_LIMIT];
    size_t reply_size;
} call;

static size_t give(char *buffer, size_t size, size_t count, void *context) {
    call *call = context;
    int64_t wanted = (int64_t)(size * count), left = call->length - call->done;
    if(wanted > left) wanted = left;
    if(call->bytes) {
        memcpy(buffer, call->bytes + call->done, (size_t)wanted);
    } else {
        ssize_t got = pread(file, buffer, (size_t)wanted, call->offset + call->done);
        if(got != wanted) return CURL_READFUNC_ABORT;
        if(with_crc64) call->crc64 = crc64_ecma_refl(call->crc64, (const unsigned char *)buffer, (uint64_t)wanted);
    }
    call->done += wanted;
    return (size_t)wanted;
}

static size_t take_field(char *line, size_t size, size_t count, void *context) {
    call *call = context;
    size_t length = size * count;
    if(length > 8 && strncasecmp(line, "etag: \"", 7) == 0) {
        size_t used = 0;
        for(size_t i = 7; i < length && line[i] != '"' && used + 1 < sizeof call->etag; i++) call->etag[used++] = line[i];
        call->etag[used] = 0;
    }
    return length;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context) {
    call *call = context;
    size_t length = size * count;
    if(call->reply_size + length >= REPLY_LIMIT) return 0;
    memcpy(call->reply + call->reply_size, bytes, length);
    call->reply[call->reply_size += length] = 0;
    return length;
}

static void hex(const unsigned char *bytes, size_t count, char *text) {
    static const char digits[] = "0123456789abcdef";
    for(size_t i = 0; i < count; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    text[2 * count] = 0;
}

/// The value of Authorization for a request; `fields` are the signed header fields, sorted, a line each.
static void authorize(const char *method, const char *query, const char *fields, const char *stamp, char *value) {
    char canonical[2048], text[512], digest_hex[65], signature_hex[65];
    unsigned char digest[32], signature[32];
    int length = snprintf(
        canonical, sizeof canonical, "%s\n/%s/%s\n%s\n%s\n\nUNSIGNED-PAYLOAD", method, bucket, key, query, fields);
    EVP_Digest(canonical, (size_t)length, digest, NULL, EVP_sha256(), NULL);
    hex(digest, 32, digest_hex);
    length = snprintf(
        text, sizeof text, "OSS4-HMAC-SHA256\n%s\n%s/%s/oss/aliyun_v4_request\n%s", stamp, day, region, digest_hex);
    HMAC(EVP_sha256(), signing_key, 32, (const unsigned char *)text, (size_t)length, signature, NULL);
    hex(signature, 32, signature_hex);
    sprintf(
        value, "Authorization: OSS4-HMAC-SHA256 Credential=%s/%s/%s/oss/aliyun_v4_request,Signature=%s", access_key, day,
        region, signature_hex);
}

static void derive_key(void) {
    char first[256];
    time_t now = time(NULL);
    struct tm calendar;
    strftime(day, sizeof day, "%Y%m%d", gmtime_r(&now, &calendar));
    snprintf(first, sizeof first, "aliyun_v4%s", secret);
    const char *const steps[] = {day, region, "oss", "aliyun_v4_request"};
    HMAC(EVP_sha256(), first, (int)strlen(first), (const unsigned char *)day, strlen(day), signing_key, NULL);
    for(int i = 1; i < 4; i++)
        HMAC(EVP_sha256(), signing_key, 32, (const unsigned char *)steps[i], strlen(steps[i]), signing_key, NULL);
}

/// Sends one request and returns the status.
static long perform(call *call, const char *method, const char *query, const unsigned char *md5) {
    char url[1024], stamp[32], fields[512], line[1024];
    time_t now = time(NULL);
    struct tm calendar;
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &calendar));
    struct curl_slist *headers = NULL;
    size_t used = 0;
    if(md5) {
        unsigned char text[32];
        EVP_EncodeBlock(text, md5, 16);
        used = (size_t)sprintf(fields, "content-md5:%s\n", text);
        snprintf(line, sizeof line, "Content-MD5: %s", text);
        headers = curl_slist_append(headers, line);
    }
    sprintf(fields + used, "x-oss-content-sha256:UNSIGNED-PAYLOAD\nx-oss-date:%s\n", stamp);
    headers = curl_slist_append(headers, "x-oss-content-sha256: UNSIGNED-PAYLOAD");
    snprintf(line, sizeof line, "x-oss-date: %s", stamp);
    headers = curl_slist_append(headers, line);
    authorize(method, query, fields, stamp, line);
    headers = curl_slist_append(headers, line);
    headers = curl_slist_append(headers, "Expect:");
    headers = curl_slist_append(headers, "Accept:");
    headers = curl_slist_append(headers, "User-Agent: floor");

    CURL *easy = call->easy;
    snprintf(url, sizeof url, "%s/%s/%s%s%s", endpoint, bucket, key, *query ? "?" : "", query);
    curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, NULL);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    if(strcmp(method, "HEAD") == 0) {
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    } else {
        curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
        curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)call->length);
    }
    call->reply_size = 0;
    call->done = 0;
    call->crc64 = 0;
    call->etag[0] = 0;
    CURLcode code = curl_easy_perform(easy);
    curl_slist_free_all(headers);
    if(code != CURLE_OK) {
        fprintf(stderr, "floor: %s: %s\n", method, curl_easy_strerror(code));
        exit(1);
    }
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    if(status / 100 != 2) {
        fprintf(stderr, "floor: %s: status %ld\n", method, status);
        exit(1);
    }
    return status;
}

static call *make_call(void) {
    call *call = calloc(1, sizeof *call);
    if(!call || !(call->easy = curl_easy_init())) fail("curl_easy_init");
    CURL *easy = call->easy;
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)UPLOAD_BUFFER);
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, give);
    curl_easy_setopt(easy, CURLOPT_READDATA, call);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_field);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    if(ca_file) curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file);
    return call;
}

static void end_call(call *call) {
    curl_easy_cleanup(call->easy);
    free(call);
}

// MARK: Parts

static void write_record(long number, int64_t length, const unsigned char *md5, uint64_t crc64, const char *etag) {
    char line[256], digits[33] = "";
    if(md5) hex(md5, 16, digits);
    int used = snprintf(
        line, sizeof line, "part number=%ld size=%lld md5=%s crc64=%llu etag=%s", number, (long long)length, digits,
        (unsigned long long)crc64, etag);
    used += snprintf(
        line + used, sizeof line - (size_t)used, " %016llx\n",
        (unsigned long long)crc64_ecma_refl(0, (const unsigned char *)line, (uint64_t)used));
    pthread_mutex_lock(&record_lock);
    if(write(record, line, (size_t)used) != used) fail("write");
    time_t now = time(NULL);
    if(now != last_sync) {
        last_sync = now;
        fdatasync(record);
    }
    pthread_mutex_unlock(&record_lock);
}

static void *send_parts(void *unused) {
    (void)unused;
    call *call = make_call();
    unsigned char *buffer = with_md5 ? malloc(DIGEST_BUFFER) : NULL;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    char query[256];
    for(long number; (number = atomic_fetch_add(&next_part, 1)) <= part_count;) {
        unsigned char md5[EVP_MAX_MD_SIZE];
        call->offset = (number - 1) * part_size;
        call->length = size - call->offset < part_size ? size - call->offset : part_size;
        if(with_md5) {
            EVP_DigestInit_ex(context, EVP_md5(), NULL);
            for(int64_t done = 0; done < call->length;) {
                int64_t wanted = call->length - done < DIGEST_BUFFER ? call->length - done : DIGEST_BUFFER;
                if(pread(file, buffer, (size_t)wanted, call->offset + done) != wanted) fail("pread");
                EVP_DigestUpdate(context, buffer, (size_t)wanted);
                done += wanted;
            }
            EVP_DigestFinal_ex(context, md5, NULL);
        }
        snprintf(query, sizeof query, "partNumber=%ld&uploadId=%s", number, upload_id);
        perform(call, "PUT", query, with_md5 ? md5 : NULL);
        if(!call->etag[0]) fail("no ETag");
        strcpy(etags[number], call->etag);
        checksums[number] = call->crc64;
        if(record >= 0) write_record(number, call->length, with_md5 ? md5 : NULL, call->crc64, call->etag);
    }
    EVP_MD_CTX_free(context);
    free(buffer);
    end_call(call);
    return NULL;
}

int main(int count, char **arguments) {
    for(int i = 1; i + 1 < count; i += 2) {
        const char *name = arguments[i], *value = arguments[i + 1];
        if(strcmp(name, "--endpoint") == 0) endpoint = value;
        else if(strcmp(name, "--file") == 0) path = value;
        else if(strcmp(name, "--bucket") == 0) bucket = value;
        else if(strcmp(name, "--key") == 0) key = value;
        else if(strcmp(name, "--part-size") == 0) part_size = atoll(value);
        else if(strcmp(name, "--parallel") == 0) parallel = atoi(value);
        else if(strcmp(name, "--record") == 0) record_path = value;
        else if(strcmp(name, "--ca") == 0) ca_file = value;
        else if(strcmp(name, "--integrity") == 0) {
            with_md5 = strcmp(value, "md5+crc64") == 0;
            with_crc64 = strcmp(value, "none") != 0;
        } else {
            fprintf(stderr, "floor: unknown option %s\n", name);
            return 2;
        }
    }
    struct stat status;
    if(!endpoint || !path) return fprintf(stderr, "floor: --endpoint and --file are needed\n"), 2;
    if((file = open(path, O_RDONLY | O_CLOEXEC)) < 0 || fstat(file, &status) != 0) fail(path);
    size = status.st_size;
    part_count = (size + part_size - 1) / part_size;
    if(part_count > MAX_PARTS || parallel < 1 || parallel > 100) return fprintf(stderr, "floor: out of range\n"), 2;
    if(record_path) {
        record = open(record_path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
        if(record < 0) fail(record_path);
    }
    curl_global_init(CURL_GLOBAL_DEFAULT);
    derive_key();

    call *call = make_call();
    call->bytes = "";
    perform(call, "POST", "uploads", NULL);
    const char *id = strstr(call->reply, "<UploadId>");
    if(!id || sscanf(id, "<UploadId>%127[^<]", upload_id) != 1) fail("no upload ID");

    pthread_t threads[100];
    for(int i = 0; i < parallel; i++) pthread_create(&threads[i], NULL, send_parts, NULL);
    for(int i = 0; i < parallel; i++) pthread_join(threads[i], NULL);

    size_t room = (size_t)part_count * 128 + 128, used;
    char *document = malloc(room), query[256];
    used = (size_t)sprintf(document, "<CompleteMultipartUpload>");
    for(long number = 1; number <= part_count; number++)
        used += (size_t)snprintf(
            document + used, room - used, "<Part><PartNumber>%ld</PartNumber><ETag>\"%s\"</ETag></Part>", number,
            etags[number]);
    used += (size_t)sprintf(document + used, "</CompleteMultipartUpload>");
    call->bytes = document;
    call->length = (int64_t)used;
    snprintf(query, sizeof query, "uploadId=%s", upload_id);
    perform(call, "POST", query, NULL);
    call->bytes = "";
    call->length = 0;
    perform(call, "HEAD", "", NULL);
    end_call(call);
    free(document);
    if(record_path) unlink(record_path);
    curl_global_cleanup();
    return 0;
}
