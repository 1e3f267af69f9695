#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

# Feeds made-up bytes to every reader of foreign bytes, with libFuzzer and the address sanitizer. Ends with 0 only if none of
# them crashed, took longer than 10 s, or more than 1 GiB.
#
# usage: run.sh SECONDS-A-READER [READER…]
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=$1
shift
work=.work/fuzz
toolchain=$(dirname "$(dirname "$(readlink -f "$(command -v swiftc)")")")
runtime=$(find "$toolchain/lib/clang" -name "libclang_rt.fuzzer_no_main-$(uname -m).a" | head -n 1)
[ -n "$runtime" ] || { echo "the Swift toolchain has no libFuzzer" >&2; exit 1; }

swift build -c release --scratch-path "$work/build" --product Fuzz -Xswiftc -DFUZZING -Xswiftc -sanitize=address \
    -Xswiftc -sanitize-coverage=edge,trace-cmp,inline-8bit-counters,pc-table -Xlinker "$runtime" -Xlinker -lstdc++

[ $# -gt 0 ] || set -- journal journalLines xml error headers
for reader in "$@"; do
    mkdir -p "$work/corpus/$reader" "$work/findings"
    # 100,000 levels: too large a seed to keep as a file.
    [ "$reader" != xml ] || awk 'BEGIN { for (i = 0; i < 100000; i++) printf "<a>" }' >"$work/corpus/xml/levels"
    echo "fuzz $reader for $seconds s"
    log=$work/$reader.log
    # Leaks are not looked for: Swift's own singletons count as such.
    ASAN_OPTIONS=detect_leaks=0 "$work/build/release/Fuzz" "$reader" -max_total_time="$seconds" -timeout=10 \
        -rss_limit_mb=1024 -max_len=300000 -artifact_prefix="$work/findings/$reader-" -print_final_stats=1 \
        "$work/corpus/$reader" "Tests/Fuzz/Seeds/$reader" >"$log" 2>&1 \
        || { tail -n 40 "$log" >&2; echo "fuzz $reader: FOUND SOMETHING, see $work/findings" >&2; exit 1; }
    sed -n 's/^stat::number_of_executed_units: */  inputs: /p; s/^stat::peak_rss_mb: */  peak MiB: /p' "$log"
done
echo "fuzz: nothing found"
