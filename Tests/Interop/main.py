# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

"""Runs all interoperability scripts against the server at OSS_ENDPOINT."""

import sys

import callbacks
import forms
import our_client
import our_operations
import resume
import sdk_oss2
import sdk_v2
import signing
import support
from support import STS, run


def main():
    run(sdk_v2.begin)
    for version in ("v4", "v1"):
        for sdk, client in ((sdk_v2, sdk_v2.client(version)), (sdk_oss2, sdk_oss2.bucket(version))):
            sections = [sdk.objects, sdk.multipart, sdk.changes, sdk.buckets]
            if sdk is sdk_v2:
                sections += [sdk.uploader, sdk.listing]
            for section in sections:
                run(section, client, version)
            run(sdk.presigned, version)
            run(sdk.presigned, version, STS[2])
        run(sdk_v2.tokens, version)
        run(sdk_oss2.refusals, version)
        run(sdk_oss2.virtual_host, version)
        for section in (signing.headers_v2, signing.query_v2, signing.headers_oss2):
            run(section, version)
        for section in (forms.by_requests, forms.refusals, forms.by_curl):
            run(section, version)
        run(our_client.uploads, version)
        for section in (our_operations.objects, our_operations.parts, our_operations.buckets, our_operations.presigned,
                        our_operations.forms, our_operations.signed_by_the_sdk):
            run(section, version)
        run(our_operations.presigned, version, STS[2])
        for sdk in ("v2", "oss2"):
            run(resume.resumable, sdk, version)
    run(sdk_v2.refusals)
    run(callbacks.all_cases)
    print(f"{support.passed} passed, {support.failed} failed")
    return 1 if support.failed else 0


if __name__ == "__main__":
    sys.exit(main())
