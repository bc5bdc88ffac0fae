# Each target first installs what it needs. `make` alone lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

# Further arguments of the server: make run ARGS="--listen 127.0.0.1:9000"
ARGS ?=
# Embedded model of `make run` and `make bench`: small, standard, better, or auto (by the memory of this machine).
MODEL ?= auto
# Builds fail instead of changing Cargo.lock.
LOCKED ?= --locked

# What `GET /api/v1/governance/deploys` shows as the commit; a tree with changes is named as such.
COMMIT = $(shell git describe --always --abbrev=40 --dirty --exclude='*' 2>/dev/null)

TARGET := $(if $(CARGO_TARGET_DIR),$(CARGO_TARGET_DIR),target)
PYTHON := .venv/bin/python
# Tools in .venv and .tools take precedence over those of the machine.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
BENCHED := muster-store muster-limits muster-feed muster-network muster-gateway muster-tasks muster-memory muster-models muster-medical muster-policy muster-tlog
# Further arguments of the benchmarks: make bench BENCH_ARGS="--secs 5"
BENCH_ARGS ?=
# Duration of `make soak`, in minutes.
MINUTES ?= 10
# Duration of each test of `make fuzz`. Not SECONDS, which bash itself counts up: make hands it over from the command line.
FUZZ_SECONDS := $(if $(filter command line,$(origin SECONDS)),$(SECONDS),60)

.PHONY: help
help: ## list the targets
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/p' Makefile | expand -t 24

## Using it

.PHONY: run
run: ## build and start the server; prints its address, an API key and a call to try
	@echo "== 1 of 3: tools for the build"
	@$(MAKE) --no-print-directory setup-build
	@echo "== 2 of 3: embedded models"
	@$(MAKE) --no-print-directory models
	@echo "== 3 of 3: the server$$(test -x "$(TARGET)/local/muster" || echo ', the first time from nothing: some minutes')"
	@MUSTER_COMMIT="$(COMMIT)" cargo build --profile local $(LOCKED) --bin muster
	@exec "$(TARGET)/local/muster" serve $(ARGS)

.PHONY: release
release: setup-build ## build target/release/muster for production: optimised across crates, a much longer build
	@MUSTER_COMMIT="$(COMMIT)" cargo build --release $(LOCKED) --bin muster
	@echo "built $(TARGET)/release/muster"

.PHONY: models
models: setup-build ## fetch the embedded models into models-cache (MODEL=small|standard|better|auto, minilm, and those of media)
	@$(PYTHON) scripts/fetch_models.py $(MODEL) minilm media --dir models-cache

.PHONY: bench
bench: setup-build models ## run all benchmarks: limits, actors, store, embedded model, gateway, feed, tasks, memory, retrieval
	@for package in $(BENCHED); do \
	    echo "== $$package"; \
	    cargo bench --quiet $(LOCKED) --package "$$package" --bench '*'; \
	done
	@$(MAKE) --no-print-directory bench-gateway
	@$(MAKE) --no-print-directory bench-feed
	@$(MAKE) --no-print-directory bench-tasks
	@$(MAKE) --no-print-directory bench-memory
	@$(MAKE) --no-print-directory bench-retrieval
	@$(MAKE) --no-print-directory bench-medical
	@$(MAKE) --no-print-directory bench-engines
	@$(MAKE) --no-print-directory bench-governance
	@$(MAKE) --no-print-directory bench-media
	@$(MAKE) --no-print-directory bench-media-http

.PHONY: bench-gateway
bench-gateway: setup-build ## benchmark the gateway beside a bare relay and direct calls of the upstream
	@echo "== gateway"
	@cargo build --release --quiet $(LOCKED) --bin muster --example bare_relay
	@$(PYTHON) benches/gateway/run.py --target "$(TARGET)" $(BENCH_ARGS)

.PHONY: bench-feed
bench-feed: setup-build ## benchmark live connections beside a bare hub, at 100 to 10,000 connections
	@echo "== feed"
	@cargo build --release --quiet $(LOCKED) --no-default-features --example feed_server --example feed_load --example raw_hub
	@$(PYTHON) benches/feed/run.py --target "$(TARGET)" $(BENCH_ARGS)

.PHONY: bench-tasks
bench-tasks: setup-build ## benchmark durable tasks over HTTP, with and without watchers, and controls of 5,000 running tasks
	@echo "== tasks"
	@cargo build --release --quiet $(LOCKED) --bin muster --example task_load --example task_control
	@$(PYTHON) benches/tasks/run.py --target "$(TARGET)" $(BENCH_ARGS)

.PHONY: bench-memory
bench-memory: setup-build ## benchmark semantic memory over HTTP: writes, searches, memory use, restarts
	@echo "== memory"
	@cargo build --release --quiet $(LOCKED) --bin muster --example memory_load
	@$(PYTHON) benches/memory/run.py --target "$(TARGET)" $(BENCH_ARGS)

.PHONY: bench-retrieval
bench-retrieval: setup-build ## measure the search quality of semantic memory, on the open test sets in ../shared
	@echo "== retrieval"
	@$(PYTHON) scripts/fetch_models.py minilm --dir models-cache
	@cargo bench --quiet $(LOCKED) --package muster-retrieval

.PHONY: vision-accuracy
vision-accuracy: setup-build models ## character error rates of OCR, objects found and scores, on the cases of ../shared/media
	@cargo run --release --quiet $(LOCKED) --package muster-models --example vision

.PHONY: bench-media
bench-media: setup-build models ## benchmark the models of media beside onnxruntime, Tesseract and a Python package, which it installs
	@echo "== media"
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --requirement benches/media/requirements.txt
	@cargo build --release --quiet $(LOCKED) --package muster-models --no-default-features --features translate,vision --example media_peer
	@$(PYTHON) benches/media/run.py --target "$(TARGET)" $(BENCH_ARGS)

.PHONY: bench-medical
bench-medical: setup-build ## benchmark lookups of clinical protocols over HTTP
	@echo "== medical"
	@cargo build --release --quiet $(LOCKED) --bin muster --example post_load
	@$(PYTHON) benches/medical/run.py --target "$(TARGET)" $(BENCH_ARGS)

.PHONY: bench-engines
bench-engines: setup-build ## measure each engine's example and largest input, and calls over HTTP; writes docs/engine-timings.md
	@echo "== engines"
	@cargo build --release --quiet $(LOCKED) --package muster --package muster-engines --bin muster --example post_load --example engine_bench
	@$(PYTHON) benches/engines/run.py --target "$(TARGET)" --write docs/engine-timings.md $(BENCH_ARGS)

.PHONY: bench-governance
bench-governance: setup ## benchmark signed decisions over HTTP, and the audit log: writes, proofs, filters, verification of a million entries
	@echo "== governance"
	@cargo build --release --quiet $(LOCKED) --bin muster
	@$(PYTHON) benches/governance/run.py --muster "$(TARGET)/release/muster" $(BENCH_ARGS)

.PHONY: bench-media-http
bench-media-http: setup-build models ## benchmark vision, images and translation over HTTP
	@echo "== media over HTTP"
	@cargo build --release --quiet $(LOCKED) --bin muster
	@$(PYTHON) benches/media/over_http.py --target "$(TARGET)" $(BENCH_ARGS)

.PHONY: eval-medical
eval-medical: setup-build ## score the medical knowledge base on the open cases and vignettes in ../shared
	@cargo test --quiet $(LOCKED) --release --package muster-medical --test evaluation --test scores --lib -- --nocapture

.PHONY: eval-fill
eval-fill: setup-build ## measure how often params are found in instructions in prose, by the rules and by MODEL=standard
	@$(PYTHON) scripts/fetch_models.py $(if $(filter auto,$(MODEL)),standard,$(MODEL)) --dir models-cache
	@cargo build --release --quiet $(LOCKED) --bin muster
	@$(PYTHON) benches/agents/fill.py --muster "$(TARGET)/release/muster" --size $(if $(filter auto,$(MODEL)),standard,$(MODEL)) $(BENCH_ARGS)

.PHONY: bench-peers
bench-peers: setup-build ## benchmark the gateway beside LiteLLM, Portkey and the vLLM router, which it installs
	@cargo build --release --quiet $(LOCKED) --bin muster --example bare_relay
	@$(PYTHON) benches/gateway/peers.py --target "$(TARGET)" $(BENCH_ARGS)

.PHONY: soak
soak: setup-build ## run mixed load with faults and hostile clients for MINUTES=10: no leaks, every request ends, the ledger is consistent
	@cargo build --release --quiet $(LOCKED) --bin muster
	@$(PYTHON) benches/gateway/soak.py --muster "$(TARGET)/release/muster" --minutes $(MINUTES)

## Checking it

# The order reuses most compiled code: the tests build everything and run llama.cpp's build script; clippy and the
# documentation then need only the metadata of dependencies. Fast parts come first, so that simple errors fail early.
PARTS := check-fmt deny test-rust test-python test-journeys test-node test-api clippy docs

.PHONY: test
test: setup models-small ## run everything that CI runs, with a summary at the end
	@summary=; passed=0; failed=0; \
	for part in $(PARTS); do \
	    printf '\n== make %s\n' "$$part"; \
	    from=$$SECONDS; \
	    if $(MAKE) --no-print-directory "$$part"; then word=passed; passed=$$((passed + 1)); \
	    else word=FAILED; failed=$$((failed + 1)); fi; \
	    summary+=$$(printf '  %-12s %-7s %5d s' "$$part" "$$word" "$$((SECONDS - from))")$$'\n'; \
	done; \
	printf '\n== summary\n%sparts: %d passed, %d failed\n' "$$summary" "$$passed" "$$failed"; \
	test "$$failed" -eq 0

# Some tests wait for most of their time: one more than there are cores.
TEST_THREADS = $(shell echo $$(( $$(nproc 2>/dev/null || echo 2) + 1 )))

.PHONY: test-rust
test-rust: setup models-small ## run the Rust tests and documentation examples
	@if cargo nextest --version >/dev/null 2>&1; then \
	    cargo nextest run --workspace $(LOCKED) --test-threads $(TEST_THREADS) && cargo test --doc --workspace --quiet $(LOCKED); \
	else \
	    cargo test --workspace $(LOCKED); \
	fi

# The binary is the one that the Rust tests built, or another in MUSTER_BIN, such as target/release/muster: `cargo build` would unify other features of the dependencies and
# compile half of them again.
MUSTER_BIN ?= $(TARGET)/debug/muster
RUNNING := MUSTER_BIN="$(MUSTER_BIN)" MUSTER_MODELS_DIR="$${MUSTER_MODELS_DIR:-models-cache}"
PYTEST := $(RUNNING) $(PYTHON) -m pytest -q -p no:cacheprovider

.PHONY: built
built: setup
	@test -x "$(MUSTER_BIN)" || { echo "no $(MUSTER_BIN): run make test-rust first" >&2; exit 1; }

.PHONY: test-python
test-python: built models-small ## test with the official Python clients, LangChain and a short soak (after test-rust)
	@cargo build --quiet $(LOCKED) --workspace --example audit_export --example age_file --example policy
	@MUSTER_EXAMPLES="$(TARGET)/debug/examples" $(PYTEST) tests/openai_client tests/clients tests/governance

.PHONY: test-journeys
test-journeys: built models-small ## test the journeys of three users, and every example of README (after test-rust)
	@$(PYTEST) tests/journeys

.PHONY: test-node
test-node: built ## test with the official OpenAI client for Node (after test-rust)
	@$(RUNNING) node --test --test-reporter=spec tests/clients/node/*.test.js

.PHONY: test-api
test-api: built ## test the API descriptions: valid, correct for generated calls, usable by generated clients (after test-rust)
	@$(PYTEST) --numprocesses 2 --maxschedchunk 1 tests/api

# Packages that the oracles need, apart from those of the tests.
ORACLES := .venv-oracles
# One package says that it needs Python 3.12, and runs on 3.11.
NEWER := kingery-bulmash

.PHONY: test-oracles
test-oracles: setup-build ## compare the engines with packages that other people wrote; writes engines/ORACLES.md (FAMILY=stats: one family)
	@test -x $(ORACLES)/bin/python || python3 -m venv $(ORACLES)
	@for file in engines/oracles/requirements-*.txt; do \
	    $(ORACLES)/bin/pip install --quiet --disable-pip-version-check --requirement <(grep -v "^$(NEWER)" "$$file"); \
	    grep "^$(NEWER)" "$$file" | xargs -r $(ORACLES)/bin/pip install --quiet --disable-pip-version-check --ignore-requires-python; \
	done
	@cargo build --quiet --release $(LOCKED) --package muster-engines --example engine_lines
	@MUSTER_LINES="$(TARGET)/release/examples/engine_lines" $(ORACLES)/bin/python engines/oracles/report.py $(FAMILY)

.PHONY: fuzz
fuzz: setup ## run each fuzz test for SECONDS=60, from a new seed
	@FUZZ_SECONDS=$(FUZZ_SECONDS) RUST_BACKTRACE=0 cargo test $(LOCKED) --workspace --test fuzz -- --nocapture

.PHONY: conformance
conformance: setup ## run the Autobahn cases for WebSocket and the h2spec cases for HTTP/2 (debug build)
	@cargo build $(LOCKED) --workspace --bin muster --example ws_echo
	@code=0; \
	$(PYTHON) tests/conformance/websocket/run.py --echo "$(TARGET)/debug/examples/ws_echo" || code=1; \
	$(PYTHON) tests/conformance/http2/run.py --muster "$(TARGET)/debug/muster" || code=1; \
	exit $$code

.PHONY: check-fmt
check-fmt:
	@cargo fmt --all --check

.PHONY: clippy
clippy: setup
	@cargo clippy --workspace --all-targets $(LOCKED) -- --deny warnings

# `--examples` documents nothing: it makes cargo unify features as for clippy's `--all-targets`, so that the work of
# clippy is reused.
.PHONY: docs
docs: setup ## build the code documentation, without warnings
	@RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps --lib --examples $(LOCKED)

.PHONY: lint
lint: check-fmt clippy ## check formatting and run clippy

# Advisories need a database from the network. If it cannot be fetched, that is reported and is not a failure.
.PHONY: deny
deny: setup ## check licences, sources and bans of dependencies, and advisories if their database can be fetched
	@cargo fetch --quiet $(LOCKED)
	@cargo deny --offline check --hide-inclusion-graph licenses bans sources
	@if timeout 120 cargo deny fetch db >/dev/null 2>&1; then \
	    cargo deny --offline check --hide-inclusion-graph advisories; \
	else \
	    echo "advisories: NOT checked, their database cannot be fetched from here"; \
	fi

## Keeping it

.PHONY: fmt
fmt: ## format the code
	@cargo fmt --all

.PHONY: assets
assets: ## fetch the API documentation pages, at the versions pinned in assets/refresh.sh
	@assets/refresh.sh

.PHONY: setup
setup: ## install missing tools for builds and tests
	@scripts/setup.sh

.PHONY: setup-build
setup-build:
	@scripts/setup.sh build

.PHONY: models-small
models-small: setup-build
	@$(PYTHON) scripts/fetch_models.py small minilm media --dir models-cache
