# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

"""The documentation catalogs, built with docc from what the compiler knows of the modules; a warning is a failure."""

import os
import re
import shutil
import subprocess

from names import symbols
from support import ROOT, fail, paths
from swift_code import importing


def convert(build, output):
    """Builds each catalog into a folder of its module's name."""
    shutil.rmtree(output, ignore_errors=True)
    for catalog in paths("Sources/*/Documentation.docc"):
        module = os.path.basename(os.path.dirname(catalog))
        graphs = os.path.join(output, "graphs", module)
        os.makedirs(graphs)
        target = subprocess.run(["swiftc", "-print-target-info"], check=True, capture_output=True, text=True).stdout
        triple = re.search(r'"unversionedTriple": "([^"]+)"', target).group(1)
        if not call(catalog, ["swift", "symbolgraph-extract", "-module-name", module, *importing(build), "-target", triple,
                              "-minimum-access-level", "public", "-skip-synthesized-members", "-output-dir", graphs]):
            continue
        # Extensions of other modules' types are no pages of this one.
        for name in os.listdir(graphs):
            if "@" in name:
                os.remove(os.path.join(graphs, name))
        call(catalog, ["docc", "convert", catalog, "--additional-symbol-graph-dir", graphs,
                       "--output-path", os.path.join(output, module), "--fallback-display-name", module,
                       "--fallback-bundle-identifier", module, "--warnings-as-errors"])
        symbols(module, graphs, catalog)
        print(f"{module} documented in {os.path.relpath(os.path.join(output, module), ROOT)}")


def call(catalog, command):
    """Runs a tool that has to end with 0 and to say nothing."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    said = (done.stdout + done.stderr).strip()
    if done.returncode != 0 or said:
        fail(catalog, f"{command[0]} ended with {done.returncode}:\n{said}")
    return done.returncode == 0
