#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

# Runs every example, says in one line how each ended, and stops at the first that failed, with what it said. They run against
# local servers of their own, or against OSS_ENDPOINT where it is set.
#
# usage: run.sh FOLDER-OF-PROGRAMS
set -euo pipefail
cd "$(dirname "$0")"

programs=$1
# The examples are the folders with a main.swift; MultipartByHand is the program example-multipart-by-hand.
for main in */main.swift; do
    name=example$(sed -E 's/([A-Z])/-\L\1/g' <<<"${main%/main.swift}")
    status=0
    output=$("$programs/$name" 2>&1) || status=$?
    if [ "$status" != 0 ]; then
        printf '%s: FAILED with exit code %d\n%s\n' "$name" "$status" "$output" >&2
        exit 1
    fi
    printf '%s: %s\n' "$name" "${output##*$'\n'}"
done
