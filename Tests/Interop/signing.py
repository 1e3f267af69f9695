# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

"""The SDKs' signers against the server's, text by text.

Each request is signed with a wrong secret. The refusal carries the texts that the server has computed; they have to be those
that the SDK's signer has computed, byte for byte.
"""

import base64
import datetime
from unittest import mock
from xml.etree import ElementTree

import alibabacloud_oss_v2 as oss
import oss2
import requests
from alibabacloud_oss_v2.signer import SignerV1, SignerV4

import sdk_oss2
import sdk_v2
from support import BUCKET, KEYS, check

AWKWARD = "p %&+/?#=~\u6587"


def texts(document):
    root = ElementTree.fromstring(document)
    return root.findtext("Code"), root.findtext("StringToSign"), root.findtext("CanonicalRequest")


def operations(key):
    """A request of each shape: bare parameters, values that need escapes, header fields that are signed."""
    upload = oss.UploadPartRequest(
        bucket=BUCKET, key=key, part_number=7, upload_id="0123456789ABCDEF", body=b"x", content_md5="A" * 22 + "==")
    return [
        (oss.Client.put_object, oss.PutObjectRequest(
            bucket=BUCKET, key=key, body=b"x", content_type="text/x; charset=utf-8", tagging="a=b&c%20d=e",
            metadata={"b": "2", "A": "1"}, acl="private")),
        (oss.Client.get_object, oss.GetObjectRequest(
            bucket=BUCKET, key=key, response_content_type="text/x; charset=utf-8", range_header="bytes=0-1")),
        (oss.Client.head_object, oss.HeadObjectRequest(bucket=BUCKET, key=key)),
        (oss.Client.delete_object, oss.DeleteObjectRequest(bucket=BUCKET, key=key)),
        (oss.Client.initiate_multipart_upload, oss.InitiateMultipartUploadRequest(bucket=BUCKET, key=key)),
        (oss.Client.upload_part, upload),
        (oss.Client.list_parts, oss.ListPartsRequest(bucket=BUCKET, key=key, upload_id="0123", max_parts=9)),
        (oss.Client.complete_multipart_upload, oss.CompleteMultipartUploadRequest(
            bucket=BUCKET, key=key, upload_id="0123", complete_all="yes", forbid_overwrite=True)),
        (oss.Client.abort_multipart_upload, oss.AbortMultipartUploadRequest(bucket=BUCKET, key=key, upload_id="01")),
        (oss.Client.append_object, oss.AppendObjectRequest(bucket=BUCKET, key=key, position=3, body=b"x")),
        (oss.Client.copy_object, oss.CopyObjectRequest(bucket=BUCKET, key=key, source_key=key)),
        (oss.Client.put_object_acl, oss.PutObjectAclRequest(bucket=BUCKET, key=key, acl="default")),
    ]


def requests_on_buckets():
    return [
        (oss.Client.list_buckets, oss.ListBucketsRequest(prefix=AWKWARD)),
        (oss.Client.list_objects, oss.ListObjectsRequest(bucket=BUCKET, prefix=AWKWARD, delimiter="/", marker=AWKWARD)),
        (oss.Client.list_objects_v2, oss.ListObjectsV2Request(
            bucket=BUCKET, prefix=AWKWARD, delimiter="/", start_after=AWKWARD, continuation_token="a+/b==")),
        (oss.Client.list_multipart_uploads, oss.ListMultipartUploadsRequest(
            bucket=BUCKET, prefix=AWKWARD, key_marker=AWKWARD)),
        (oss.Client.get_bucket_info, oss.GetBucketInfoRequest(bucket=BUCKET)),
    ]


def headers_v2(version):
    """The SDK version 2 signs header fields."""
    client = sdk_v2.client(version, secret="wrong", additional_headers=["range", "user-agent"])
    signer = SignerV4 if version == "v4" else SignerV1
    seen = {}

    def spy(name):
        original = getattr(signer, name)

        def record(self, *arguments, **named):
            seen[name] = original(self, *arguments, **named)
            return seen[name]
        return mock.patch.object(signer, name, record)

    names = ["_calc_string_to_sign"] + (["_calc_canonical_request"] if version == "v4" else [])
    cases = [(label, case) for label in KEYS for case in operations(label)]
    cases += [("bucket", case) for case in requests_on_buckets()]
    patches = [spy(name) for name in names]
    for patch in patches:
        patch.start()
    try:
        for label, (operation, request) in cases:
            name = f"{operation.__name__} {label[:40]}"
            try:
                operation(client, request)
                check(name, "no error", "an error")
            except oss.exceptions.OperationError as error:
                service = error.unwrap()
                document = service.snapshot or base64.b64decode(service.headers.get("x-oss-err", ""))
                check(name, texts(document), ("SignatureDoesNotMatch", seen["_calc_string_to_sign"],
                                              seen.get("_calc_canonical_request")))
    finally:
        for patch in patches:
            patch.stop()


def query_v2(version):
    """The SDK version 2 signs URLs."""
    client = sdk_v2.client(version, secret="wrong", token="a/token+=&")
    signer = SignerV4 if version == "v4" else SignerV1
    name = "_calc_canonical_request" if version == "v4" else "_calc_string_to_sign"
    original, seen = getattr(signer, name), []

    def record(self, *arguments, **named):
        seen.append(original(self, *arguments, **named))
        return seen[-1]

    with mock.patch.object(signer, name, record):
        for key in KEYS:
            signed = client.presign(oss.GetObjectRequest(
                bucket=BUCKET, key=key, response_content_type="text/x y"), expires=datetime.timedelta(minutes=1))
            code, to_sign, canonical = texts(requests.get(signed.url, headers=signed.signed_headers, timeout=20).content)
            check(f"URL {key[:40]}", (code, canonical if version == "v4" else to_sign),
                  ("SignatureDoesNotMatch", seen[-1]))


def headers_oss2(version):
    """The SDK version 1 signs header fields."""
    owner = oss2.ProviderAuthV4 if version == "v4" else oss2.ProviderAuth
    name = "_ProviderAuthV4__get_canonical_request_bytes" if version == "v4" else "_ProviderAuth__get_bytes_to_sign"
    original, seen = getattr(owner, name), []

    def record(self, *arguments, **named):
        seen.append(original(self, *arguments, **named))
        return seen[-1]

    bucket = sdk_oss2.bucket(version, secret="wrong")
    with mock.patch.object(owner, name, record):
        # The SDK reads only the first 4 KB of an error, too little for the longest keys.
        for key in (key for key in KEYS if len(key) < 200):
            for call in (
                    lambda: bucket.put_object(key, b"x", headers={"x-oss-meta-b": "1", "Content-Type": "text/x"}),
                    lambda: bucket.get_object(key, params={"response-content-type": "text/x y"}),
                    lambda: bucket.init_multipart_upload(key),
                    lambda: bucket.list_parts(key, "0123", max_parts=9),
                    lambda: bucket.list_objects_v2(prefix=key[:200], start_after=AWKWARD),
                    lambda: bucket.list_multipart_uploads(prefix=AWKWARD, key_marker=key[:200])):
                try:
                    call()
                    check(f"oss2 {key[:40]}", "no error", "an error")
                except oss2.exceptions.ServerError as error:
                    text = error.details.get("CanonicalRequest" if version == "v4" else "StringToSign")
                    check(f"oss2 {key[:40]}", (error.code, text), ("SignatureDoesNotMatch", seen[-1].decode()))
