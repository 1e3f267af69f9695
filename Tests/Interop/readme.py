# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

"""The README's line of shell, with a stand-in for the tests that it runs."""

import os
import re
import subprocess
import sys

from support import BIN, SCRATCH, check

TESTS = """#!{python}
import os
import oss2
auth = oss2.make_auth("test-access-key-id", "test-access-key-secret", "v4")
bucket = oss2.Bucket(auth, os.environ["OSS_ENDPOINT"], "media", region="cn-hangzhou")
bucket.put_object("k", b"data")
print(bucket.get_object("k").read().decode(), os.environ["OSS_ENDPOINT"])
"""


def shell_line():
    readme = os.path.join(os.path.dirname(__file__), "..", "..", "README.md")
    with open(readme, encoding="utf-8") as file:
        line = re.search(r"^read -r .*$", file.read(), re.MULTILINE).group()
    folder = os.path.join(SCRATCH, "bin")
    os.mkdir(folder)
    with open(os.path.join(folder, "pytest"), "w", encoding="utf-8") as file:
        file.write(TESTS.format(python=sys.executable))
    os.chmod(os.path.join(folder, "pytest"), 0o755)
    path = os.pathsep.join([folder, BIN, os.environ["PATH"]])
    # Its end is seen by that of its output, which the server holds open for as long as it runs.
    done = subprocess.run(["bash", "-c", line], env={**os.environ, "PATH": path, "OSS_ENDPOINT": ""},
                          capture_output=True, text=True, timeout=60)
    words = done.stdout.split()
    check("shell line", (words[:1], done.stderr, done.returncode), (["data"], "", 0))
    check("endpoint", words[1:2] != [os.environ["OSS_ENDPOINT"]] and len(words) == 2, True)
