# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

"""Callbacks to an application's server, here a small one on the loopback interface."""

import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs
from xml.etree import ElementTree

import alibabacloud_oss_v2 as oss
import oss2
import requests

import sdk_oss2
import sdk_v2
from support import BUCKET, check

KEY = "called back/\u6587 &+.bin"


class Application(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    posts = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Application.posts.append((self.path, self.headers, body))
        if self.path == "/slow":
            time.sleep(6)
        reply = b"no JSON" if self.path == "/text" else b'{"Status": "OK"}'
        self.send_response({"/moved": 301, "/broken": 500}.get(self.path, 200))
        if self.path == "/endless":
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        if self.path != "/endless":
            try:
                self.wfile.write(reply)
            except OSError:
                pass

    def log_message(self, *arguments):
        pass


def encoded(**fields):
    return base64.b64encode(json.dumps(fields).encode()).decode()


def all_cases():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Application)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        cases(f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        server.server_close()


def cases(application):
    form = encoded(callbackUrl=application + "/form?a=b", callbackHost="app.example",
                   callbackBody="bucket=${bucket}&object=${object}&etag=${etag}&size=${size}&mimeType=${mimeType}"
                                "&height=${imageInfo.height}&mine=${x:mine}")
    document = encoded(callbackUrl=application + "/json", callbackBodyType="application/json",
                       callbackBody='{"object":${object},"size":${size},"mine":${x:mine}}')
    mine = base64.b64encode(json.dumps({"x:mine": "my & \u6587"}).encode()).decode()
    data = b"data"

    for version in ("v4", "v1"):
        b = sdk_oss2.bucket(version)
        Application.posts.clear()
        put = b.put_object(KEY, data, headers={
            "x-oss-callback": form, "x-oss-callback-var": mine, "Content-Type": "text/x"})
        check("reply", (put.status, json.loads(put.resp.read())), (200, {"Status": "OK"}))
        path, headers, body = Application.posts[0]
        fields = {name: values[0] for name, values in parse_qs(body.decode(), keep_blank_values=True).items()}
        check("post", (path, headers["Host"], headers["Content-Type"], fields),
              ("/form?a=b", "app.example", "application/x-www-form-urlencoded", {
                  "bucket": BUCKET, "object": KEY, "etag": put.etag, "size": "4", "mimeType": "text/x", "height": "",
                  "mine": "my & \u6587"}))

        c = sdk_v2.client(version)
        Application.posts.clear()
        put = c.put_object(oss.PutObjectRequest(
            bucket=BUCKET, key=KEY, body=data, callback=document, callback_var=mine))
        check("reply v2", (put.status_code, json.loads(put.callback_result)), (200, {"Status": "OK"}))
        check("post v2", (Application.posts[0][1]["Content-Type"], json.loads(Application.posts[0][2])),
              ("application/json", {"object": KEY, "size": 4, "mine": "my & \u6587"}))

        upload = c.initiate_multipart_upload(oss.InitiateMultipartUploadRequest(bucket=BUCKET, key=KEY)).upload_id
        part = c.upload_part(oss.UploadPartRequest(
            bucket=BUCKET, key=KEY, upload_id=upload, part_number=1, body=data))
        done = c.complete_multipart_upload(oss.CompleteMultipartUploadRequest(
            bucket=BUCKET, key=KEY, upload_id=upload, callback=document, callback_var=mine,
            complete_multipart_upload=oss.CompleteMultipartUpload(
                parts=[oss.UploadPart(part_number=1, etag=part.etag)])))
        check("complete", (done.status_code, json.loads(done.callback_result), len(Application.posts)),
              (200, {"Status": "OK"}, 2))
        b.delete_object(KEY)

        Application.posts.clear()
        url = b.sign_url("PUT", KEY, 60, params={"callback": form, "callback-var": mine}, slash_safe=True)
        reply = requests.put(url, data=data, timeout=20)
        check("in a URL", (reply.status_code, reply.json(), len(Application.posts)), (200, {"Status": "OK"}, 1))
        both = requests.put(url, data=data, headers={"x-oss-callback": form}, timeout=20)
        check("in both places", both.status_code in (400, 403), True)
        b.delete_object(KEY)

    b = sdk_oss2.bucket()

    def outcome(callback, **more):
        headers = {"x-oss-callback": callback, **more}
        try:
            # The SDK takes 203 for success, as the object is stored.
            put = b.put_object(KEY, data, headers=headers)
            if put.status == 200:
                return 200, None, None
            error = ElementTree.fromstring(put.resp.read())
            return put.status, error.findtext("Code"), error.findtext("Message")
        except oss2.exceptions.ServerError as error:
            return error.status, error.code, error.details.get("Message")

    body = "object=${object}"
    for path, message in [
            ("/moved", "Error status : 301."), ("/broken", "Error status : 500."), ("/slow", "Cost too long time."),
            ("/text", "Response body is not valid json format."),
            ("/endless", "Error Status : 400.User server missing content-length.")]:
        check(path, outcome(encoded(callbackUrl=application + path, callbackBody=body)),
              (203, "CallbackFailed", message))
        check(f"stored, {path}", b.object_exists(KEY), True)
        b.delete_object(KEY)
    check("nobody there", outcome(encoded(callbackUrl="127.0.0.1:1", callbackBody=body))[:2], (203, "CallbackFailed"))
    b.delete_object(KEY)
    check("the second URL", outcome(encoded(
        callbackUrl=f"{application}/broken;{application}/fine", callbackBody=body))[0], 200)
    b.delete_object(KEY)

    for name, callback, more in [
            ("no Base64", "!!", {}), ("no JSON", base64.b64encode(b"text").decode(), {}),
            ("no URL", encoded(callbackBody=body), {}), ("no body", encoded(callbackUrl=application), {}),
            ("six URLs", encoded(callbackUrl=";".join([application] * 6), callbackBody=body), {}),
            ("a bad URL", encoded(callbackUrl="127.0.0.1:port", callbackBody=body), {}),
            ("a bad type", encoded(callbackUrl=application, callbackBody=body, callbackBodyType="text/x"), {}),
            ("another host", encoded(callbackUrl="http://203.0.113.1/", callbackBody=body), {}),
            ("a bad variable", encoded(callbackUrl=application, callbackBody=body),
             {"x-oss-callback-var": base64.b64encode(b'{"mine": "1"}').decode()})]:
        check(name, outcome(callback, **more)[:2], (400, "InvalidArgument"))
        check(f"nothing stored, {name}", b.object_exists(KEY), False)
