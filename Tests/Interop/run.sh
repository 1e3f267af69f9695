#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

# Runs the official Python SDKs against oss-local-server: run.sh BIN_DIR
#
# The SDKs are installed once, into .work/interop. Everything is on the loopback interface, and all that is begun here ends
# with it. The last line is "N passed, N failed"; exit status 0 where nothing failed.
set -euo pipefail

bin=$(cd "${1:?usage: run.sh BIN_DIR}" && pwd)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(cd "$here/../.." && pwd)/.work/interop

# Installing needs the network, and perhaps a proxy; nothing else does.
if ! cmp -s "$here/requirements.txt" "$work/installed.txt"; then
    rm -rf "$work"
    mkdir -p "$work"
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$work/installed.txt"
fi
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY

scratch=$(mktemp -d)
server=
scripts=
# Each job gets a process group of its own, so that what it has begun ends with it.
set -m
finish() {
    for job in $scripts $server; do
        kill -- "-$job" 2>/dev/null || true
        wait "$job" 2>/dev/null || true
    done
    rm -rf "$scratch"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

"$bin/oss-local-server" --dir "$scratch/data" --no-sync --account "sts-id:sts-secret:sts/token+with=signs" \
    --request-log "$scratch/requests.jsonl" >"$scratch/server.out" 2>"$scratch/server.err" &
server=$!
for _ in $(seq 300); do
    grep -q '^listening on ' "$scratch/server.out" && break
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
done
endpoint=$(sed -n 's/^listening on //p' "$scratch/server.out")
if [ -z "$endpoint" ]; then
    echo "oss-local-server did not start:" >&2
    cat "$scratch/server.err" >&2
    exit 1
fi

status=0
OSS_ENDPOINT=$endpoint OSS_SCRATCH=$scratch OSS_BIN=$bin \
    PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore \
    "$work/venv/bin/python" "$here/main.py" &
scripts=$!
wait "$scripts" || status=$?
scripts=
if ! kill -0 "$server" 2>/dev/null; then
    echo "oss-local-server ended before it was told to:" >&2
    cat "$scratch/server.err" >&2
    status=1
fi
exit "$status"
