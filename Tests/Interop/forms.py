# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

"""HTML forms (PostObject) as `requests` and `curl` send them, signed with Python's own hmac."""

import base64
import hashlib
import hmac
import json
import os
import shutil
import subprocess
import time
from xml.etree import ElementTree

import requests

import sdk_oss2
from support import BUCKET, ENDPOINT, KEY_ID, REGION, SCRATCH, SECRET, STS, check

URL = f"{ENDPOINT}/{BUCKET}"


def policy(*conditions, seconds=600):
    expiration = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() + seconds))
    document = {"expiration": expiration, "conditions": list(conditions) or [["starts-with", "$key", ""]]}
    return base64.b64encode(json.dumps(document).encode()).decode()


def signed(version, text, key_id=KEY_ID, secret=SECRET, token=None):
    """The fields that sign a policy."""
    fields = {"policy": text, **({"x-oss-security-token": token} if token else {})}
    if version == "v1":
        code = hmac.new(secret.encode(), text.encode(), hashlib.sha1).digest()
        return {**fields, "OSSAccessKeyId": key_id, "Signature": base64.b64encode(code).decode()}
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    scope = [moment[:8], REGION, "oss", "aliyun_v4_request"]
    key = ("aliyun_v4" + secret).encode()
    for step in scope:
        key = hmac.new(key, step.encode(), hashlib.sha256).digest()
    return {**fields, "x-oss-signature-version": "OSS4-HMAC-SHA256", "x-oss-date": moment,
            "x-oss-credential": "/".join([key_id] + scope),
            "x-oss-signature": hmac.new(key, text.encode(), hashlib.sha256).hexdigest()}


def code(reply):
    """Status and code of an error; the status alone where there is none."""
    if reply.status_code < 300:
        return reply.status_code, None
    return reply.status_code, ElementTree.fromstring(reply.content).findtext("Code")


def by_requests(version):
    b = sdk_oss2.bucket(version)
    data = os.urandom(300000) + b"\r\n--" + os.urandom(100)
    for credentials in ((KEY_ID, SECRET, None), STS):
        text = policy({"bucket": BUCKET}, ["starts-with", "$key", "forms/"], ["content-length-range", 1, 1000000],
                      ["in", "$content-type", ["text/x"]])
        fields = {"key": "forms/${filename}", "x-oss-meta-colour": "blue", "success_action_status": "201",
                  "x-oss-object-acl": "public-read", **signed(version, text, *credentials)}
        for name in ("plain.txt", "with space & \"quote\".txt", "\u6587\u4ef6.txt"):
            reply = requests.post(URL, data=fields, files={"file": (name, data, "text/x")}, timeout=20)
            key = "forms/" + name
            # The HTTP library escapes quotes as browsers do; the name is what it sends.
            key = key.replace('"', "%22")
            check(f"post {name}", reply.status_code, 201)
            document = ElementTree.fromstring(reply.content)
            check(f"reply {name}", [document.findtext(tag) for tag in ("Bucket", "Key", "ETag")],
                  [BUCKET, key, reply.headers["ETag"]])
            check(f"location {name}", requests.get(document.findtext("Location"), timeout=20).content == data, True)
            head = b.head_object(key)
            check(f"head {name}", (head.content_length, head.content_type, head.headers["x-oss-meta-colour"],
                                   head.etag, str(head.server_crc)),
                  (len(data), "text/x", "blue", hashlib.md5(data).hexdigest().upper(),
                   reply.headers["x-oss-hash-crc64ecma"]))
            b.delete_object(key)
    redirect = requests.post(URL, data={"key": "k", "success_action_redirect": "http://app.example/done",
                                        **signed(version, policy())},
                             files={"file": ("k", b"x")}, timeout=20, allow_redirects=False)
    check("redirect", (redirect.status_code, redirect.headers.get("Location")), (303, "http://app.example/done"))
    b.delete_object("k")


def refusals(version):
    def post(text, fields=None, data=b"data", **credentials):
        return code(requests.post(URL, data={"key": "k", **signed(version, text, **credentials), **(fields or {})},
                                  files={"file": ("k", data)}, timeout=20))

    check("stored", post(policy()), (204, None))
    check("expired", post(policy(seconds=-1)), (403, "AccessDenied"))
    check("another key", post(policy(["eq", "$key", "other"])), (403, "AccessDenied"))
    check("too small", post(policy(["content-length-range", 5, 9])), (400, "EntityTooSmall"))
    check("too large", post(policy(["content-length-range", 0, 3])), (400, "EntityTooLarge"))
    check("no policy", post("e30="), (400, "InvalidPolicyDocument"))
    check("wrong secret", post(policy(), secret="wrong"), (403, "SignatureDoesNotMatch"))
    check("unknown key", post(policy(), key_id="nobody"), (403, "InvalidAccessKeyId"))
    check("no overwriting", post(policy(), {"x-oss-forbid-overwrite": "true"}), (409, "FileAlreadyExists"))
    check("no file", code(requests.post(
        URL, data=b"--b\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\nk\r\n--b--\r\n",
        headers={"Content-Type": "multipart/form-data; boundary=b"}, timeout=20)),
        (400, "IncorrectNumberOfFilesInPOSTRequest"))
    check("no form", code(requests.post(URL, data=b"x", headers={"Content-Type": "text/plain"}, timeout=20)),
          (400, "MalformedPOSTRequest"))
    sdk_oss2.bucket(version).delete_object("k")


def by_curl(version):
    if not shutil.which("curl"):
        print("curl is not there: its forms are not tried")
        return
    b = sdk_oss2.bucket(version)
    data = os.urandom(5000000)
    for name in ("plain.bin", "a b\"c\\d.bin"):
        path = os.path.join(SCRATCH, name)
        with open(path, "wb") as file:
            file.write(data)
        fields = {"key": "curl/${filename}", "Content-Type": "text/x", **signed(version, policy())}
        command = ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}"]
        for field, value in fields.items():
            command += ["--form-string", f"{field}={value}"]
        quoted = path.replace("\\", "\\\\").replace('"', '\\"')
        done = subprocess.run(command + ["-F", f'file=@"{quoted}"', URL], capture_output=True, text=True, timeout=60)
        check(f"curl {name}", (done.stdout, done.stderr), ("204", ""))
        # Some send whole paths: what stands behind the last slash or backslash is the name.
        key = "curl/" + name.split("\\")[-1]
        check(f"bytes {name}", b.get_object(key).read() == data, True)
        check(f"type {name}", b.head_object(key).content_type, "text/x")
        b.delete_object(key)
        os.remove(path)
