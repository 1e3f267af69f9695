# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

"""Runs all interoperability scripts against the server at OSS_ENDPOINT."""

import sys

import sdk_v2
import support
from support import STS, run


def main():
    run(sdk_v2.begin)
    for version in ("v4", "v1"):
        client = sdk_v2.client(version)
        for section in (sdk_v2.objects, sdk_v2.multipart, sdk_v2.uploader, sdk_v2.changes, sdk_v2.listing,
                        sdk_v2.buckets):
            run(section, client, version)
        run(sdk_v2.presigned, version)
        run(sdk_v2.presigned, version, STS[2])
        run(sdk_v2.tokens, version)
    run(sdk_v2.refusals)
    print(f"{support.passed} passed, {support.failed} failed")
    return 1 if support.failed else 0


if __name__ == "__main__":
    sys.exit(main())
