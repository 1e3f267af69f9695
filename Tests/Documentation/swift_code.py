# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

"""The blocks of Swift: lines are compiled, programs also run against a local server, manifests read by SwiftPM."""

import filecmp
import os
import re
import shlex
import subprocess
import tempfile
import urllib.request

from support import ACCOUNT, ROOT, absolute, environment, fail, local_server, paths

C_LIBRARIES = ["libcrypto", "libcurl", "libisal", "expat", "libmicrohttpd"]
MODULES = ["OSSMultipart", "OSSMultipartFoundation", "OSSLocalServer", "CurlTransport", "OSSWire", "SystemIO"]
SIZE = 20 * 1024 * 1024


def importing(build):
    """What the compiler needs to find the modules that were built, and the C modules beneath them."""
    flags = ["-I", os.path.join(build, "Modules")]
    for path in paths("Sources/*/module.modulemap"):
        flags += ["-Xcc", f"-fmodule-map-file={absolute(path)}"]
    command = ["pkg-config", "--cflags", *C_LIBRARIES]
    for flag in shlex.split(subprocess.run(command, check=True, capture_output=True, text=True).stdout):
        flags += ["-Xcc", flag]
    return flags


def compile_blocks(build, found):
    """Compiles every block as a user of the package would, warnings as errors, and tells of errors at the block's own lines."""
    strict = ["swiftc", "-swift-version", "6", "-warnings-as-errors", *importing(build)]
    lines = [block for block in found if block.kind == "lines"]
    with tempfile.TemporaryDirectory() as folder:
        files = [absolute("Tests/Documentation/Preamble.swift")]
        for index, block in enumerate(lines):
            files.append(os.path.join(folder, f"block{index}.swift"))
            with open(files[-1], "w", encoding="utf-8") as file:
                file.write(wrapped(block, index))
        judge(strict + ["-typecheck", "-parse-as-library", "-module-name", "Blocks", *files])
        for block in found:
            if block.kind == "program":
                judge(strict + ["-typecheck", main_file(block, folder)])
    print(f"{len(lines)} blocks of lines compiled")


def wrapped(block, index):
    """The block as the body of a function, every name that it declares used once more, so that unused ones are no warnings."""
    names = re.findall(r"^(?:let|var) (\w+)", block.text, re.MULTILINE)
    imports = "import FoundationEssentials\nimport OSSLocalServer\nimport OSSMultipart\n"
    return (f"{imports}func block{index}() async throws {{\n{located(block)}\n#sourceLocation()\n"
            + "".join(f"_ = {name}\n" for name in names) + "}\n")


def located(block):
    """The block's text, for the compiler at the place where it stands in the page."""
    return f"#sourceLocation(file: \"{block.path}\", line: {block.line})\n{block.text}"


def main_file(block, folder):
    """Writes a program's main.swift."""
    path = os.path.join(folder, "main.swift")
    with open(path, "w", encoding="utf-8") as file:
        file.write(located(block) + "\n")
    return path


def judge(command):
    """Runs the compiler; each of its errors and warnings is a failure at its place."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    found = re.findall(r"^(\S+:\d+):\d+: (error: .*|warning: .*)$", done.stderr, re.MULTILINE)
    for place, message in dict.fromkeys(found):
        fail(place, message)
    if done.returncode != 0 and not found:
        fail("swiftc", done.stderr)
    return done.returncode == 0


def run_programs(build, found):
    """Builds each whole program and runs it in a folder with film.mp4 in it; what it says that it stores is stored."""
    objects = [path for module in MODULES for path in sorted(
        os.path.join(build, f"{module}.build", name) for name in os.listdir(os.path.join(build, f"{module}.build"))
        if name.endswith(".o"))]
    programs = [block for block in found if block.kind == "program"]
    for block in programs:
        with tempfile.TemporaryDirectory() as folder:
            program, film = os.path.join(folder, "program"), os.path.join(folder, "film.mp4")
            if not judge(["swiftc", "-swift-version", "6", *importing(build), main_file(block, folder), *objects, "-o", program]):
                continue
            with open(film, "wb") as file:
                file.write(os.urandom(SIZE))
            with local_server(build, "--bucket", "media") as endpoint:
                variables = environment(OSS_ENDPOINT=endpoint, HOME=folder, **ACCOUNT)
                done = subprocess.run([program], cwd=folder, env=variables, capture_output=True, text=True, timeout=60)
                if done.returncode != 0:
                    fail(block.place, f"the program ended with {done.returncode}: {done.stdout}{done.stderr}")
                elif "OSS_ENDPOINT" in block.text:
                    back = os.path.join(folder, "back")
                    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
                    with opener.open(f"{endpoint}/media/v/film.mp4") as reply, open(back, "wb") as file:
                        file.write(reply.read())
                    if not filecmp.cmp(film, back, shallow=False):
                        fail(block.place, "what the program stored is not the file")
    print(f"{len(programs)} programs run")


def read_manifests(found):
    """Each manifest is one that SwiftPM resolves beside a copy of this repository, and names products that there are."""
    manifests = [block for block in found if block.kind == "manifest"]
    for block in manifests:
        with tempfile.TemporaryDirectory() as folder:
            package = os.path.join(folder, "upload")
            os.makedirs(os.path.join(package, "Sources", "upload"))
            os.symlink(ROOT, os.path.join(folder, "swift-oss-multipart"))
            with open(os.path.join(package, "Package.swift"), "w", encoding="utf-8") as file:
                file.write(block.text + "\n")
            with open(os.path.join(package, "Sources", "upload", "main.swift"), "w", encoding="utf-8") as file:
                file.write("\n")
            done = subprocess.run(["swift", "package", "--package-path", package, "describe"], capture_output=True, text=True)
            products = set(re.findall(r'\.library\(name: "(\w+)"', open(absolute("Package.swift"), encoding="utf-8").read()))
            named = set(re.findall(r'\.product\(name: "(\w+)"', block.text))
            if done.returncode != 0:
                fail(block.place, f"SwiftPM does not take this manifest: {done.stderr}")
            elif not named or not named <= products:
                fail(block.place, f"of the products {sorted(named)} some are not there")
    print(f"{len(manifests)} manifests read")
