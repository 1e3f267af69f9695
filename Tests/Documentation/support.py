# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

"""What the checks of the documentation share: the texts, their blocks of code, and the count of failures."""

import contextlib
import glob
import os
import re
import select
import subprocess
import sys
from dataclasses import dataclass

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
README = "README.md"
CONTRIBUTING = ".github/CONTRIBUTING.md"
ACCOUNT = {"OSS_ACCESS_KEY_ID": "test-access-key-id", "OSS_ACCESS_KEY_SECRET": "test-access-key-secret"}

failures = 0


def fail(place, message):
    """Tells of a failure, with the file and the line where it is to be mended."""
    global failures
    failures += 1
    print(f"{place}: {message}", file=sys.stderr, flush=True)


def absolute(path):
    """A path of the repository on this machine."""
    return os.path.join(ROOT, path)


def read(path):
    """The text of a file of the repository."""
    with open(absolute(path), encoding="utf-8") as file:
        return file.read()


def paths(pattern):
    """The files of the repository that match, in order."""
    return sorted(os.path.relpath(path, ROOT) for path in glob.glob(absolute(pattern), recursive=True))


def articles():
    """The pages of the documentation catalogs."""
    return paths("Sources/*/Documentation.docc/*.md")


@dataclass(frozen=True)
class Block:
    """A fenced block of code."""

    path: str
    # Of its first line of code, from 1 on.
    line: int
    language: str
    text: str

    @property
    def place(self):
        return f"{self.path}:{self.line}"

    @property
    def kind(self):
        """What a block of Swift is: a package's manifest, a whole program, or lines out of one."""
        first = next((line for line in self.text.splitlines() if line.strip()), "")
        if first.startswith("// swift-tools-version"):
            return "manifest"
        return "program" if first.startswith("import ") else "lines"


def blocks(path):
    """The fenced blocks of a page, or of the documentation comments of a source file."""
    found, language, lines, start = [], None, [], 0
    mark = "///" if path.endswith(".swift") else ""
    for number, line in enumerate(read(path).splitlines(), 1):
        text = line.strip() if mark else line
        if mark:
            if not text.startswith(mark):
                language = None
                continue
            text = text[len(mark):].removeprefix(" ")
        fence = re.fullmatch(r"\s*```(\S*)\s*", text)
        if fence and language is None:
            language, lines, start = fence.group(1), [], number + 1
        elif fence:
            found.append(Block(path, start, language, "\n".join(lines)))
            language = None
        elif language is not None:
            lines.append(text)
    return found


def swift_blocks():
    """Every block of Swift that a user may copy."""
    pages = [README, CONTRIBUTING] + articles() + paths("Sources/**/*.swift")
    return [block for page in pages for block in blocks(page) if block.language == "swift"]


@contextlib.contextmanager
def local_server(programs, *options):
    """A local server that takes what the account of `ACCOUNT` signs, and serves everybody; gives its endpoint."""
    server = subprocess.Popen([os.path.join(programs, "oss-local-server"), "--anonymous", "--no-sync", *options],
                              stdout=subprocess.PIPE, text=True)
    try:
        select.select([server.stdout], [], [], 30)
        yield server.stdout.readline().removeprefix("listening on ").strip()
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()


def environment(**changes):
    """This process's environment without proxies and without what an earlier step may have set."""
    kept = {name: value for name, value in os.environ.items()
            if not name.lower().endswith("_proxy") and not name.startswith("OSS_")}
    return {**kept, **changes}
