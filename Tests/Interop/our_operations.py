# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

"""This package's client, operation by operation: what it stores is read by the official SDKs, and what they store by it.

`interop-driver` is the client by its public API, told what to do line by line. Where it is given no secret it asks for each
signature, and the official SDK gives it: header fields of its signer, or a presigned URL.
"""

import datetime
import hashlib
import json
import os
import subprocess
import tempfile
from urllib.parse import unquote, urlsplit

import alibabacloud_oss_v2 as oss
import oss2
import requests
from alibabacloud_oss_v2.signer import SignerV1, SignerV4
from alibabacloud_oss_v2.types import Credentials, HttpRequest, SigningContext

import sdk_oss2
import sdk_v2
from support import BIN, BUCKET, ENDPOINT, KEY_ID, KEYS, REGION, SCRATCH, SECRET, STS, check

PART_SIZE = 100 * 1024
MINUTE = datetime.timedelta(minutes=1)


class Driver:
    """The client, for one version of the signature and one account; without an account it has a signer."""

    def __init__(self, version="v4", account=(KEY_ID, SECRET, None), sign=None, checkpoints=None):
        self.sign = sign
        self.process = subprocess.Popen([os.path.join(BIN, "interop-driver")], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"], "HOME": SCRATCH})
        client = {"endpoint": ENDPOINT, "signatureVersion": version, "checkpoints": checkpoints}
        if not sign:
            client.update(region=REGION, accessKeyID=account[0], accessKeySecret=account[1], securityToken=account[2])
        self.tell("client", **client)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def tell(self, command, **values):
        """Does one thing and returns what came of it."""
        self.send({"do": command, **{name: value for name, value in values.items() if value is not None}})
        while True:
            answer = json.loads(self.process.stdout.readline())
            if "sign" not in answer:
                return answer
            self.send({"signed": answer["sign"], **self.sign(answer["request"])})

    def on(self, command, key=None, **values):
        """The same in the bucket of all sections."""
        return self.tell(command, bucket=values.pop("bucket", BUCKET), key=key, **values)


def file_of(data):
    """A file that holds the bytes."""
    handle, path = tempfile.mkstemp(dir=SCRATCH)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    return path


def crc64(data):
    crc = oss2.utils.Crc64(0)
    crc.update(data)
    return str(crc.crc)


def objects(version):
    """PutObject, AppendObject, CopyObject, tags and ACL of ours, read by both SDKs."""
    b, c = sdk_oss2.bucket(version), sdk_v2.client(version)
    with Driver(version) as ours:
        for key in KEYS:
            data = ("our data of " + key).encode()
            put = ours.on("put", key, file=file_of(data), contentType="text/x", metadata={"colour": "dark blue"},
                          tags={"a": "b c", "d": "e+f"})
            check(f"put {key}", (put.get("error"), put.get("eTag"), put.get("crc64")),
                  (None, hashlib.md5(data).hexdigest().upper(), crc64(data)))
            head = c.head_object(oss.HeadObjectRequest(bucket=BUCKET, key=key))
            check(f"head of it {key}", (head.content_type, head.metadata.get("colour"), head.tagging_count,
                                        head.hash_crc64), ("text/x", "dark blue", 2, put["crc64"]))
            check(f"bytes {key}", b.get_object(key).read(), data)
            tags = c.get_object_tagging(oss.GetObjectTaggingRequest(bucket=BUCKET, key=key)).tag_set.tags
            check(f"tags {key}", {tag.key: tag.value for tag in tags}, {"a": "b c", "d": "e+f"})
            # And the other way round.
            theirs = b"theirs: " + data
            b.put_object(key, theirs, headers={"x-oss-meta-by": "oss2"})
            path = file_of(b"")
            got = ours.on("get", key, file=path, range=[2, len(theirs)])
            with open(path, "rb") as file:
                check(f"get of theirs {key}", (got.get("error"), file.read()), (None, theirs[2:]))
            head = ours.on("head", key)
            check(f"head of theirs {key}", (head.get("metadata"), head.get("crc64")), ({"by": "oss2"}, crc64(theirs)))
            check(f"delete {key}", ours.on("delete", key).get("error"), None)
            check(f"gone {key}", b.object_exists(key), False)

        log = "log \u6587"
        first = ours.on("append", log, file=file_of(b"one "), position=0, contentType="text/x")
        second = ours.on("append", log, file=file_of(b"two "), position=4)
        check("append", (first.get("position"), second.get("position"), second.get("crc64")), (4, 8, crc64(b"one two ")))
        check("append of theirs", b.append_object(log, 8, b"three").next_position, 13)
        got = b.get_object(log)
        check("appended", (got.read(), got.headers["x-oss-object-type"]), (b"one two three", "Appendable"))
        check("append elsewhere", ours.on("append", log, file=file_of(b"x"), position=3).get("code"),
              "PositionNotEqualToLength")

        source, data = KEYS[3], os.urandom(300_000)
        b.put_object(source, data, headers={"x-oss-meta-a": "1", "Content-Type": "text/x", "x-oss-tagging": "k=v"})
        copy = ours.on("copy", "copy of ours", sourceKey=source)
        check("copy", copy.get("crc64"), crc64(data))
        head = c.head_object(oss.HeadObjectRequest(bucket=BUCKET, key="copy of ours"))
        check("head of the copy", (head.content_type, head.metadata.get("a"), head.tagging_count, head.content_length),
              ("text/x", "1", 1, len(data)))
        check("copy with other fields", ours.on("copy", "copy of ours", sourceKey=source, contentType="text/y",
                                                metadata={"b": "2"}, tags={"n": "w", "m": ""}).get("error"), None)
        head = c.head_object(oss.HeadObjectRequest(bucket=BUCKET, key="copy of ours"))
        check("head of it", (head.content_type, dict(head.metadata), head.tagging_count), ("text/y", {"b": "2"}, 2))

        check("put tags", ours.on("putTags", source, tags={"colour": "red + blue", "n": "a/b:c=d"}).get("error"), None)
        check("tags by oss2", dict(b.get_object_tagging(source).tag_set.tagging_rule),
              {"colour": "red + blue", "n": "a/b:c=d"})
        rule = oss2.models.TaggingRule()
        rule.add("by", "oss2 & co")
        b.put_object_tagging(source, oss2.models.Tagging(rule))
        check("tags of theirs", ours.on("getTags", source).get("tags"), {"by": "oss2 & co"})
        check("delete tags", ours.on("deleteTags", source).get("error"), None)
        check("no tags", dict(b.get_object_tagging(source).tag_set.tagging_rule), {})

        check("default acl", ours.on("getACL", source).get("acl"), "default")
        check("put acl", ours.on("putACL", source, acl="public-read").get("error"), None)
        check("acl by both", (b.get_object_acl(source).acl,
                              c.get_object_acl(oss.GetObjectAclRequest(bucket=BUCKET, key=source)).acl),
              ("public-read", "public-read"))
        check("public", requests.get(b.sign_url("GET", source, 60).split("?")[0], timeout=20).content == data, True)
        b.put_object_acl(source, "private")
        check("acl of theirs", ours.on("getACL", source).get("acl"), "private")

        listed = [entry.key for entry in oss2.ObjectIteratorV2(b)]
        deleted = ours.on("deleteMultiple", keys=listed)
        check("delete multiple", sorted(deleted.get("keys", [])), sorted(listed))
        check("nothing left", list(oss2.ObjectIteratorV2(b)), [])


def parts(version):
    """Uploads in parts, each begun by one side and ended by another."""
    b, c = sdk_oss2.bucket(version), sdk_v2.client(version)
    source, data = KEYS[10], os.urandom(2 * PART_SIZE + 77)
    with Driver(version) as ours:
        b.put_object(source, data)
        upload = ours.on("initiate", "joint", contentType="text/x", metadata={"a": "1"})["uploadID"]
        eTags = [ours.on("uploadPart", "joint", uploadID=upload, partNumber=1, file=file_of(data[:PART_SIZE]))["eTag"]]
        eTags.append(b.upload_part("joint", upload, 2, data[PART_SIZE:2 * PART_SIZE]).etag)
        copied = ours.on("uploadPartCopy", "joint", uploadID=upload, partNumber=3, sourceKey=source,
                         range=[2 * PART_SIZE, len(data)])
        eTags.append(copied.get("eTag"))
        check("part of a copy", copied.get("eTag"), hashlib.md5(data[2 * PART_SIZE:]).hexdigest().upper())
        check("parts by oss2", [(part.part_number, part.etag) for part in oss2.PartIterator(b, "joint", upload)],
              list(enumerate(eTags, 1)))
        page = c.list_parts(oss.ListPartsRequest(bucket=BUCKET, key="joint", upload_id=upload))
        check("parts by v2", [part.etag.strip('"') for part in page.parts], eTags)
        done = ours.on("complete", "joint", uploadID=upload, eTags=eTags)
        check("complete", (done.get("error"), done.get("crc64")), (None, crc64(data)))
        got = c.get_object(oss.GetObjectRequest(bucket=BUCKET, key="joint"))
        check("bytes", (got.body.read() == data, got.content_type, got.metadata.get("a")), (True, "text/x", "1"))

        upload = b.init_multipart_upload("theirs").upload_id
        one = ours.on("uploadPart", "theirs", uploadID=upload, partNumber=1, file=file_of(data))["eTag"]
        b.complete_multipart_upload("theirs", upload, [oss2.models.PartInfo(1, one)])
        check("completed by oss2", b.get_object("theirs").read() == data, True)

        result = ours.on("upload", "uploader", file=file_of(data), contentType="text/x")
        check("uploader", (result.get("error"), result.get("proof"), result.get("partsSent")), (None, "crc64", 3))
        check("its bytes", b.get_object("uploader").read() == data, True)
        for key in (source, "joint", "theirs", "uploader"):
            b.delete_object(key)


def buckets(version):
    b = sdk_oss2.bucket(version, name="made-by-us-" + version)
    name = b.bucket_name
    with Driver(version) as ours:
        check("put", ours.tell("putBucket", bucket=name, acl="public-read", storageClass="IA").get("error"), None)
        info = b.get_bucket_info()
        check("info", (info.name, info.location, info.storage_class, info.acl.grant),
              (name, "oss-" + REGION, "IA", "public-read"))
        check("location", ours.tell("location", bucket=name).get("location"), b.get_bucket_location().location)
        for key in KEYS + ["a/1", "a/b/2"]:
            b.put_object(key, b"")
        ordered = sorted(KEYS + ["a/1", "a/b/2"], key=lambda key: key.encode())
        check("list", ours.tell("list", bucket=name).get("keys"), ordered)
        ours_by_prefix = ours.tell("list", bucket=name, prefix="a/", delimiter="/")
        theirs = b.list_objects_v2(prefix="a/", delimiter="/")
        check("prefixes", (ours_by_prefix.get("keys"), ours_by_prefix.get("prefixes")),
              ([entry.key for entry in theirs.object_list], theirs.prefix_list))
        check("not empty", ours.tell("deleteBucket", bucket=name).get("code"), "BucketNotEmpty")
        check("delete multiple", len(ours.tell("deleteMultiple", bucket=name, keys=ordered).get("keys", [])),
              len(ordered))
        check("delete", ours.tell("deleteBucket", bucket=name).get("error"), None)
        check("gone", sdk_v2.client(version).is_bucket_exist(name), False)


def presigned(version, token=None):
    """URLs of ours, used by a program that has no SDK, and signed once more by the official one."""
    b = sdk_oss2.bucket(version)
    account = STS if token else (KEY_ID, SECRET, None)

    def used(signed, body=None):
        check(f"{signed['method']} of the SDK", *both_signatures(version, signed, account))
        return requests.request(signed["method"], signed["url"], headers=signed["headers"], data=body, timeout=20)

    with Driver(version, account) as ours:
        def url(operation, key, **values):
            return ours.on("presign", key, operation=operation, **values)

        for key in KEYS:
            data = ("presigned by us " + key).encode()
            put = url("put", key, contentType="text/x", metadata={"a": "1"}, tags={"t": "u v"})
            check(f"put {key[:40]}", used(put, data).status_code, 200)
            got = b.get_object(key)
            check(f"bytes {key[:40]}", (got.read(), got.headers["x-oss-meta-a"]), (data, "1"))
            check(f"get {key[:40]}", used(url("get", key)).content, data)
            head = used(url("head", key))
            check(f"head {key[:40]}", (head.status_code, head.headers.get("Content-Length")), (200, str(len(data))))
            b.delete_object(key)
        key = KEYS[10]
        upload = b.init_multipart_upload(key).upload_id
        part = used(url("uploadPart", key, uploadID=upload, partNumber=1), b"data")
        check("part", part.status_code, 200)
        body = f"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{part.headers['ETag']}</ETag></Part>" \
            "</CompleteMultipartUpload>"
        check("complete", used(url("complete", key, uploadID=upload), body).status_code, 200)
        check("completed", b.get_object(key).read(), b"data")
        upload = b.init_multipart_upload(key).upload_id
        check("abort", used(url("abort", key, uploadID=upload)).status_code, 204)
        check("aborted", list(oss2.MultipartUploadIterator(b)), [])
        b.delete_object(key)


def both_signatures(version, signed, account):
    """The signature of a presigned URL, and the one that the official SDK makes for the same moment."""
    target = urlsplit(signed["url"])
    items = target.query.split("&")
    query = {unquote(name): unquote(value) for name, _, value in (item.partition("=") for item in items)}
    bucket, key = (unquote(part) for part in target.path.lstrip("/").split("/", 1))
    ours_name, own = (("x-oss-signature", ("x-oss-signature", "x-oss-signature-version", "x-oss-credential",
                                           "x-oss-date", "x-oss-expires", "x-oss-security-token",
                                           "x-oss-additional-headers")) if version == "v4"
                      else ("Signature", ("Signature", "OSSAccessKeyId", "Expires", "security-token")))
    kept = "&".join(item for item in items if unquote(item.split("=", 1)[0]) not in own)
    url = f"{target.scheme}://{target.netloc}{target.path}" + ("?" + kept if kept else "")
    if version == "v4":
        begin = datetime.datetime.strptime(query["x-oss-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
        end = begin + datetime.timedelta(seconds=int(query["x-oss-expires"]))
    else:
        end = datetime.datetime.fromtimestamp(int(query["Expires"]), datetime.timezone.utc)
        begin = end
    context = SigningContext(
        product="oss", region=REGION, bucket=bucket, key=key, request=HttpRequest(signed["method"], url,
                                                                                  headers=dict(signed["headers"])),
        credentials=Credentials(*account), signing_time=begin)
    context.auth_method_query = True
    context.expiration_time = end
    context.additional_headers = set(query.get("x-oss-additional-headers", "").split(";")) - {""}
    (SignerV4() if version == "v4" else SignerV1()).sign(context)
    theirs = urlsplit(context.request.url).query
    found = [item.split("=", 1)[1] for item in theirs.split("&") if item.split("=", 1)[0] == ours_name]
    return query[ours_name], unquote(found[0]) if found else None


def forms(version):
    """PostObject: by our client, and by `requests` with a form of ours."""
    b = sdk_oss2.bucket(version)
    data = os.urandom(300000) + b"\r\n--" + os.urandom(100)
    for account in ((KEY_ID, SECRET, None), STS):
        with Driver(version, account) as ours:
            for key in KEYS[:12]:
                post = ours.on("post", key, file=file_of(data), contentType="text/x", metadata={"colour": "blue"},
                               acl="public-read")
                check(f"post {key}", (post.get("error"), post.get("crc64")), (None, crc64(data)))
                got = b.get_object(key)
                check(f"posted {key}", (got.read() == data, got.headers["Content-Type"],
                                        got.headers["x-oss-meta-colour"], b.get_object_acl(key).acl),
                      (True, "text/x", "blue", "public-read"))
                b.delete_object(key)
            form = ours.on("postForm", "forms/", contentType="text/x")
            fields = dict(form["fields"])
            fields["key"] = "forms/${filename}"
            reply = requests.post(form["url"], data=fields, files={"file": ("a b.txt", data, "text/x")}, timeout=20)
            check("form", (reply.status_code, b.get_object("forms/a b.txt").read() == data), (200, True))
            fields["key"] = "elsewhere"
            reply = requests.post(form["url"], data=fields, files={"file": ("a", data, "text/x")}, timeout=20)
            check("form for another key", (reply.status_code, b.object_exists("elsewhere")), (403, False))
            b.delete_object("forms/a b.txt")


def memory(process):
    """All that a process has in its memory and may read."""
    with open(f"/proc/{process.pid}/maps", encoding="ascii") as maps, open(f"/proc/{process.pid}/mem", "rb", 0) as file:
        for line in maps:
            words = line.split()
            if "r" not in words[1] or words[-1] in ("[vvar]", "[vsyscall]", "[vvar_vclock]"):
                continue
            first, last = (int(end, 16) for end in words[0].split("-"))
            file.seek(first)
            try:
                yield file.read(last - first) or b""
            except OSError:
                continue


def signed_by_the_sdk(version):
    """Uploads without a secret, signed by the official SDKs: in header fields, and by URLs of both."""
    b, c = sdk_oss2.bucket(version), sdk_v2.client(version)
    data = os.urandom(5 * PART_SIZE + 3)

    def in_headers(request):
        headers = dict(request["headers"])
        context = SigningContext(
            product="oss", region=REGION, bucket=request["bucket"], key=request.get("key"),
            request=HttpRequest(request["method"], request["url"], headers=headers),
            credentials=Credentials(KEY_ID, SECRET), signing_time=datetime.datetime.now(datetime.timezone.utc))
        (SignerV4() if version == "v4" else SignerV1()).sign(context)
        return {"url": request["url"], "headers": dict(context.request.headers)}

    def by_url_v2(request):
        names, upload = dict(bucket=request["bucket"], key=request.get("key")), request["query"].get("uploadId")
        wanted = {
            ("POST", "uploads"): lambda: oss.InitiateMultipartUploadRequest(
                **names, content_type=request["headers"].get("Content-Type")),
            ("PUT", "partNumber"): lambda: oss.UploadPartRequest(
                **names, upload_id=upload, part_number=int(request["query"]["partNumber"]),
                content_md5=request["headers"].get("Content-MD5")),
            ("POST", "uploadId"): lambda: oss.CompleteMultipartUploadRequest(
                **names, upload_id=upload, forbid_overwrite=None),
            ("HEAD", ""): lambda: oss.HeadObjectRequest(**names),
        }
        query = set(request["query"])
        name = next((name for name in ("uploads", "partNumber", "uploadId") if name in query), "")
        if (request["method"], name) not in wanted:
            return {"refuse": f"{request['method']} {sorted(query)} is not allowed"}
        signed = c.presign(wanted[request["method"], name](), expires=MINUTE)
        return {"url": signed.url, "headers": dict(signed.signed_headers or {})}

    def by_url_oss2(request):
        headers = {name: value for name, value in request["headers"].items()
                   if name.lower() in ("content-md5", "content-type") or name.lower().startswith("x-oss-")}
        params = {name: value for name, value in request["query"].items()}
        url = b.sign_url(request["method"], request["key"], 60, headers=dict(headers), params=params, slash_safe=True)
        return {"url": url, "headers": headers}

    for sign in (in_headers, by_url_v2, by_url_oss2):
        for key in ("signed elsewhere", KEYS[10]):
            with Driver(version, sign=sign) as ours:
                asked = []

                def kept(request, sign=sign, asked=asked):
                    asked.append(request)
                    return sign(request)
                ours.sign = kept
                result = ours.on("upload", key, file=file_of(data), contentType="text/x")
                check(f"{sign.__name__} {key}", (result.get("error"), result.get("proof"), result.get("partsSent")),
                      (None, "crc64", 6))
                check(f"{sign.__name__} asked", len(asked) >= 8, True)
                pieces = list(memory(ours.process))
                check("no secret in its memory", any(SECRET.encode() in piece for piece in pieces), False)
                check("what is in its memory", any(key.encode() in piece for piece in pieces), True)
            got = b.get_object(key)
            check(f"{sign.__name__} bytes", (got.read() == data, got.headers["Content-Type"]), (True, "text/x"))
            b.delete_object(key)
    with Driver(version, sign=lambda request: {"refuse": "not for you"}) as ours:
        check("refusal", ours.on("put", "k", file=file_of(b"x")).get("code"), "signerFailed")
    check("nothing of it came", b.object_exists("k"), False)
