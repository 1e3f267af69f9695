#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

# Uploads a file of 256 MiB to a local server, kills the upload half-way with SIGKILL, runs it again, and shows that only the
# missing parts were sent and that the object is the file. Ends with 0 only if all of it held.
#
# usage: demo.sh FOLDER-OF-PROGRAMS
set -euo pipefail

programs=$1
size_mib=256
part_mib=4
parts=$((size_mib / part_mib))
half=$((parts / 2))

work=$(mktemp -d)
server=
cleanup() {
    if [ -n "$server" ]; then kill "$server" 2>/dev/null && wait "$server" 2>/dev/null || true; fi
    rm -rf "$work"
}
trap cleanup EXIT
fail() {
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}

"$programs/oss-local-server" --dir "$work/server" --bucket media --anonymous >"$work/server.log" 2>&1 &
server=$!
for _ in $(seq 100); do
    endpoint=$(sed -n 's/^listening on //p' "$work/server.log")
    [ -n "$endpoint" ] && break
    sleep 0.1
done
[ -n "$endpoint" ] || fail "the local server did not start: $(cat "$work/server.log")"
echo "local server: $endpoint"

export OSS_ENDPOINT=$endpoint OSS_REGION=cn-hangzhou
export OSS_ACCESS_KEY_ID=test-access-key-id OSS_ACCESS_KEY_SECRET=test-access-key-secret

head -c $((size_mib * 1024 * 1024)) /dev/urandom >"$work/film.bin"
upload=("$programs/ossmp" cp "$work/film.bin" oss://media/film.bin
    --checkpoint-dir "$work/checkpoints" --part-size "${part_mib}MiB" --parallel 2)

echo "first run: uploading $size_mib MiB in $parts parts, to be killed at part $half"
# There before it is looked into, however late the upload begins.
: >"$work/first.log"
"${upload[@]}" --verbose >"$work/first.log" 2>&1 &
first=$!
stored() { grep -c 'is stored$' "$work/first.log" || true; }
while kill -0 "$first" 2>/dev/null && [ "$(stored)" -lt "$half" ]; do sleep 0.01; done
kill -9 "$first" 2>/dev/null || fail "the first run ended before it could be killed: $(tail -n 3 "$work/first.log")"
wait "$first" 2>/dev/null && fail "the first run was not killed"
sent_first=$(stored)
[ "$(ls "$work/checkpoints" | grep -c '\.journal$')" = 1 ] || fail "the killed run left no checkpoint"

echo "second run: the same command"
"${upload[@]}" --json >"$work/second.json" 2>"$work/second.log" || fail "the second run failed: $(cat "$work/second.log")"
value() { sed -E "s/.*\"$1\":\"?([^,\"}]*).*/\1/" "$work/second.json"; }
sent_second=$(value partsSent)
resumed=$(value partsResumed)
seconds=$(value seconds)
bytes=$(value bytesSent)

# At most the two parts in flight at the kill may be stored without our log having said so, or sent again.
[ $((sent_second + resumed)) = "$parts" ] || fail "the second run speaks of $sent_second and $resumed parts, not of $parts"
[ "$resumed" -ge "$sent_first" ] || fail "only $resumed of the $sent_first stored parts were gone on with"
[ "$sent_second" -gt 0 ] || fail "nothing was left to send"
[ "$(value proof)" = crc64 ] || fail "the object was not proven by its CRC-64"
[ -z "$(ls -A "$work/checkpoints")" ] || fail "a checkpoint was left behind"
[ -z "$("$programs/ossmp" ls-uploads oss://media)" ] || fail "an open upload was left behind"

curl --silent --show-error --fail --noproxy '*' --output "$work/back.bin" "$endpoint/media/film.bin"
sum() { sha256sum "$1" | cut -d ' ' -f 1; }
[ "$(sum "$work/film.bin")" = "$(sum "$work/back.bin")" ] || fail "the object is not the file"

rate=$(awk -v bytes="$bytes" -v seconds="$seconds" 'BEGIN { printf "%.1f", bytes / 1048576 / (seconds > 0 ? seconds : 1) }')
cat <<TEXT

  parts of the file               $parts
  stored before the kill          $sent_first
  gone on with by the second run  $resumed
  sent by the second run          $sent_second, $((bytes / 1048576)) MiB in $seconds s ($rate MiB/s)
  SHA-256 of file and object      equal
  proof                           $(value proof)

The upload was killed half-way, went on where it broke, and the object is the file.
TEXT
