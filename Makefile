# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: swift-oss-multipart authors

# Everything a developer does, without questions asked. `make demo` and `make test` are where to begin.

SHELL := /bin/bash
SWIFT ?= swift
# A release build that carries Swift's standard library with it: it starts faster and takes less memory. Its relocations are
# packed where the C library can read that (glibc 2.36), which saves a mebibyte; what an upload uses lies side by side, which
# saves three.
PACKED := $(shell printf '2.36\n%s\n' "$$(getconf GNU_LIBC_VERSION | cut -d' ' -f2)" | sort -VC && echo yes)
ORDER := Benchmarks/hot-functions.txt
RELEASE := -c release --static-swift-stdlib -Xswiftc -Xclang-linker -Xswiftc -fuse-ld=lld \
    -Xswiftc -Xfrontend -Xswiftc -function-sections -Xlinker --symbol-ordering-file=$(ORDER) \
    -Xlinker --no-warn-symbol-ordering $(if $(PACKED),-Xlinker -z -Xlinker pack-relative-relocs)

PACKAGES := libssl-dev libcurl4-openssl-dev libisal-dev libmicrohttpd-dev libexpat1-dev pkg-config curl python3-venv
LIBRARIES := libcrypto libcurl libisal libmicrohttpd expat

.PHONY: all deps build release test demo examples docs lint format man interop fuzz soak bench order clean

all: build

# Installs what is missing with apt-get; does nothing where all is there.
deps:
	@if command -v pkg-config curl >/dev/null && pkg-config --exists $(LIBRARIES) \
	    && python3 -c 'import ensurepip, venv' 2>/dev/null; then \
	    echo "all dependencies are installed"; \
	else \
	    set -e; \
	    if [ "$$(id -u)" = 0 ]; then as_root=; else as_root=sudo; fi; \
	    $$as_root apt-get update -qq; \
	    DEBIAN_FRONTEND=noninteractive $$as_root apt-get install -y -qq $(PACKAGES); \
	fi

build: deps
	$(SWIFT) build

release: deps
	$(SWIFT) build $(RELEASE) --product ossmp
	$(SWIFT) build $(RELEASE) --product oss-local-server

# One set of tests after the other: all at once they are so many that those of time-outs wait for their turn too long.
test: deps
	$(SWIFT) build --build-tests
	@set -e; for tests in SystemIOTests OSSWireTests CurlTransportTests OSSLocalServerTests OSSMultipartTests OSSMPTests; do \
	    $(SWIFT) test --skip-build --filter "^$$tests\."; \
	done

# The main job, seen: upload, kill half-way, resume, compare.
demo: release
	bash Examples/demo.sh "$$($(SWIFT) build $(RELEASE) --show-bin-path)"

# Every example, each against a local server of its own.
examples: build
	bash Examples/run.sh "$$($(SWIFT) build --show-bin-path)"

# The documentation into .work/docs, without a warning; every block of Swift in it compiled, every program and every line of
# shell in the README run, every test that it names looked for.
docs: build release
	python3 -B Tests/Documentation/main.py "$$($(SWIFT) build --show-bin-path)" .work/docs

lint:
	$(SWIFT) format lint --strict --recursive Sources Tests Benchmarks Examples Package.swift

format:
	$(SWIFT) format --in-place --recursive Sources Tests Benchmarks Examples Package.swift

# The tool's manual page, made of the tables that its parser and its help texts read.
man: build
	"$$($(SWIFT) build --show-bin-path)/ossmp" help --man > .build/ossmp.1

# The official Python SDKs as clients of the local server.
interop: build
	bash Tests/Interop/run.sh "$$($(SWIFT) build --show-bin-path)"

# Made-up bytes for every reader of foreign bytes; FUZZ_SECONDS each.
FUZZ_SECONDS ?= 20
fuzz: deps
	bash Tests/Fuzz/run.sh $(FUZZ_SECONDS)

# Many uploads, killed and hurt at random; SOAK_SEED repeats one that failed.
SOAK_UPLOADS ?= 200
soak: deps
	SOAK_UPLOADS=$(SOAK_UPLOADS) $(SWIFT) test --filter SoakTests

# The list of functions that the linker puts side by side, made anew; wants valgrind.
order: release
	@set -e; bin=$$($(SWIFT) build $(RELEASE) --show-bin-path); python3 -B Benchmarks/order.py "$$bin" .work/bench; \
	rm "$$bin/ossmp" # so that the next build links it anew

# Ours against the floor, in turns; BENCH_ROUNDS rounds of the cases whose names BENCH_CASES matches.
bench: release
	$(SWIFT) build $(RELEASE) --product bench-driver
	python3 Benchmarks/run.py "$$($(SWIFT) build $(RELEASE) --show-bin-path)" .work/bench

clean:
	rm -rf .build .work
