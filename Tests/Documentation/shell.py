# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

"""Every line of shell in the README, run from its first to its last in one bash, as a reader would."""

import os
import re
import shlex
import signal
import subprocess
import tempfile

from support import README, ROOT, blocks, environment, fail, read

# A reader's tests, for the line that runs them: they store an object, and say where.
TESTS = """#!/usr/bin/env bash
printf data >data.txt
ossmp cp data.txt oss://media/data.txt --json --quiet && echo "tests ran against $OSS_ENDPOINT"
"""


def run_lines():
    """Runs them in a folder with a copy of the build and what they speak of; each has to end with 0, or as it says."""
    script, count = ["bad=0", 'report() { [ "$1" = "$2" ] || { echo "$3: exit code $1, not $2" >&2; bad=1; }; }'], 0
    for block in blocks(README):
        if block.language != "sh":
            continue
        for offset, line in enumerate(block.text.splitlines()):
            # The targets of make are steps of their own.
            if not line.strip() or re.match(r"make |#", line):
                continue
            expected = re.search(r"#.*exit code (\d+)", line)
            place = f"{README}:{block.line + offset}"
            script += [line, f"report $? {expected.group(1) if expected else 0} {shlex.quote(place)}"]
            count += 1
    script.append("exit $bad")
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder)
        variables = environment(HOME=folder)
        variables["PATH"] = os.pathsep.join([os.path.join(folder, "bin"), variables["PATH"]])
        with open(os.path.join(folder, "output"), "w+", encoding="utf-8") as output:
            bash = subprocess.Popen(["bash", "-c", "\n".join(script)], cwd=folder, env=variables, stdin=subprocess.DEVNULL,
                                    stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                status = bash.wait(timeout=120)
            except subprocess.TimeoutExpired:
                status = "time-out"
            finally:
                # What the lines have left running goes with them.
                try:
                    os.killpg(bash.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            output.seek(0)
            said = output.read()
    places = re.findall(rf"^({re.escape(README)}:\d+): (exit code .*)$", said, re.MULTILINE)
    for place, message in places:
        fail(place, message)
    if status != 0:
        fail(README, f"the lines of shell ended with {status}:\n{said}")
    # What the lines are there to show.
    for sign in ("going on: ", "tests ran against http://127.0.0.1:"):
        if sign not in said:
            fail(README, f"the lines of shell never said \"{sign}\":\n{said}")
    print(f"{count} lines of shell run")


def prepare(folder):
    """Makes the build, a folder of films, the tests, and the rules that the README shows as JSON."""
    os.symlink(os.path.join(ROOT, ".build"), os.path.join(folder, ".build"))
    os.makedirs(os.path.join(folder, "films", "old"))
    for name in ("a.mp4", "b.mp4", "old/c.mp4"):
        with open(os.path.join(folder, "films", name), "wb") as file:
            file.write(os.urandom(200_000))
    os.mkdir(os.path.join(folder, "bin"))
    with open(os.path.join(folder, "bin", "pytest"), "w", encoding="utf-8") as file:
        file.write(TESTS)
    os.chmod(file.name, 0o755)
    for block in blocks(README):
        if block.language == "json":
            with open(os.path.join(folder, "faults.json"), "w", encoding="utf-8") as file:
                file.write(block.text)


def steps():
    """Each `make` of the README's lines is a step of continuous integration, and so runs as it stands."""
    known = set(re.findall(r"^step (\w+)$", read(".ci/run"), re.MULTILINE)) | {"release", "build"}
    for block in blocks(README):
        for offset, line in enumerate(block.text.splitlines()):
            found = re.match(r"make ([\w ]+)", line) if block.language == "sh" else None
            for target in found.group(1).split() if found else []:
                if target not in known:
                    fail(f"{README}:{block.line + offset}", f"no step of .ci/run is make {target}")
