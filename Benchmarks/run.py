#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

"""Runs the benchmarks and prints every round, the medians, the ratios and the bars.

    run.py BIN WORK

BIN is the folder of the release build (ossmp, bench-driver), WORK a folder for data, programs in C and results.

Ours and the floor take turns, the first of a round being the last of the next one. What counts is the ratio of the medians
of all rounds; no round is left out or repeated. CPU time is user and system time of the client alone. Peak memory is the
kernel's mark of the whole process. Variables: BENCH_ROUNDS (7), BENCH_CASES (a pattern of case names).
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
BIN, WORK = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "7"))
CASES = re.compile(os.environ.get("BENCH_CASES", "."))
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
CHECKPOINTS = f"{WORK}/checkpoints"
ENVIRONMENT = {
    "PATH": os.environ["PATH"], "HOME": WORK, "OSS_ACCESS_KEY_ID": "bench-id", "OSS_ACCESS_KEY_SECRET": "bench-secret",
    "OSS_REGION": "cn-hangzhou", "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
}


# Programs and data


def compile_all():
    libraries = {"floor/floor": ["-lcurl", "-lcrypto", "-lisal", "-lpthread"], "sink/sink": ["-lssl", "-lcrypto"],
                 "floor/measure": []}
    for name, flags in libraries.items():
        subprocess.run(
            ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", f"{WORK}/{os.path.basename(name)}", f"{HERE}/{name}.c",
             *flags], check=True)


def data(name, size, sparse=False):
    """A file of that size, made once: of random bytes, or of none."""
    path = f"{WORK}/{name}"
    if os.path.exists(path) and os.path.getsize(path) == size:
        return path
    with open(path, "wb") as file:
        if sparse:
            file.truncate(size)
        else:
            for start in range(0, size, MIB):
                file.write(os.urandom(min(MIB, size - start)))
    # The watch over the source would see a change that the clock has not got over yet.
    time.sleep(0.05)
    return path


def small_files(count, size):
    folder = f"{WORK}/small"
    if not os.path.isdir(folder) or len(os.listdir(folder)) != count:
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        for number in range(count):
            with open(f"{folder}/{number:04}", "wb") as file:
                file.write(os.urandom(size))
    return folder


def certificate():
    cert, key = f"{WORK}/cert.pem", f"{WORK}/key.pem"
    if not os.path.exists(cert):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
             "3650", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
            check=True, capture_output=True)
    return cert, key


class Sink:
    """The server of one case; ends with the block."""

    def __init__(self, *options):
        self.options = options

    def __enter__(self):
        self.process = subprocess.Popen(
            [f"{WORK}/sink", *map(str, self.options)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        port = self.process.stdout.readline().strip()
        self.url = f"{'https' if '--tls' in self.options else 'http'}://127.0.0.1:{port}"
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def ask(self, path):
        with urllib.request.urlopen(f"{self.url}{path}") as reply:
            return reply.read().decode()

    def counts(self):
        return json.loads(self.ask("/-/counts"))


# One run


def run(command, check=True):
    """Runs a command and returns what it took."""
    report, output = f"{WORK}/report.json", f"{WORK}/output.txt"
    with open(output, "w") as file:
        status = subprocess.run(
            [f"{WORK}/measure", report, *command], env=ENVIRONMENT, stdout=file, stderr=subprocess.STDOUT).returncode
    with open(output) as file:
        text = file.read()
    if check and status != 0:
        sys.exit(f"{' '.join(command)}\nended with {status}:\n{text}")
    with open(report) as file:
        figures = json.load(file)
    figures["cpu"] = figures["user"] + figures["sys"]
    figures["peakMiB"] = figures.pop("peakKiB") / 1024
    for line in text.splitlines():
        if line.startswith('{"cancelToQuiet"'):
            figures.update(json.loads(line))
    return figures


def system_calls(command):
    """How many system calls the command makes; nothing where there is no strace."""
    if not shutil.which("strace"):
        return None
    table = f"{WORK}/strace.txt"
    subprocess.run(["strace", "-f", "-c", "-o", table, *command], env=ENVIRONMENT, capture_output=True)
    with open(table) as file:
        total = [line.split() for line in file if line.rstrip().endswith("total")]
    # The columns are the share, seconds, microseconds a call, calls, errors.
    return int(total[0][3]) if total else None


def clear():
    shutil.rmtree(CHECKPOINTS, ignore_errors=True)


def ossmp(sink, path, *options, address="oss://bench/object"):
    return [f"{BIN}/ossmp", "cp", path, address, "--endpoint", sink.url, "--proxy", "", "--quiet",
            *([] if "--no-checkpoint" in options else ["--checkpoint-dir", CHECKPOINTS]), *map(str, options)]


def driver(command, sink, path, *options):
    return [f"{BIN}/bench-driver", command, sink.url, path, *map(str, options)]


def floor(sink, path, *options):
    return [f"{WORK}/floor", "--endpoint", sink.url, "--file", path, *map(str, options)]


# Cases


class Case:
    """Contenders that take turns; the one called `floor` is what the others are compared with."""

    all = []

    def __init__(self, name, what, contenders, bars=None, rounds=None, sink=(), before=None, counts_calls=True):
        self.name, self.what, self.contenders, self.bars = name, what, contenders, bars or {}
        self.rounds, self.sink, self.before, self.counts_calls = rounds or ROUNDS, sink, before, counts_calls
        Case.all.append(self)

    def run(self):
        print(f"\n## {self.name}: {self.what}", flush=True)
        rounds = {name: [] for name in self.contenders}
        calls = {}
        with Sink(*self.sink) as sink:
            commands = {name: make(sink) for name, make in self.contenders.items()}
            for number in range(self.rounds):
                order = list(commands.items())
                for name, command in order if number % 2 == 0 else reversed(order):
                    clear()
                    if self.before:
                        self.before(sink, command)
                    sink.ask("/-/reset") if "--tls" not in self.sink else None
                    figures = run(command)
                    if "--tls" not in self.sink:
                        figures["requests"] = sink.counts()
                    rounds[name].append(figures)
                    print(
                        f"  round {number + 1} {name:14} wall {figures['wall']:7.3f} s  CPU {figures['cpu']:7.3f} s  "
                        f"peak {figures['peakMiB']:5.1f} MiB", flush=True)
            if self.counts_calls:
                for name, command in commands.items():
                    clear()
                    if self.before:
                        self.before(sink, command)
                    calls[name] = system_calls(command)
        clear()
        return self.sum_up(rounds, calls)

    def sum_up(self, rounds, calls):
        medians = {}
        for name, list_of in rounds.items():
            keys = [key for key, value in list_of[0].items() if isinstance(value, (int, float))]
            medians[name] = {key: statistics.median(one[key] for one in list_of) for key in keys}
            medians[name]["peakMiB"] = max(one["peakMiB"] for one in list_of)
            medians[name]["systemCalls"] = calls.get(name)
        reference = medians.get("floor")
        header = f"  {'median':14} {'wall s':>8} {'CPU s':>8} {'max MiB':>8} {'calls':>8} {'written':>10}"
        print(header + ("   wall and CPU against the floor" if reference else ""))
        for name, median in medians.items():
            line = (
                f"  {name:14} {median['wall']:8.3f} {median['cpu']:8.3f} {median['peakMiB']:8.1f} "
                f"{median['systemCalls'] if median['systemCalls'] is not None else '-':>8} {median['wchar']:>10.0f}")
            if reference and name != "floor":
                median["wallRatio"] = median["wall"] / reference["wall"]
                median["cpuRatio"] = median["cpu"] / reference["cpu"]
                line += f"   {median['wallRatio']:.2f} {median['cpuRatio']:.2f}"
            print(line)
        verdicts = []
        for label, (measure, limit) in self.bars.items():
            value = measure(medians, rounds)
            verdicts.append({"bar": label, "value": value, "limit": limit, "met": value <= limit})
            print(f"  {'met   ' if value <= limit else 'MISSED'} {label}: {value:.3f} (at most {limit})", flush=True)
        return {"case": self.name, "what": self.what, "rounds": rounds, "medians": medians, "bars": verdicts}


def ratio(name, key, limit):
    return (lambda medians, _: medians[name][key + "Ratio"]), limit


def peak(name, limit=28):
    return (lambda medians, _: medians[name]["peakMiB"]), limit


def requests(name, kind, limit):
    return (lambda _, rounds: max(one["requests"][kind] for one in rounds[name])), limit


def md5_seconds(size):
    """CPU seconds that OpenSSL takes for the MD5 of so many bytes, by `openssl speed`."""
    text = subprocess.run(
        ["openssl", "speed", "-seconds", "2", "-bytes", str(128 * KIB), "-mr", "md5"], check=True, capture_output=True,
        text=True).stdout
    speed = [line for line in text.splitlines() if line.startswith("+F:")][0].split(":")[-1]
    return size / float(speed)


def floor_bar(medians, _):
    """The floor's CPU time against what its work takes at least; OpenSSL's speed is measured next to it."""
    speeds = [md5_seconds(GIB) for _ in range(3)]
    return medians["floor"]["cpu"] / (statistics.median(speeds) + medians["floor, none"]["cpu"])


def define_cases():
    one = data("one.bin", GIB)
    parts = data("parts.bin", 10_000 * 100 * KIB)
    quarter = data("quarter.bin", 256 * MIB)
    cert, key = certificate()
    many = small_files(1000, 10 * KIB)

    def compared(mode, path=one, options=(), floor_options=(), size=8 * MIB, extra=()):
        return {
            "floor": lambda sink: floor(
                sink, path, "--part-size", size, "--integrity", mode, "--parallel", 4, *floor_options),
            "ossmp": lambda sink: ossmp(
                sink, path, "--part-size", size, "--integrity", mode, "--parallel", 4, *options),
            **dict(extra),
        }

    library = {
        "library": lambda sink: driver(
            "upload", sink, one, "--part-size", 8 * MIB, "--parallel", 4, "--checkpoint-dir", CHECKPOINTS)}
    no_digests = {"floor, none": lambda sink: floor(sink, one, "--integrity", "none", "--parallel", 4)}
    Case(
        "1GiB-md5+crc64", "1 GiB, parts of 8 MiB, 4 in flight", compared("md5+crc64", extra={**library, **no_digests}),
        {"CPU against the floor": ratio("ossmp", "cpu", 1.10), "wall against the floor": ratio("ossmp", "wall", 1.10),
         "peak MiB": peak("ossmp"), "the floor's own bar (CPU)": (floor_bar, 1.10)})
    Case(
        "1GiB-crc64", "the same, CRC-64 only", compared("crc64"),
        {"CPU against the floor": ratio("ossmp", "cpu", 1.25), "wall against the floor": ratio("ossmp", "wall", 1.25),
         "peak MiB": peak("ossmp")})
    Case("1GiB-none", "the same, no digests", compared("none"), {"peak MiB": peak("ossmp")})
    Case("1GiB-part", "1 GiB in one part", compared("md5+crc64", size=GIB), {"peak MiB": peak("ossmp")})
    Case(
        "16GiB-sparse", "16 GiB sparse, automatic part size, at most 3 rounds",
        {"ossmp": lambda sink: ossmp(sink, data("sparse.bin", 16 * GIB, sparse=True))},
        {"peak MiB": peak("ossmp")}, rounds=min(3, ROUNDS), counts_calls=False)
    Case(
        "10000-parts", "10,000 parts of 100 KiB, md5+crc64, checkpoint on; the floor keeps a record too",
        compared("md5+crc64", parts, size=100 * KIB, floor_options=("--record", f"{WORK}/record")),
        {"CPU against the floor": ratio("ossmp", "cpu", 1.30), "peak MiB": peak("ossmp"),
         "bytes written a part": ((lambda medians, _: medians["ossmp"]["wchar"] / 10_000), 256)})
    for parallel in [1, 4, 16]:
        Case(
            f"latency-{parallel}", f"256 MiB at 20 ms latency, {parallel} in flight",
            {"floor": lambda sink, parallel=parallel: floor(sink, quarter, "--parallel", parallel),
             "ossmp": lambda sink, parallel=parallel: ossmp(sink, quarter, "--parallel", parallel),
             "ossmp, default": lambda sink: ossmp(sink, quarter)},
            sink=("--latency", 20), counts_calls=False)
    window_case(data("four.bin", 4 * GIB, sparse=True))
    Case(
        "resume", "10,000 parts, one missing", {"ossmp": lambda sink: ossmp(sink, parts, "--part-size", 100 * KIB)},
        {"wall s": ((lambda medians, _: medians["ossmp"]["wall"]), 1.0),
         "ListParts": requests("ossmp", "ListParts", 11), "UploadPart": requests("ossmp", "UploadPart", 1),
         "CompleteMultipartUpload": requests("ossmp", "CompleteMultipartUpload", 1), "peak MiB": peak("ossmp")},
        sink=("--refuse-part", 10_000), before=break_last_part, counts_calls=False)
    Case(
        "1000-files", "1,000 files of 10 KiB: the queue, with its manifest; the library, 4 at a time, one client",
        {"ossmp -r": lambda sink: ossmp(sink, many, "-r", "--parallel", 4, address="oss://bench/small/"),
         "library": lambda sink: driver("many", sink, many, "--checkpoint-dir", CHECKPOINTS)},
        {"peak MiB": peak("ossmp -r"),
         "requests": requests("ossmp -r", "PutObject", 1000)})
    Case(
        "start", "a file of 10 KiB, from start to end: no less than from start to first byte",
        {"floor": lambda sink: floor(sink, f"{many}/0000", "--parallel", 1),
         "ossmp": lambda sink: ossmp(sink, f"{many}/0000", "--no-checkpoint")},
        {"wall s": ((lambda medians, _: medians["ossmp"]["wall"]), 0.030)})
    Case(
        "tls", "1 GiB, parts of 8 MiB, md5+crc64, TLS",
        compared("md5+crc64", options=("--ca-file", cert), floor_options=("--ca", cert)),
        {"CPU against the floor": ratio("ossmp", "cpu", 1.10), "peak MiB": peak("ossmp")}, sink=("--tls", cert, key),
        counts_calls=False)
    Case(
        "cancel", "from cancel to quiet, 16 in flight on slow connections",
        {"library": lambda sink: driver(
            "cancel", sink, one, "--parallel", 16, "--integrity", "crc64", "--checkpoint-dir", CHECKPOINTS)},
        {"worst seconds": ((lambda _, rounds: max(one["cancelToQuiet"] for one in rounds["library"])), 0.1)},
        sink=("--rate", 8 * MIB), counts_calls=False)


def window_case(path):
    """The adaptive window against fixed ones, where each connection and all of them together are slow.

    It begins with few parts in flight, so the file is so large that this beginning is what it is for large files.
    """
    sizes = [4, 8, 16]
    contenders = {
        f"fixed {size}": lambda sink, size=size: driver(
            "upload", sink, path, "--integrity", "crc64", "--parallel", size)
        for size in sizes}
    contenders["adaptive"] = lambda sink: driver("upload", sink, path, "--integrity", "crc64", "--adaptive", 16)

    def against_best(medians, _):
        return medians["adaptive"]["wall"] / min(medians[f"fixed {size}"]["wall"] for size in sizes)

    for name, what, rate, total in [
        ("window-capped-all", "4 GiB, 20 ms latency, 24 MiB/s a connection, 160 MiB/s in all", 24 * MIB, 160 * MIB),
        ("window-capped-each", "4 GiB, 20 ms latency, 24 MiB/s a connection", 24 * MIB, None),
    ]:
        options = ["--latency", 20, "--rate", rate] + (["--total-rate", total] if total else [])
        Case(
            name, what, contenders, {"adaptive against the best fixed number": (against_best, 1.10)}, sink=options,
            counts_calls=False, rounds=min(ROUNDS, 3))


def break_last_part(sink, command):
    """Lets an upload fail at its last part: what is measured is the run after it."""
    sink.ask("/-/reset")
    run(command, check=False)
    if sink.counts()["UploadPart"] != 10_000:
        sys.exit("the upload before the one to be measured did not send all parts")


def main():
    os.makedirs(WORK, exist_ok=True)
    compile_all()
    define_cases()
    results = [case.run() for case in Case.all if CASES.search(case.name)]
    path = f"{WORK}/results.json"
    with open(path, "w") as file:
        json.dump({"rounds": ROUNDS, "cases": results}, file, indent=1)
    print("\n## Bars\n")
    print("| case | bar | measured | at most | |\n| --- | --- | --- | --- | --- |")
    bars = [(result["case"], bar) for result in results for bar in result["bars"]]
    for name, bar in bars:
        print(f"| {name} | {bar['bar']} | {bar['value']:.3f} | {bar['limit']} | {'met' if bar['met'] else 'missed'} |")
    print(f"\nall figures: {path}")
    sys.exit(0 if all(bar["met"] for _, bar in bars) else 1)


if __name__ == "__main__":
    main()
