# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

"""Checks README, CONTRIBUTING and the documentation catalogs, and builds the catalogs.

usage: main.py FOLDER-OF-DEBUG-PROGRAMS FOLDER-FOR-THE-PAGES

A release build has to be there too: the README's lines of shell use it.
"""

import sys

import catalogs
import names
import shell
import support
import swift_code


def main():
    build, output = sys.argv[1:]
    found = support.swift_blocks()
    for check in (names.tests, names.promises, names.targets, names.links, names.commands, names.exit_codes, shell.steps):
        check()
    swift_code.compile_blocks(build, found)
    swift_code.read_manifests(found)
    swift_code.run_programs(build, found)
    shell.run_lines()
    catalogs.convert(build, output)
    if support.failures:
        print(f"{support.failures} failures", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
