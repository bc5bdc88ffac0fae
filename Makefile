# Each target installs what it needs first. `make` alone tells what there is.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

# What a run of the server is given besides: make run ARGS="--listen 0.0.0.0:8080"
ARGS ?=
# The embedded model of `make run` and `make bench`: small, standard, better, or auto (by the memory of this machine).
MODEL ?= auto
# The lock file is the truth: a build that would change it stops.
LOCKED ?= --locked

TARGET := $(if $(CARGO_TARGET_DIR),$(CARGO_TARGET_DIR),target)
PYTHON := .venv/bin/python
# The tools of this folder come before those of the machine.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
BENCHED := muster-store muster-limits muster-feed muster-network muster-gateway muster-tasks muster-memory muster-models
# The load tools that the gateway is measured with; they are no part of this repository.
BENCH_TOOLS ?= ../shared/bench/gateway
# What the gateway's benchmarks are told besides: make bench BENCH_ARGS="--secs 5"
BENCH_ARGS ?=
# How long `make soak` takes.
MINUTES ?= 10

.PHONY: help
help: ## tell what there is
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/p' Makefile | expand -t 24

## Using it

.PHONY: run
run: setup-build models ## build the server and start it; prints its address, a key and a call to paste
	@cargo build --release $(LOCKED) --bin muster
	@exec "$(TARGET)/release/muster" serve $(ARGS)

.PHONY: models
models: setup-build ## fetch the embedded models into models-cache (MODEL=small|standard|better|auto, and minilm)
	@$(PYTHON) scripts/fetch_models.py $(MODEL) minilm --dir models-cache

.PHONY: bench
bench: setup-build models ## measure: a rate decision, an ask, durable writes, the embedded model, the gateway, the feed, tasks, memory, retrieval
	@for package in $(BENCHED); do \
	    echo "== $$package"; \
	    cargo bench --quiet $(LOCKED) --package "$$package" --bench '*'; \
	done
	@$(MAKE) --no-print-directory bench-gateway
	@$(MAKE) --no-print-directory bench-feed
	@$(MAKE) --no-print-directory bench-tasks
	@$(MAKE) --no-print-directory bench-memory
	@$(MAKE) --no-print-directory bench-retrieval

.PHONY: bench-gateway
bench-gateway: setup-build ## measure the gateway beside a bare relay and the upstream direct
	@echo "== gateway"
	@if test -d "$(BENCH_TOOLS)"; then \
	    cargo build --release --quiet $(LOCKED) --bin muster --example bare_relay; \
	fi
	@$(PYTHON) benches/gateway/run.py --tools "$(BENCH_TOOLS)" --target "$(TARGET)" $(BENCH_ARGS)

.PHONY: bench-feed
bench-feed: setup-build ## measure live sockets beside a bare thread that holds them, at 100 to 10,000 connections
	@echo "== feed"
	@cargo build --release --quiet $(LOCKED) --no-default-features --example feed_server --example feed_load --example raw_hub
	@$(PYTHON) benches/feed/run.py --target "$(TARGET)" $(BENCH_ARGS)

.PHONY: bench-tasks
bench-tasks: setup-build ## measure durable tasks over HTTP, alone and watched, and controls of 5,000 that run
	@echo "== tasks"
	@cargo build --release --quiet $(LOCKED) --bin muster --example task_load --example task_control
	@$(PYTHON) benches/tasks/run.py --target "$(TARGET)" $(BENCH_ARGS)

.PHONY: bench-memory
bench-memory: setup-build ## measure semantic memory over HTTP: stores, searches, memory, restarts
	@echo "== memory"
	@cargo build --release --quiet $(LOCKED) --bin muster --example memory_load
	@$(PYTHON) benches/memory/run.py --target "$(TARGET)" $(BENCH_ARGS)

.PHONY: bench-retrieval
bench-retrieval: setup-build ## measure how good the ranking of semantic memory is, on the open test sets beside this folder
	@echo "== retrieval"
	@$(PYTHON) scripts/fetch_models.py minilm --dir models-cache
	@cargo bench --quiet $(LOCKED) --package muster-retrieval

.PHONY: bench-peers
bench-peers: setup-build ## the same, beside LiteLLM, Portkey and the vLLM router, which it installs
	@if test -d "$(BENCH_TOOLS)"; then \
	    cargo build --release --quiet $(LOCKED) --bin muster --example bare_relay; \
	fi
	@$(PYTHON) benches/gateway/peers.py --tools "$(BENCH_TOOLS)" --target "$(TARGET)" $(BENCH_ARGS)

.PHONY: soak
soak: setup-build ## mixed load with faults for MINUTES=10: nothing leaks, every request ends, the ledger adds up
	@cargo build --release --quiet $(LOCKED) --bin muster
	@$(PYTHON) benches/gateway/soak.py --muster "$(TARGET)/release/muster" --minutes $(MINUTES)

## Checking it

# The order shares the most: the tests build everything and run llama.cpp's build script; clippy and the documentation
# then need the dependencies' metadata only, once for both. The cheap ones stand first, so that a slip is told early.
PARTS := check-fmt deny test-rust test-python test-node test-api clippy docs

.PHONY: test
test: setup models-small ## everything that CI runs, with a summary at the end
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

.PHONY: test-rust
test-rust: setup models-small ## the Rust tests, documentation examples too
	@if cargo nextest --version >/dev/null 2>&1; then \
	    cargo nextest run --workspace $(LOCKED) && cargo test --doc --workspace --quiet $(LOCKED); \
	else \
	    cargo test --workspace $(LOCKED); \
	fi

# The binary is the one that the Rust tests built: `cargo build` would choose other features of the dependencies (those of
# the tests count there), and compile half of them again.
MUSTER_BIN ?= $(TARGET)/debug/muster
RUNNING := MUSTER_BIN="$(MUSTER_BIN)" MUSTER_MODELS_DIR="$${MUSTER_MODELS_DIR:-models-cache}"
PYTEST := $(RUNNING) $(PYTHON) -m pytest -q -p no:cacheprovider

.PHONY: built
built: setup
	@test -x "$(MUSTER_BIN)" || { echo "no $(MUSTER_BIN): run make test-rust first" >&2; exit 1; }

.PHONY: test-python
test-python: built models-small ## the official Python clients, LangChain and a short soak (after test-rust)
	@$(PYTEST) tests/openai_client tests/clients

.PHONY: test-node
test-node: built ## the official openai client for Node against a running server (after test-rust)
	@$(RUNNING) node --test --test-reporter=spec tests/clients/node/*.test.js

.PHONY: test-api
test-api: built ## the API descriptions: valid, true of made-up calls, good for generated clients (after test-rust)
	@$(PYTEST) tests/api

.PHONY: check-fmt
check-fmt:
	@cargo fmt --all --check

.PHONY: clippy
clippy: setup
	@cargo clippy --workspace --all-targets $(LOCKED) -- --deny warnings

# `--examples` documents nothing here: it makes cargo choose the dependencies' features as it does for clippy's
# `--all-targets`, and so take clippy's work over.
.PHONY: docs
docs: setup ## the documentation of the code, without warnings
	@RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps --lib --examples $(LOCKED)

.PHONY: lint
lint: check-fmt clippy ## formatting and clippy

# The advisories need a database from the network. Where it cannot be had that is said, and is no failure.
.PHONY: deny
deny: setup ## licences, sources and bans of the dependencies; known flaws too where their list can be fetched
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
assets: ## fetch the pages of the API description again, at the versions pinned in assets/refresh.sh
	@assets/refresh.sh

.PHONY: setup
setup: ## install what builds and tests need and the machine lacks
	@scripts/setup.sh

.PHONY: setup-build
setup-build:
	@scripts/setup.sh build

.PHONY: models-small
models-small: setup-build
	@$(PYTHON) scripts/fetch_models.py small minilm --dir models-cache
