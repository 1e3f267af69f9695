# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

"""This package's client, each of whose requests is signed once more by the official SDK's signer.

A proxy between `ossmp` and the server keeps method, target and header fields as they were sent. Bucket and key are read from
them, the SDK signs the same request at the same time, and both have to come to the same signature.
"""

import datetime
import http.client
import os
import subprocess
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

from alibabacloud_oss_v2.signer import SignerV1, SignerV4
from alibabacloud_oss_v2.types import Credentials, HttpRequest, SigningContext

import sdk_oss2
from support import BIN, BUCKET, ENDPOINT, KEY_ID, KEYS, REGION, SCRATCH, SECRET, STS, check

PART_SIZE = 100 * 1024


class Recorder(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    requests = []

    def forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        Recorder.requests.append((self.command, self.path, dict(self.headers)))
        server = http.client.HTTPConnection(urlsplit(ENDPOINT).netloc, timeout=30)
        server.request(self.command, self.path, body or None, dict(self.headers))
        reply = server.getresponse()
        content = reply.read()
        self.send_response(reply.status)
        for name, value in reply.getheaders():
            if name.lower() not in ("connection", "date", "server"):
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        server.close()

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = forward

    def log_message(self, *arguments):
        pass


def signature(version, method, target, headers, key_id, secret, token):
    """What the SDK's signer makes of a request."""
    path = urlsplit(target).path.lstrip("/").split("/", 1)
    wanted = {name.lower(): value for name, value in headers.items()}
    authorization = wanted.pop("authorization")
    kept = {name: value for name, value in wanted.items()
            if name.startswith("x-oss-") or name in ("content-type", "content-md5")}
    if version == "v4":
        moment = datetime.datetime.strptime(wanted["x-oss-date"], "%Y%m%dT%H%M%SZ")
    else:
        moment = datetime.datetime.strptime(wanted["date"], "%a, %d %b %Y %H:%M:%S GMT")
    context = SigningContext(
        product="oss", region=REGION, bucket=unquote(path[0]), key=unquote(path[1]) if len(path) > 1 else None,
        request=HttpRequest(method, ENDPOINT + target, headers=kept),
        # The SDK's own signer of version 1 would send the token under another name, unsigned.
        credentials=Credentials(key_id, secret, token if version == "v4" else None),
        signing_time=moment.replace(tzinfo=datetime.timezone.utc))
    (SignerV4() if version == "v4" else SignerV1()).sign(context)
    computed = context.request.headers["Authorization"]
    return [text.replace(" ", "") for text in (authorization, computed)]


def uploads(version):
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    try:
        for key in KEYS:
            one_key(version, key, f"http://127.0.0.1:{proxy.server_port}", KEY_ID, SECRET, None)
        one_key(version, KEYS[1], f"http://127.0.0.1:{proxy.server_port}", *STS)
    finally:
        proxy.shutdown()
        proxy.server_close()


def one_key(version, key, endpoint, key_id, secret, token):
    bucket = sdk_oss2.bucket()
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        path = os.path.join(folder, "source.bin")
        data = os.urandom(2 * PART_SIZE + 7)
        with open(path, "wb") as file:
            file.write(data)
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "OSS_ACCESS_KEY_ID": key_id,
                       "OSS_ACCESS_KEY_SECRET": secret}
        if token:
            environment["OSS_SESSION_TOKEN"] = token
        Recorder.requests.clear()
        result = subprocess.run(
            [os.path.join(BIN, "ossmp"), "cp", path, f"oss://{BUCKET}/{key}", "--endpoint", endpoint, "--region", REGION,
             "--part-size", str(PART_SIZE), "--sign-version", version, "--content-type", "text/x; charset=utf-8",
             "--meta", "colour=dark blue", "--tagging", "a=b%20c&d=e", "--quiet", "--checkpoint-dir", folder],
            env=environment, capture_output=True, check=False)
        check(f"ossmp {key[:40]} {result.stderr.decode()[-300:]}", result.returncode, 0)
        check(f"requests {key[:40]}", len(Recorder.requests) >= 5, True)
        for method, target, headers in Recorder.requests:
            ours, theirs = signature(version, method, target, headers, key_id, secret, token)
            check(f"{method} {target[:80]}", ours, theirs)
        check(f"bytes {key[:40]}", bucket.get_object(key).read() == data, True)
        bucket.delete_object(key)
