# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

"""The official SDK `alibabacloud-oss-v2`, operation by operation."""

import base64
import datetime
import hashlib
import os
import tempfile
import time

import alibabacloud_oss_v2 as oss
import requests

from support import BUCKET, ENDPOINT, KEY_ID, KEYS, REGION, SECRET, STS, check


def client(version="v4", key_id=KEY_ID, secret=SECRET, token=None, **options):
    config = oss.config.load_default()
    config.credentials_provider = oss.credentials.StaticCredentialsProvider(key_id, secret, token)
    config.region = REGION
    config.endpoint = ENDPOINT
    config.use_path_style = True
    config.signature_version = version
    config.retry_max_attempts = 1
    for name, value in options.items():
        setattr(config, name, value)
    return oss.Client(config)


def error_of(call):
    """Status and code of the service's error that a call throws; what it returns where it throws none."""
    try:
        return call()
    except oss.exceptions.OperationError as error:
        service = error.unwrap()
        if isinstance(service, oss.exceptions.ServiceError):
            return service.status_code, service.code
        return repr(service)


def objects(c, _):
    for key in KEYS:
        data = ("data of " + key).encode()
        digest = base64.b64encode(hashlib.md5(data).digest()).decode()
        put = c.put_object(oss.PutObjectRequest(
            bucket=BUCKET, key=key, body=data, content_type="text/x-smoke", content_md5=digest,
            cache_control="no-store", metadata={"colour": "blue"}))
        check(f"put {key}", (put.status_code, put.etag), (200, '"' + hashlib.md5(data).hexdigest().upper() + '"'))
        head = c.head_object(oss.HeadObjectRequest(bucket=BUCKET, key=key))
        check(f"head {key}", (head.content_length, head.content_type, head.cache_control, head.object_type,
                              head.metadata.get("colour"), head.etag, head.hash_crc64, head.content_md5),
              (len(data), "text/x-smoke", "no-store", "Normal", "blue", put.etag, put.hash_crc64, digest))
        got = c.get_object(oss.GetObjectRequest(bucket=BUCKET, key=key))
        check(f"get {key}", got.body.read(), data)
        part = c.get_object(oss.GetObjectRequest(bucket=BUCKET, key=key, range_header="bytes=2-5"))
        check(f"range {key}", (part.status_code, part.content_range, part.body.read()),
              (206, f"bytes 2-5/{len(data)}", data[2:6]))
    listed = []
    for page in c.list_objects_v2_paginator().iter_page(oss.ListObjectsV2Request(bucket=BUCKET, max_keys=3)):
        listed += [entry.key for entry in page.contents or []]
    check("list v2", listed, sorted(KEYS, key=lambda key: key.encode()))
    listed = []
    for page in c.list_objects_paginator().iter_page(oss.ListObjectsRequest(bucket=BUCKET, max_keys=4)):
        listed += [entry.key for entry in page.contents or []]
    check("list v1", listed, sorted(KEYS, key=lambda key: key.encode()))
    prefixes = c.list_objects_v2(oss.ListObjectsV2Request(bucket=BUCKET, delimiter="/"))
    check("common prefixes", sorted(entry.prefix for entry in prefixes.common_prefixes),
          sorted({key.split("/")[0] + "/" for key in KEYS if "/" in key}))
    check("forbid overwrite", error_of(lambda: c.put_object(oss.PutObjectRequest(
        bucket=BUCKET, key=KEYS[0], body=b"x", forbid_overwrite=True))), (409, "FileAlreadyExists"))
    for key in KEYS:
        check(f"delete {key}", c.delete_object(oss.DeleteObjectRequest(bucket=BUCKET, key=key)).status_code, 204)
    check("get what is gone", error_of(lambda: c.get_object(oss.GetObjectRequest(
        bucket=BUCKET, key=KEYS[0]))), (404, "NoSuchKey"))
    check("head what is gone", error_of(lambda: c.head_object(oss.HeadObjectRequest(
        bucket=BUCKET, key=KEYS[0]))), (404, "NoSuchKey"))
    check("exists", c.is_object_exist(BUCKET, KEYS[0]), False)


def multipart(c, _):
    key = "multi part/\u6587+%2F.bin"
    pieces = [os.urandom(102400), os.urandom(150000), b"the end"]
    numbers = [1, 5, 8]
    upload = c.initiate_multipart_upload(oss.InitiateMultipartUploadRequest(
        bucket=BUCKET, key=key, content_type="video/x-smoke", metadata={"colour": "red"}))
    check("initiate", (upload.bucket, upload.key, len(upload.upload_id)), (BUCKET, key, 32))
    parts = []
    for number, piece in zip(numbers, pieces):
        sent = c.upload_part(oss.UploadPartRequest(
            bucket=BUCKET, key=key, upload_id=upload.upload_id, part_number=number, body=piece))
        check(f"part {number}", sent.etag, '"' + hashlib.md5(piece).hexdigest().upper() + '"')
        parts.append(oss.UploadPart(part_number=number, etag=sent.etag))
    listed = []
    for page in c.list_parts_paginator().iter_page(oss.ListPartsRequest(
            bucket=BUCKET, key=key, upload_id=upload.upload_id, max_parts=2)):
        check("list parts of", (page.bucket, page.key, page.upload_id), (BUCKET, key, upload.upload_id))
        listed += [(part.part_number, part.size, part.etag) for part in page.parts or []]
    check("list parts", listed, [(number, len(piece), part.etag)
                                 for number, piece, part in zip(numbers, pieces, parts)])
    open_uploads = c.list_multipart_uploads(oss.ListMultipartUploadsRequest(bucket=BUCKET))
    check("list uploads", [(entry.key, entry.upload_id) for entry in open_uploads.uploads],
          [(key, upload.upload_id)])

    def complete(chosen):
        return c.complete_multipart_upload(oss.CompleteMultipartUploadRequest(
            bucket=BUCKET, key=key, upload_id=upload.upload_id,
            complete_multipart_upload=oss.CompleteMultipartUpload(parts=chosen)))

    check("wrong order", error_of(lambda: complete(list(reversed(parts)))), (400, "InvalidPartOrder"))
    check("wrong etag", error_of(lambda: complete(
        [oss.UploadPart(part_number=1, etag='"' + "0" * 32 + '"')])), (400, "InvalidPart"))
    done = complete(parts)
    joined = "".join(part.etag.strip('"') for part in parts)
    check("complete", (done.bucket, done.key, done.etag),
          (BUCKET, key, '"' + hashlib.md5(joined.encode()).hexdigest().upper() + '-3"'))
    head = c.head_object(oss.HeadObjectRequest(bucket=BUCKET, key=key))
    check("head of it", (head.content_length, head.content_type, head.object_type, head.metadata.get("colour"),
                         head.etag, head.hash_crc64),
          (sum(map(len, pieces)), "video/x-smoke", "Multipart", "red", done.etag, done.hash_crc64))
    check("get of it", c.get_object(oss.GetObjectRequest(bucket=BUCKET, key=key)).body.read(), b"".join(pieces))
    check("no such upload", error_of(lambda: complete(parts)), (404, "NoSuchUpload"))
    small = c.initiate_multipart_upload(oss.InitiateMultipartUploadRequest(bucket=BUCKET, key="small"))
    etags = [c.upload_part(oss.UploadPartRequest(
        bucket=BUCKET, key="small", upload_id=small.upload_id, part_number=number, body=b"tiny")).etag
        for number in (1, 2)]
    check("too small", error_of(lambda: c.complete_multipart_upload(
        oss.CompleteMultipartUploadRequest(
            bucket=BUCKET, key="small", upload_id=small.upload_id,
            complete_multipart_upload=oss.CompleteMultipartUpload(parts=[
                oss.UploadPart(part_number=number, etag=etag) for number, etag in zip((1, 2), etags)])))),
        (400, "EntityTooSmall"))
    abort = oss.AbortMultipartUploadRequest(bucket=BUCKET, key="small", upload_id=small.upload_id)
    check("abort", c.abort_multipart_upload(abort).status_code, 204)
    check("abort again", error_of(lambda: c.abort_multipart_upload(abort)), (404, "NoSuchUpload"))
    left = c.list_multipart_uploads(oss.ListMultipartUploadsRequest(bucket=BUCKET))
    check("no uploads left", left.uploads or [], [])
    c.delete_object(oss.DeleteObjectRequest(bucket=BUCKET, key=key))


def uploader(c, _):
    data = os.urandom(3_000_000)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "source.bin")
        with open(path, "wb") as file:
            file.write(data)
        result = c.uploader(part_size=256 * 1024, parallel_num=3).upload_file(
            oss.PutObjectRequest(bucket=BUCKET, key="uploader.bin"), path,
            enable_checkpoint=True, checkpoint_dir=folder)
        check("uploader", result.status_code, 200)
    got = c.get_object(oss.GetObjectRequest(bucket=BUCKET, key="uploader.bin")).body.read()
    check("uploaded bytes", got == data, True)
    c.delete_object(oss.DeleteObjectRequest(bucket=BUCKET, key="uploader.bin"))


def changes(c, _):
    """Copy, append, tags, access control, conditions, multi-delete."""
    source, data = KEYS[3], os.urandom(300_000)
    put = c.put_object(oss.PutObjectRequest(
        bucket=BUCKET, key=source, body=data, content_type="text/x", metadata={"a": "1"}, tagging="k=v&k%202=v%202"))
    copy = c.copy_object(oss.CopyObjectRequest(bucket=BUCKET, key="copy \u6587", source_key=source))
    check("copy", (copy.status_code, copy.etag, copy.hash_crc64), (200, put.etag, put.hash_crc64))
    head = c.head_object(oss.HeadObjectRequest(bucket=BUCKET, key="copy \u6587"))
    check("head of the copy", (head.content_type, head.metadata.get("a"), head.tagging_count, head.content_length),
          ("text/x", "1", 2, len(data)))
    replaced = oss.CopyObjectRequest(
        bucket=BUCKET, key="copy \u6587", source_bucket=BUCKET, source_key=source, metadata_directive="REPLACE",
        metadata={"b": "2"}, content_type="text/y", tagging_directive="Replace", tagging="n=w")
    check("copy with other fields", c.copy_object(replaced).status_code, 200)
    head = c.head_object(oss.HeadObjectRequest(bucket=BUCKET, key="copy \u6587"))
    check("head of it", (head.content_type, dict(head.metadata), head.tagging_count), ("text/y", {"b": "2"}, 1))
    check("bytes of it", c.get_object(oss.GetObjectRequest(bucket=BUCKET, key="copy \u6587")).body.read() == data, True)
    check("copy if", error_of(lambda: c.copy_object(oss.CopyObjectRequest(
        bucket=BUCKET, key="x", source_key=source, if_match='"wrong"'))), (412, "PreconditionFailed"))
    check("copy of nothing", error_of(lambda: c.copy_object(oss.CopyObjectRequest(
        bucket=BUCKET, key="x", source_key="nothing"))), (404, "NoSuchKey"))

    upload = c.initiate_multipart_upload(oss.InitiateMultipartUploadRequest(bucket=BUCKET, key="parts")).upload_id
    etags = []
    for number, (first, last) in enumerate([(0, 149_999), (150_000, 299_999)], 1):
        part = c.upload_part_copy(oss.UploadPartCopyRequest(
            bucket=BUCKET, key="parts", upload_id=upload, part_number=number, source_bucket=BUCKET, source_key=source,
            source_range=f"bytes={first}-{last}"))
        check(f"part copy {number}", (part.etag, part.headers.get("Content-Range")),
              ('"' + hashlib.md5(data[first:last + 1]).hexdigest().upper() + '"', f"bytes {first}-{last}/{len(data)}"))
        etags.append(part.etag)
    done = c.complete_multipart_upload(oss.CompleteMultipartUploadRequest(
        bucket=BUCKET, key="parts", upload_id=upload, complete_all="yes"))
    check("complete of all", (done.status_code, done.hash_crc64), (200, put.hash_crc64))
    big = c.copier().copy(oss.CopyObjectRequest(bucket=BUCKET, key="copier", source_key="parts"))
    check("copier", big.status_code, 200)

    first = c.append_object(oss.AppendObjectRequest(bucket=BUCKET, key="log", position=0, body=b"hello ", metadata={"a": "1"}))
    second = c.append_object(oss.AppendObjectRequest(bucket=BUCKET, key="log", position=first.next_position, body=b"world"))
    check("append", (first.next_position, second.next_position), (6, 11))
    check("append elsewhere", error_of(lambda: c.append_object(oss.AppendObjectRequest(
        bucket=BUCKET, key="log", position=3, body=b"x"))), (409, "PositionNotEqualToLength"))
    check("append to another kind", error_of(lambda: c.append_object(oss.AppendObjectRequest(
        bucket=BUCKET, key="parts", position=0, body=b"x"))), (409, "ObjectNotAppendable"))
    got = c.get_object(oss.GetObjectRequest(bucket=BUCKET, key="log"))
    check("what was appended", (got.body.read(), got.object_type, got.next_append_position
                                if hasattr(got, "next_append_position") else 11), (b"hello world", "Appendable", 11))
    with c.append_file(BUCKET, "file") as file:
        file.write(b"one ")
        file.write(b"two")
    check("append_file", c.get_object(oss.GetObjectRequest(bucket=BUCKET, key="file")).body.read(), b"one two")

    tags = oss.Tagging(tag_set=oss.TagSet(tags=[oss.Tag(key="colour", value="red & blue"), oss.Tag(key="n", value="1")]))
    check("put tags", c.put_object_tagging(oss.PutObjectTaggingRequest(
        bucket=BUCKET, key=source, tagging=tags)).status_code, 200)
    found = c.get_object_tagging(oss.GetObjectTaggingRequest(bucket=BUCKET, key=source))
    check("get tags", {tag.key: tag.value for tag in found.tag_set.tags}, {"colour": "red & blue", "n": "1"})
    check("delete tags", c.delete_object_tagging(oss.DeleteObjectTaggingRequest(
        bucket=BUCKET, key=source)).status_code, 204)
    found = c.get_object_tagging(oss.GetObjectTaggingRequest(bucket=BUCKET, key=source))
    check("no tags", (found.tag_set.tags if found.tag_set else None) or [], [])

    url = f"{ENDPOINT}/{BUCKET}/log"
    check("private", requests.get(url, timeout=20).status_code, 403)
    check("default acl", c.get_object_acl(oss.GetObjectAclRequest(bucket=BUCKET, key="log")).acl, "default")
    c.put_object_acl(oss.PutObjectAclRequest(bucket=BUCKET, key="log", acl="public-read"))
    check("object acl", c.get_object_acl(oss.GetObjectAclRequest(bucket=BUCKET, key="log")).acl, "public-read")
    check("public", requests.get(url, timeout=20).content, b"hello world")
    check("public, but not to write", requests.put(url, data=b"x", timeout=20).status_code, 403)

    meta = c.get_object_meta(oss.GetObjectMetaRequest(bucket=BUCKET, key=source))
    check("meta", (meta.content_length, meta.etag, meta.hash_crc64), (len(data), put.etag, put.hash_crc64))
    check("if match", error_of(lambda: c.get_object(oss.GetObjectRequest(
        bucket=BUCKET, key=source, if_match='"wrong"'))), (412, "PreconditionFailed"))
    check("if none match", error_of(lambda: c.head_object(oss.HeadObjectRequest(
        bucket=BUCKET, key=source, if_none_match=put.etag)))[0], 304)
    behind = len(data) + 1000
    whole = c.get_object(oss.GetObjectRequest(bucket=BUCKET, key=source, range_header=f"bytes=299000-{behind}"))
    check("range behind the end", (whole.status_code, len(whole.body.read())), (200, len(data)))
    cut = c.get_object(oss.GetObjectRequest(
        bucket=BUCKET, key=source, range_header=f"bytes=299000-{behind}", range_behavior="standard"))
    check("the same, standard", (cut.status_code, cut.body.read() == data[299000:]), (206, True))
    check("no range", error_of(lambda: c.get_object(oss.GetObjectRequest(
        bucket=BUCKET, key=source, range_header=f"bytes={behind}-", range_behavior="standard"))), (416, "InvalidRange"))

    everything = [entry.key for entry in c.list_objects_v2(oss.ListObjectsV2Request(bucket=BUCKET)).contents]
    deleted = c.delete_multiple_objects(oss.DeleteMultipleObjectsRequest(
        bucket=BUCKET, encoding_type="url", objects=[oss.DeleteObject(key=key) for key in everything]))
    check("multi-delete", sorted(entry.key for entry in deleted.deleted_objects), sorted(everything))
    check("nothing left", c.list_objects_v2(oss.ListObjectsV2Request(bucket=BUCKET)).contents or [], [])


def listing(c, _):
    """Prefixes, delimiters, markers, tokens."""
    keys = ["a/1", "a/2", "a/b/3", "b/4", "c 5", "c+6", "\u6587"]
    for key in keys:
        c.put_object(oss.PutObjectRequest(bucket=BUCKET, key=key, body=b""))
    page = c.list_objects_v2(oss.ListObjectsV2Request(bucket=BUCKET, prefix="a/", delimiter="/", fetch_owner=True))
    check("prefix and delimiter", ([entry.key for entry in page.contents], [e.prefix for e in page.common_prefixes]),
          (["a/1", "a/2"], ["a/b/"]))
    page = c.list_objects_v2(oss.ListObjectsV2Request(bucket=BUCKET, start_after="c 5"))
    check("start after", [entry.key for entry in page.contents], ["c+6", "\u6587"])
    found, token = [], None
    while True:
        page = c.list_objects_v2(oss.ListObjectsV2Request(
            bucket=BUCKET, max_keys=2, delimiter="/", continuation_token=token))
        found += [entry.key for entry in page.contents or []] + [e.prefix for e in page.common_prefixes or []]
        if not page.is_truncated:
            break
        token = page.next_continuation_token
    check("pages", found, ["a/", "b/", "c 5", "c+6", "\u6587"])
    page = c.list_objects(oss.ListObjectsRequest(bucket=BUCKET, marker="b/", max_keys=2))
    check("version 1", ([entry.key for entry in page.contents], page.is_truncated, page.next_marker),
          (["b/4", "c 5"], True, "c 5"))
    for key in keys:
        c.delete_object(oss.DeleteObjectRequest(bucket=BUCKET, key=key))


def buckets(c, version):
    """Making, looking at, and removing a bucket."""
    name = "interop-of-" + version
    check("put", c.put_bucket(oss.PutBucketRequest(
        bucket=name, acl="public-read",
        create_bucket_configuration=oss.CreateBucketConfiguration(storage_class="IA"))).status_code, 200)
    info = c.get_bucket_info(oss.GetBucketInfoRequest(bucket=name)).bucket_info
    check("info", (info.name, info.location, info.storage_class, info.acl),
          (name, "oss-" + REGION, "IA", "public-read"))
    check("location", c.get_bucket_location(oss.GetBucketLocationRequest(bucket=name)).location, "oss-" + REGION)
    check("acl", c.get_bucket_acl(oss.GetBucketAclRequest(bucket=name)).acl, "public-read")
    c.put_object(oss.PutObjectRequest(bucket=name, key="k", body=b"12345"))
    check("public read", requests.get(f"{ENDPOINT}/{name}/k", timeout=20).content, b"12345")
    check("public list", requests.get(f"{ENDPOINT}/{name}/", timeout=20).status_code, 200)
    c.put_bucket_acl(oss.PutBucketAclRequest(bucket=name, acl="private"))
    check("acl afterwards", c.get_bucket_acl(oss.GetBucketAclRequest(bucket=name)).acl, "private")
    check("private read", requests.get(f"{ENDPOINT}/{name}/k", timeout=20).status_code, 403)
    stat = c.get_bucket_stat(oss.GetBucketStatRequest(bucket=name))
    check("stat", (stat.storage, stat.object_count, stat.multi_part_upload_count), (5, 1, 0))
    check("exists", (c.is_bucket_exist(name), c.is_bucket_exist("interop-of-nobody")), (True, False))
    check("not empty", error_of(lambda: c.delete_bucket(oss.DeleteBucketRequest(bucket=name))), (409, "BucketNotEmpty"))
    c.delete_object(oss.DeleteObjectRequest(bucket=name, key="k"))
    check("delete", c.delete_bucket(oss.DeleteBucketRequest(bucket=name)).status_code, 204)


def presigned(version, token=None):
    """Presigned URLs, used by a program that has no SDK."""
    key_id, secret = (STS[0], STS[1]) if token else (KEY_ID, SECRET)
    c = client(version, key_id, secret, token)
    minute = datetime.timedelta(minutes=1)
    for key in KEYS:
        data = ("presigned " + key).encode()
        put = c.presign(oss.PutObjectRequest(
            bucket=BUCKET, key=key, content_type="text/x", metadata={"a": "1"}), expires=minute)
        check(f"put {key}", requests.request(put.method, put.url, headers=put.signed_headers, data=data,
                                             timeout=20).status_code, 200)
        get = c.presign(oss.GetObjectRequest(bucket=BUCKET, key=key), expires=minute)
        got = requests.request(get.method, get.url, headers=get.signed_headers, timeout=20)
        check(f"get {key}", (got.content, got.headers.get("x-oss-meta-a")), (data, "1"))
        head = c.presign(oss.HeadObjectRequest(bucket=BUCKET, key=key), expires=minute)
        check(f"head {key}", requests.request(head.method, head.url, headers=head.signed_headers,
                                              timeout=20).headers.get("Content-Length"), str(len(data)))
        check(f"other method {key}", requests.delete(get.url, timeout=20).status_code, 403)
        signed = client(version)
        signed.delete_object(oss.DeleteObjectRequest(bucket=BUCKET, key=key))
    initiate = c.presign(oss.InitiateMultipartUploadRequest(bucket=BUCKET, key="multi part"), expires=minute)
    reply = requests.request(initiate.method, initiate.url, headers=initiate.signed_headers, timeout=20)
    check("initiate", reply.status_code, 200)
    upload_id = reply.text.split("<UploadId>")[1].split("</UploadId>")[0]
    part = c.presign(oss.UploadPartRequest(
        bucket=BUCKET, key="multi part", upload_id=upload_id, part_number=1), expires=minute)
    reply = requests.request(part.method, part.url, headers=part.signed_headers, data=b"data", timeout=20)
    check("part", reply.status_code, 200)
    complete = c.presign(oss.CompleteMultipartUploadRequest(
        bucket=BUCKET, key="multi part", upload_id=upload_id), expires=minute)
    body = f"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{reply.headers['ETag']}</ETag></Part>" \
        "</CompleteMultipartUpload>"
    check("complete", requests.request(complete.method, complete.url, headers=complete.signed_headers, data=body,
                                       timeout=20).status_code, 200)
    client(version).delete_object(oss.DeleteObjectRequest(bucket=BUCKET, key="multi part"))
    late = c.presign(oss.GetObjectRequest(bucket=BUCKET, key="k"), expires=datetime.timedelta(milliseconds=1500))
    # The whole seconds of a URL's life have to pass.
    time.sleep(2)
    reply = requests.get(late.url, headers=late.signed_headers, timeout=20)
    check("expired", (reply.status_code, "Request has expired." in reply.text), (403, True))
    reply = requests.get(get.url + "&more=1" if version == "v4" else get.url.replace("Expires=", "Expires=9"), timeout=20)
    check("changed", (reply.status_code, "SignatureDoesNotMatch" in reply.text), (403, True))


def tokens(version):
    """Temporary credentials."""
    def status(token, key_id=STS[0], secret=STS[1]):
        c = client(version, key_id, secret, token)
        return error_of(lambda: c.put_object(oss.PutObjectRequest(bucket=BUCKET, key="token", body=b"x")).status_code)

    check("token", status(STS[2]), 200)
    check("wrong token", status("wrong"), (403, "InvalidSecurityToken"))
    check("no token", status(None), (403, "InvalidAccessKeyId"))
    check("token of another key", status(STS[2], KEY_ID, SECRET), (403, "SecurityTokenNotSupported"))
    client(version).delete_object(oss.DeleteObjectRequest(bucket=BUCKET, key="token"))


def refusals():
    """The errors that the SDK has to tell apart."""
    listed = oss.ListObjectsV2Request(bucket=BUCKET)
    for version in ("v4", "v1"):
        c = client(version)
        check(f"wrong secret {version}", error_of(lambda: client(
            version, secret="wrong").list_objects_v2(listed)), (403, "SignatureDoesNotMatch"))
        check(f"wrong id {version}", error_of(lambda: client(
            version, key_id="nobody").list_objects_v2(listed)), (403, "InvalidAccessKeyId"))
        check("no bucket", error_of(lambda: c.list_objects_v2(
            oss.ListObjectsV2Request(bucket="no-such-bucket"))), (404, "NoSuchBucket"))
        check("put into no bucket", error_of(lambda: c.put_object(
            oss.PutObjectRequest(bucket="no-such-bucket", key="k", body=b"x"))), (404, "NoSuchBucket"))
        check("no key", error_of(lambda: c.get_object(oss.GetObjectRequest(
            bucket=BUCKET, key="nothing"))), (404, "NoSuchKey"))
        check("no upload", error_of(lambda: c.list_parts(oss.ListPartsRequest(
            bucket=BUCKET, key="k", upload_id="0" * 32))), (404, "NoSuchUpload"))
        check("no upload for a part", error_of(lambda: c.upload_part(oss.UploadPartRequest(
            bucket=BUCKET, key="k", upload_id="0" * 32, part_number=1, body=b"x"))), (404, "NoSuchUpload"))
        check("wrong MD5", error_of(lambda: c.put_object(oss.PutObjectRequest(
            bucket=BUCKET, key="k", body=b"x", content_md5=base64.b64encode(bytes(16)).decode()))),
            (400, "InvalidDigest"))
        check("bad part number", error_of(lambda: c.upload_part(oss.UploadPartRequest(
            bucket=BUCKET, key="k", upload_id="0" * 32, part_number=10001, body=b"x"))), (400, "InvalidArgument"))
        check("long key", error_of(lambda: c.invoke_operation(oss.OperationInput(
            op_name="GetObject", method="GET", bucket=BUCKET, key="k" * 1024))), (400, "InvalidObjectName"))
    check("wrong region", error_of(lambda: client(region="elsewhere").list_objects_v2(listed)), (400, "InvalidArgument"))


def begin():
    """Makes the bucket that all sections use."""
    c = client()
    check("put bucket", c.put_bucket(oss.PutBucketRequest(bucket=BUCKET)).status_code, 200)
    names = [entry.name for entry in c.list_buckets(oss.ListBucketsRequest()).buckets]
    check("list buckets", BUCKET in names, True)
