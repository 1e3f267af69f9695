# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

"""What the texts name: tests, targets of make, files, and every public symbol."""

import json
import os
import re

from support import CONTRIBUTING, README, articles, blocks, fail, paths, read


def tests():
    """Each test that the README names is there, in the suite that it names."""
    suites = {}
    for path in paths("Tests/**/*.swift"):
        text = read(path)
        for suite in re.findall(r"(?:struct|enum|class|actor) (\w+Tests)\b", text):
            suites.setdefault(suite, set()).update(re.findall(r"func `([^`]+)`", text))
    count = 0
    for number, line in enumerate(read(README).splitlines(), 1):
        for suite, test in re.findall(r"`(?:\w+/)*(\w+Tests)`(?:: “([^”]+)”)?", line):
            count += 1
            if suite not in suites:
                fail(f"{README}:{number}", f"there is no suite {suite}")
            elif test and test not in suites[suite]:
                fail(f"{README}:{number}", f"{suite} has no test \"{test}\"")
    print(f"{count} names of tests in {README}")


def promises():
    """Each row of the README's tables whose last column is the test has one."""
    in_table = False
    for number, line in enumerate(read(README).splitlines(), 1):
        if not line.startswith("|"):
            in_table = False
        elif line.rstrip().endswith("| test |"):
            in_table = True
        elif in_table and not set(line) <= set("|- "):
            if not re.search(r"`(?:\w+/)*\w+Tests`: “|`make \w+`", line.rsplit("|", 2)[1]):
                fail(f"{README}:{number}", "this row names no test")


def targets():
    """Each `make` of the texts is a target."""
    known = set(re.findall(r"^([a-z]+):", read("Makefile"), re.MULTILINE))
    for path in [README, CONTRIBUTING] + articles():
        inside = {number for block in blocks(path) if block.language == "sh"
                  for number in range(block.line, block.line + len(block.text.splitlines()))}
        for number, line in enumerate(read(path).splitlines(), 1):
            commands = re.findall(r"`make ([^`]+)`", line)
            commands += re.findall(r"^make ([^#]+)", line) if number in inside else []
            for target in " ".join(commands).split():
                if "=" not in target and target not in known:
                    fail(f"{path}:{number}", f"make has no target {target}")


def links():
    """Each file that a text links to or names in `Sources/`, `Tests/` or `Examples/` is there."""
    for path in [README, CONTRIBUTING] + articles():
        for number, line in enumerate(read(path).splitlines(), 1):
            names = [os.path.normpath(os.path.join(os.path.dirname(path), name))
                     for name in re.findall(r"\]\(([^)#:]+)\)", line)]
            names += re.findall(r"`((?:Sources|Tests|Examples|Benchmarks)/[\w./+-]*)`", line)
            for name in names:
                if not paths(name.rstrip("/")):
                    fail(f"{path}:{number}", f"there is no {name}")


def commands():
    """Each command of the tool has a row in the README."""
    text = re.search(r"enum Command: String.*?\{\n((?: +case .*\n)+)", read("Sources/ossmp/Command.swift")).group(1)
    cases = [case for line in text.splitlines() for case in line.split("case ")[1].split(", ")]
    for name, raw in (re.match(r"(\w+)(?: = \"([\w-]+)\")?", case).groups() for case in cases):
        if f"| `ossmp {raw or name} " not in read(README):
            fail(README, f"no row tells of ossmp {raw or name}")


def exit_codes():
    """The exit code that the table of errors gives for each code is the one that the tool ends with."""
    text, page = read("Sources/ossmp/ExitCode.swift"), "Sources/OSSMultipart/Documentation.docc/Errors.md"
    numbers = dict(re.findall(r"case (\w+) = (\d+)", text))
    codes = {code: numbers[name] for names, name in re.findall(r"case (\.[\w., ]+): \.(\w+)", text)
             for code in names.replace(".", "").split(", ")}
    for number, line in enumerate(read(page).splitlines(), 1):
        row = re.match(r"\| ``OSSError/Code/(\w+)`` \|.*\| (\d+) \|$", line)
        if row and codes.get(row.group(1), numbers["failed"]) != row.group(2):
            fail(f"{page}:{number}", f"the tool ends with {codes.get(row.group(1), numbers['failed'])}")


def symbols(module, graphs, catalog):
    """Each public type of a module, and each method of its client, is in a list of its catalog; each code in the table."""
    with open(os.path.join(graphs, f"{module}.symbols.json"), encoding="utf-8") as file:
        graph = json.load(file)
    listed = set()
    for path in paths(f"{catalog}/*.md"):
        listed.update(re.findall(r"^- ``([^`]+)``", read(path), re.MULTILINE))
    for symbol in graph["symbols"]:
        components = symbol["pathComponents"]
        name = "/".join(components)
        if len(components) == 1 or components[0] == "OSSClient" and len(components) == 2:
            if name not in listed:
                fail(catalog, f"no list has the public symbol {name}")
        if components[:2] == ["OSSError", "Code"] and symbol["kind"]["identifier"] == "swift.type.property":
            if f"``OSSError/Code/{components[2]}``" not in read(f"{catalog}/Errors.md"):
                fail(f"{catalog}/Errors.md", f"the table has no row for {components[2]}")
