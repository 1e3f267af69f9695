# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

"""The official SDK `alibabacloud-oss-v2`, operation by operation."""

import base64
import hashlib
import os
import tempfile

import alibabacloud_oss_v2 as oss

from support import BUCKET, ENDPOINT, KEY_ID, KEYS, REGION, SECRET, check


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


def refusals():
    head = oss.ListObjectsV2Request(bucket=BUCKET)
    for version in ("v4", "v1"):
        check(f"wrong secret {version}", error_of(lambda: client(
            version, secret="wrong").list_objects_v2(head)), (403, "SignatureDoesNotMatch"))
        check(f"wrong id {version}", error_of(lambda: client(
            version, key_id="nobody").list_objects_v2(head)), (403, "InvalidAccessKeyId"))
    check("no bucket", error_of(lambda: client().list_objects_v2(
        oss.ListObjectsV2Request(bucket="no-such-bucket"))), (404, "NoSuchBucket"))


def begin():
    """Makes the bucket that all sections use."""
    c = client()
    check("put bucket", c.put_bucket(oss.PutBucketRequest(bucket=BUCKET)).status_code, 200)
    names = [entry.name for entry in c.list_buckets(oss.ListBucketsRequest()).buckets]
    check("list buckets", BUCKET in names, True)
