# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

"""What the interoperability scripts share: the server's address, the accounts, the count of checks."""

import json
import os
import sys
import traceback

ENDPOINT = os.environ["OSS_ENDPOINT"]
SCRATCH = os.environ["OSS_SCRATCH"]
BIN = os.environ["OSS_BIN"]
REGION = "cn-hangzhou"
BUCKET = "interop"
KEY_ID, SECRET = "test-access-key-id", "test-access-key-secret"
STS = ("sts-id", "sts-secret", "sts/token+with=signs")

# No key with `/../` in it: the SDKs' HTTP library resolves such paths before it sends them.
KEYS = [
    "plain.txt", "folder/with space.txt", " blank first and last ", "a+b=c&d.txt", "percent%2Fsign%25.txt",
    "question?mark#hash", "double//slash", "..dots/.../file", "tilde~star*'()!@$,;:[]", "quote\"<&>\\back",
    "\u6587\u4ef6/\U0001f600.bin", "e\u0301 and \u00e9", "k" * 1023, "\u6587" * 341,
]

passed = 0
failed = 0


def check(what, got, wanted):
    """Counts a comparison, and tells of it where it fails."""
    global passed, failed
    if got == wanted:
        passed += 1
        return
    failed += 1
    print(f"FAILED {what}: got {got!r}, wanted {wanted!r}", file=sys.stderr)


def logged(operation, key):
    """The server's log of the requests of one operation on one key."""
    with open(os.path.join(SCRATCH, "requests.jsonl"), encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    return [record for record in records if record["operation"] == operation and record.get("key") == key]


def run(name, *arguments):
    """Runs a section; an exception that it lets out is one failure."""
    global failed
    before = passed, failed
    label = name.__module__ + "." + name.__name__ + "".join(f" {argument}" for argument in arguments
                                                            if isinstance(argument, str))
    try:
        name(*arguments)
    except Exception:
        failed += 1
        print(f"FAILED {label}:", file=sys.stderr)
        traceback.print_exc()
    print(f"{label}: {passed - before[0]} passed, {failed - before[1]} failed", flush=True)
