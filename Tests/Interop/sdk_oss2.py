# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

"""The official SDK `oss2` (version 1), operation by operation."""

import base64
import hashlib
import os
import socket
import time
from unittest import mock

import alibabacloud_oss_v2 as oss
import oss2
import requests

import sdk_v2
from support import BUCKET, ENDPOINT, KEY_ID, KEYS, REGION, SECRET, STS, check


def auth(version, key_id=KEY_ID, secret=SECRET, token=None):
    if token:
        return oss2.StsAuth(key_id, secret, token, auth_version=version)
    return oss2.make_auth(key_id, secret, version)


def bucket(version="v4", name=BUCKET, **credentials):
    return oss2.Bucket(auth(version, **credentials), ENDPOINT, name, region=REGION, connect_timeout=20)


def error_of(call):
    """Status and code of the service's error that a call throws; what it returns where it throws none."""
    try:
        return call()
    except oss2.exceptions.ServerError as error:
        return error.status, error.code


def objects(b, _):
    for key in KEYS:
        data = ("data of " + key).encode()
        digest = base64.b64encode(hashlib.md5(data).digest()).decode()
        put = b.put_object(key, data, headers={
            "Content-Type": "text/x-smoke", "Content-MD5": digest, "x-oss-meta-colour": "blue"})
        check(f"put {key}", (put.status, put.etag), (200, hashlib.md5(data).hexdigest().upper()))
        head = b.head_object(key)
        check(f"head {key}", (head.content_length, head.content_type, head.object_type, head.etag, head.server_crc,
                              head.headers["x-oss-meta-colour"]),
              (len(data), "text/x-smoke", "Normal", put.etag, put.crc, "blue"))
        check(f"get {key}", b.get_object(key).read(), data)
        part = b.get_object(key, byte_range=(2, 5))
        check(f"range {key}", (part.status, part.read()), (206, data[2:6]))
    ordered = sorted(KEYS, key=lambda key: key.encode())
    check("list", [entry.key for entry in oss2.ObjectIterator(b, max_keys=3)], ordered)
    check("list v2", [entry.key for entry in oss2.ObjectIteratorV2(b, max_keys=3)], ordered)
    result = b.list_objects_v2(delimiter="/")
    check("prefixes", sorted(result.prefix_list), sorted({key.split("/")[0] + "/" for key in KEYS if "/" in key}))
    check("forbid overwrite", error_of(lambda: b.put_object(KEYS[0], b"", headers={"x-oss-forbid-overwrite": "true"})),
          (409, "FileAlreadyExists"))
    check("exists", (b.object_exists(KEYS[0]), b.object_exists("nothing")), (True, False))
    deleted = b.batch_delete_objects(KEYS)
    check("batch delete", sorted(deleted.deleted_keys), sorted(KEYS))
    check("get what is gone", error_of(lambda: b.get_object(KEYS[0])), (404, "NoSuchKey"))
    check("head what is gone", error_of(lambda: b.head_object(KEYS[0]))[0], 404)


def multipart(b, _):
    key = "multi part/\u6587+%2F.bin"
    pieces, numbers = [os.urandom(102400), os.urandom(150000), b"the end"], [1, 5, 8]
    upload = b.init_multipart_upload(key, headers={"Content-Type": "video/x", "x-oss-meta-colour": "red"}).upload_id
    parts = []
    for number, piece in zip(numbers, pieces):
        sent = b.upload_part(key, upload, number, piece)
        check(f"part {number}", sent.etag, hashlib.md5(piece).hexdigest().upper())
        parts.append(oss2.models.PartInfo(number, sent.etag, size=len(piece), part_crc=sent.crc))
    listed = [(part.part_number, part.size, part.etag) for part in oss2.PartIterator(b, key, upload, max_parts=2)]
    check("list parts", listed, [(number, len(piece), part.etag) for number, piece, part in zip(numbers, pieces, parts)])
    check("list uploads", [(entry.key, entry.upload_id) for entry in oss2.MultipartUploadIterator(b)], [(key, upload)])
    check("uploads of the key", [entry.upload_id for entry in oss2.ObjectUploadIterator(b, key)], [upload])
    check("complete", b.complete_multipart_upload(key, upload, parts).status, 200)
    head = b.head_object(key)
    check("head", (head.content_length, head.content_type, head.object_type, head.headers["x-oss-meta-colour"]),
          (sum(map(len, pieces)), "video/x", "Multipart", "red"))
    check("bytes", b.get_object(key).read() == b"".join(pieces), True)
    check("no upload", error_of(lambda: b.list_parts(key, upload)), (404, "NoSuchUpload"))
    copied = b.init_multipart_upload("copied").upload_id
    part = b.upload_part_copy(BUCKET, key, (0, 102399), "copied", copied, 1)
    check("part copy", part.etag, hashlib.md5(pieces[0]).hexdigest().upper())
    check("abort", b.abort_multipart_upload("copied", copied).status, 204)
    check("abort again", error_of(lambda: b.abort_multipart_upload("copied", copied)), (404, "NoSuchUpload"))
    sequential = b.init_multipart_upload("sequential", params={"sequential": ""}).upload_id
    check("not in order", error_of(lambda: b.upload_part("sequential", sequential, 2, b"x")), (400, "PartNotSequential"))
    first = b.upload_part("sequential", sequential, 1, b"once")
    check("twice", error_of(lambda: b.upload_part("sequential", sequential, 1, b"once")), (409, "PartAlreadyExist"))
    b.complete_multipart_upload("sequential", sequential, [oss2.models.PartInfo(1, first.etag)])
    check("digest of the whole", b.head_object("sequential").headers["Content-MD5"],
          base64.b64encode(hashlib.md5(b"once").digest()).decode())
    b.batch_delete_objects([key, "sequential"])


def changes(b, _):
    data = os.urandom(1000)
    b.put_object("source", data, headers={"Content-Type": "text/x"})
    check("copy", b.copy_object(BUCKET, "source", "a copy+").status, 200)
    check("bytes of the copy", b.get_object("a copy+").read(), data)
    check("new fields", b.update_object_meta("a copy+", {"x-oss-meta-n": "1"}).status, 200)
    check("fields", b.head_object("a copy+").headers["x-oss-meta-n"], "1")
    first = b.append_object("log", 0, b"hello ")
    second = b.append_object("log", first.next_position, b"world", init_crc=first.crc)
    check("append", (first.next_position, second.next_position, b.get_object("log").read()), (6, 11, b"hello world"))
    try:
        b.append_object("log", 3, b"x")
        check("append elsewhere", "no error", "an error")
    except oss2.exceptions.PositionNotEqualToLength as error:
        check("append elsewhere", error.next_position, 11)
    rule = oss2.models.TaggingRule()
    rule.add("colour", "red & blue")
    b.put_object_tagging("source", oss2.models.Tagging(rule))
    check("tags", b.get_object_tagging("source").tag_set.tagging_rule, {"colour": "red & blue"})
    check("delete tags", b.delete_object_tagging("source").status, 204)
    b.put_object_acl("source", oss2.OBJECT_ACL_PUBLIC_READ)
    check("acl", b.get_object_acl("source").acl, "public-read")
    anonymous = oss2.Bucket(oss2.AnonymousAuth(), ENDPOINT, BUCKET)
    check("anonymous", anonymous.get_object("source").read(), data)
    check("anonymous write", error_of(lambda: anonymous.put_object("source", b"x")), (403, "AccessDenied"))
    check("meta", b.get_object_meta("source").content_length, len(data))
    try:
        b.get_object("source", headers={"If-None-Match": '"%s"' % b.head_object("source").etag})
        check("if none match", "no error", "an error")
    except oss2.exceptions.NotModified as error:
        check("if none match", error.status, 304)
    check("if match", error_of(lambda: b.get_object("source", headers={"If-Match": '"x"'})), (412, "PreconditionFailed"))
    b.batch_delete_objects(["source", "a copy+", "log"])


def buckets(_, version):
    b = bucket(version, "interop-old-" + version)
    check("create", b.create_bucket(oss2.BUCKET_ACL_PRIVATE).status, 200)
    check("acl", b.get_bucket_acl().acl, "private")
    b.put_bucket_acl(oss2.BUCKET_ACL_PUBLIC_READ)
    info = b.get_bucket_info()
    check("info", (info.name, info.location, info.acl.grant), (b.bucket_name, "oss-" + REGION, "public-read"))
    check("location", b.get_bucket_location().location, "oss-" + REGION)
    stat = b.get_bucket_stat()
    check("stat", (stat.storage_size_in_bytes, stat.object_count, stat.multi_part_upload_count), (0, 0, 0))
    service = oss2.Service(auth(version), ENDPOINT, region=REGION)
    check("list", b.bucket_name in [entry.name for entry in oss2.BucketIterator(service)], True)
    check("delete", b.delete_bucket().status, 204)
    check("no bucket", error_of(b.get_bucket_info), (404, "NoSuchBucket"))


def presigned(version, token=None):
    b = bucket(version, key_id=STS[0], secret=STS[1], token=token) if token else bucket(version)
    for key in KEYS:
        data, headers = ("presigned " + key).encode(), {"Content-Type": "text/x", "x-oss-meta-a": "1"}
        url = b.sign_url("PUT", key, 60, headers=dict(headers), slash_safe=True)
        check(f"put {key}", requests.put(url, data=data, headers=headers, timeout=20).status_code, 200)
        got = requests.get(b.sign_url("GET", key, 60, slash_safe=True), timeout=20)
        check(f"get {key}", (got.content, got.headers.get("x-oss-meta-a")), (data, "1"))
    # The SDK's class for temporary credentials does not take additional header fields.
    if version == "v4" and not token:
        url = b.sign_url("GET", KEYS[0], 60, headers={"abc": "1"}, additional_headers={"abc"})
        check("additional header", requests.get(url, headers={"abc": "1"}, timeout=20).status_code, 200)
        check("another value", requests.get(url, headers={"abc": "2"}, timeout=20).status_code, 403)
    url = b.sign_url("GET", KEYS[0], 1)
    time.sleep(2)
    check("expired", "Request has expired." in requests.get(url, timeout=20).text, True)
    bucket(version).batch_delete_objects(KEYS)


def refusals(version):
    check("wrong secret", error_of(lambda: bucket(version, secret="x").get_object("k")), (403, "SignatureDoesNotMatch"))
    check("wrong id", error_of(lambda: bucket(version, key_id="x").get_object("k")), (403, "InvalidAccessKeyId"))
    check("no bucket", error_of(lambda: bucket(version, "no-such-bucket").get_object("k")), (404, "NoSuchBucket"))
    check("wrong token", error_of(lambda: bucket(
        version, key_id=STS[0], secret=STS[1], token="x").get_object("k")), (403, "InvalidSecurityToken"))
    check("token", error_of(lambda: bucket(
        version, key_id=STS[0], secret=STS[1], token=STS[2]).get_object("k")), (404, "NoSuchKey"))
    b = bucket(version)
    check("wrong MD5", error_of(lambda: b.put_object("k", b"x", headers={
        "Content-MD5": base64.b64encode(bytes(16)).decode()})), (400, "InvalidDigest"))
    upload = b.init_multipart_upload("k").upload_id
    etags = [b.upload_part("k", upload, number, b"tiny").etag for number in (1, 2)]
    part = oss2.models.PartInfo

    def complete(*parts):
        return error_of(lambda: b.complete_multipart_upload("k", upload, parts))

    check("too small", complete(part(1, etags[0]), part(2, etags[1])), (400, "EntityTooSmall"))
    check("invalid part", complete(part(1, "0" * 32)), (400, "InvalidPart"))
    check("missing part", complete(part(3, etags[0])), (400, "InvalidPart"))
    # The SDK sorts the parts; it cannot be made to send them in another order.
    b.abort_multipart_upload("k", upload)


def virtual_host(version):
    """A bucket in front of the host's name; every name that ends in `localhost` is made to lead to this host."""
    endpoint = ENDPOINT.replace("127.0.0.1", "localhost")
    lookup, key = socket.getaddrinfo, "virtual host/\u6587 +"

    def local(host, *arguments, **named):
        return lookup("127.0.0.1" if str(host).endswith("localhost") else host, *arguments, **named)

    with mock.patch.object(socket, "getaddrinfo", local):
        b = oss2.Bucket(auth(version), endpoint, BUCKET, region=REGION)
        check("put", b.put_object(key, b"data").status, 200)
        check("get", b.get_object(key).read(), b"data")
        # This SDK puts the bucket into the path there, the other one in front of the host.
        c = sdk_v2.client(version, endpoint=endpoint, use_path_style=False)
        check("get by v2", c.get_object(oss.GetObjectRequest(bucket=BUCKET, key=key)).body.read(), b"data")
        url = c.presign(oss.GetObjectRequest(bucket=BUCKET, key=key)).url
        check("presigned", (f"//{BUCKET}.localhost" in url, requests.get(url, timeout=20).content), (True, b"data"))
        check("list by v2", [entry.key for entry in c.list_objects_v2(
            oss.ListObjectsV2Request(bucket=BUCKET)).contents], [key])
        b.delete_object(key)
