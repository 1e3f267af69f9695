# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

"""One run of an SDK's resumable uploader: resume_child.py SDK VERSION FILE KEY CHECKPOINTS LIMIT

It tells each part that is stored, and halts after LIMIT of them until somebody kills it.
"""

import sys
import threading
import time

import support

PART_SIZE = 256 * 1024
lock = threading.Lock()
stored = 0


def watched(upload, limit):
    def call(*arguments, **named):
        global stored
        with lock:
            if stored >= limit:
                time.sleep(600)
        result = upload(*arguments, **named)
        with lock:
            stored += 1
            print("part", flush=True)
        return result
    return call


def main():
    sdk, version, path, key, checkpoints, limit = sys.argv[1:]
    if sdk == "v2":
        import alibabacloud_oss_v2 as oss
        import sdk_v2
        client = sdk_v2.client(version)
        client.upload_part = watched(client.upload_part, int(limit))
        client.uploader(part_size=PART_SIZE, parallel_num=3).upload_file(
            oss.PutObjectRequest(bucket=support.BUCKET, key=key), path, enable_checkpoint=True,
            checkpoint_dir=checkpoints)
    else:
        import oss2
        import sdk_oss2
        bucket = sdk_oss2.bucket(version)
        bucket.upload_part = watched(bucket.upload_part, int(limit))
        oss2.resumable_upload(
            bucket, key, path, store=oss2.ResumableStore(root=checkpoints), multipart_threshold=PART_SIZE,
            part_size=PART_SIZE, num_threads=3)


if __name__ == "__main__":
    main()
