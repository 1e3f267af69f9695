# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

"""The SDKs' resumable uploaders, killed in the middle and begun again."""

import os
import signal
import subprocess
import sys
import tempfile

import sdk_oss2
from support import SCRATCH, check, logged

PARTS = 16
PART_SIZE = 256 * 1024
LIMIT = 6


def resumable(sdk, version):
    key = f"resumed by {sdk} {version}"
    bucket = sdk_oss2.bucket()
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder:
        path = os.path.join(folder, "source.bin")
        data = os.urandom(PARTS * PART_SIZE - 1000)
        with open(path, "wb") as file:
            file.write(data)
        command = [sys.executable, os.path.join(os.path.dirname(__file__), "resume_child.py"), sdk, version, path, key,
                   os.path.join(folder, "checkpoints") if sdk == "v2" else folder]
        os.makedirs(os.path.join(folder, "checkpoints"))
        with subprocess.Popen(command + [str(LIMIT)], stdout=subprocess.PIPE) as child:
            for _ in range(LIMIT):
                child.stdout.readline()
            child.send_signal(signal.SIGKILL)
            check("killed", child.wait(), -signal.SIGKILL)
        uploads = list(bucket_uploads(bucket, key))
        check("one upload is open", len(uploads), 1)
        kept = len(bucket.list_parts(key, uploads[0]).parts)
        check("parts are kept", LIMIT <= kept < PARTS, True)
        check("nothing is visible", bucket.object_exists(key), False)
        before = len(logged("UploadPart", key))
        second = subprocess.run(command + ["1000"], stdout=subprocess.PIPE, check=False)
        check("second run", second.returncode, 0)
        sent = len(logged("UploadPart", key)) - before
        # What was in flight, or behind a gap, may be sent again.
        check("only the rest is sent", PARTS - kept <= sent <= PARTS - LIMIT + 3, True)
        check("one upload was begun", len(logged("InitiateMultipartUpload", key)), 1)
        check("bytes", bucket.get_object(key).read() == data, True)
        check("no upload is left", list(bucket_uploads(bucket, key)), [])
    bucket.delete_object(key)


def bucket_uploads(bucket, key):
    return [entry.upload_id for entry in bucket.list_multipart_uploads(prefix=key).upload_list]
