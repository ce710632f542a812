# Every recipe prints the command it runs. Tools other than cargo are built once, outside the tree, by
# scripts/setup-tools.sh.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo install check test test-all test-cluster rust-test web web-check web-test openai-test acp-test features-test api api-quick soak bench bench-try lint fmt \
        fmt-check clippy windows doc book pictures deps spelling tree fuzz fuzz-min audit conformance parity dist clean \
        need-cargo need-npm

# Programs that the scripts keep in the cache.
CACHE := $(shell scripts/setup-tools.sh --cache-dir)
export PATH := $(CACHE)/node/bin:$(PATH)
TOOLS = $(shell scripts/setup-tools.sh --bin-dir)
# Cargo finds its nextest command in PATH.
NEXTEST = PATH="$$PATH:$(TOOLS)" cargo nextest

# Versions of the real CLI for `make conformance`.
VERSIONS ?= 2.1.325 2.1.9
# More versions, for `make test-all`: the pinned ones are part of `make test`.
OLDER_VERSIONS ?= 2.1.197 2.1.61
# Version of the official SDK for `make parity`; the newest one if empty.
SDK ?=
# Length of `make soak`. SOAK_SEED, SOAK_JOBS and SOAK_ONLY are also read.
SOAK_SECONDS ?= 600
# For example BENCH_ARGS=--quick, for a short run.
BENCH_ARGS ?=
# Length of the run of each fuzz target, and which targets to run.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?= decode fold

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

need-cargo:
	@command -v cargo >/dev/null 2>&1 || \
	  { echo "cargo not found: install Rust 1.95 or newer (see https://rustup.rs), then run make again" >&2; exit 1; }

need-npm:
	@scripts/setup-node.sh

demo: need-cargo ## the page on the simulated CLI, in a temporary folder: no account, no cost (DEMO_ONCE=1 exits by itself)
	scripts/demo.sh

install: web need-cargo ## build the page and install the weir command (FEATURES=matrix adds Matrix)
	cargo install --locked --path crates/weir-cli $(if $(FEATURES),--features $(FEATURES))

web: need-npm ## build the page, which the next cargo build embeds in the binary
	scripts/setup-web.sh --build

web-check: need-npm ## check the page's types and components, and test its parts
	scripts/setup-web.sh
	cd web && npm run --silent check && npm run --silent test

check: need-cargo ## takes seconds, nothing to install: format, lints of changed crates, tests of the pure crates
	scripts/check.sh

web-test: web need-cargo ## drive the page in a real Chromium, on the simulated and the real CLI
	scripts/setup-debian.sh chromium
	cargo build --locked --bins
	cd web && npm run --silent e2e

test: need-cargo need-npm ## what a change needs: Rust tests, real CLIs, the page in Chromium (minutes)
	scripts/setup-debian.sh bwrap chromium curl nginx python
	scripts/setup-tools.sh cargo-nextest
	scripts/setup-real-cli.sh
	scripts/setup-web.sh --build
	$(MAKE) --no-print-directory rust-test web-check web-test

rust-test: need-cargo
	$(NEXTEST) run --locked
	scripts/slowest.sh
	cargo test --locked --doc

test-all: export WEIR_LONG_TESTS = 1
test-all: test ## make test, plus what few changes touch: Matrix with Synapse, clients of OpenAI and of editors, clusters, the API document, all scenarios on real CLIs
	$(MAKE) --no-print-directory openai-test acp-test features-test test-cluster api-quick
	$(MAKE) --no-print-directory conformance VERSIONS="$(OLDER_VERSIONS)"

openai-test: need-cargo need-npm
	scripts/setup-debian.sh python
	scripts/setup-tools.sh cargo-nextest
	scripts/setup-openai-clients.sh
	$(NEXTEST) run --locked --profile openai -p weir-cli --test openai

acp-test: need-cargo need-npm
	scripts/setup-debian.sh python
	scripts/setup-tools.sh cargo-nextest
	scripts/setup-acp-clients.sh
	scripts/setup-real-cli.sh
	$(NEXTEST) run --locked --profile openai -p weir-acp -p weir-cli --test acp

# Features that are off by default. One Synapse serves all tests, so they run in one process.
features-test: need-cargo
	scripts/setup-debian.sh python
	scripts/setup-synapse.sh
	cargo test --locked -p weir-matrix --all-features
	cargo test --locked -p weir-acp --all-features draft
	cargo test --locked -p weir-cli -p weir-server --all-features --test bridge --test http

# Real NATS servers, which use both cores; one test at a time.
test-cluster: need-cargo ## the log on a cluster, on real NATS servers that are killed and stopped (WEIR_LONG_TESTS=1: 100 faults)
	scripts/setup-debian.sh python
	scripts/setup-nats.sh
	scripts/setup-tools.sh cargo-nextest
	$(NEXTEST) run --locked -p weir-jetstream --test-threads 1

api-quick: need-cargo
	scripts/setup-debian.sh curl python
	scripts/check-api.sh --quick

api: need-cargo ## check a running server against its OpenAPI document, thoroughly
	scripts/setup-debian.sh curl python
	scripts/check-api.sh

conformance: need-cargo need-npm ## compare the simulated CLI with real ones (VERSIONS="2.1.61 2.1.197")
	scripts/setup-real-cli.sh $(VERSIONS)
	cargo build --locked -p weir-simulator -p weir-testkit --bins
	$${CARGO_TARGET_DIR:-target}/debug/conformance $(VERSIONS)
	WEIR_ALL_SCENARIOS=1 WEIR_REAL_CLI_VERSIONS="$(VERSIONS)" cargo test --locked -p weir-session --test real

parity: need-npm ## compare docs/parity.md with the newest official SDK (SDK=0.3.325)
	node scripts/parity.mjs $(SDK)

soak: need-cargo ## random conversations and faults for SOAK_SECONDS (600), invariants checked throughout
	cargo build --locked -p weir-soak
	SOAK_SECONDS=$(SOAK_SECONDS) $${CARGO_TARGET_DIR:-target}/debug/weir-soak

dist: need-cargo ## build the packages into target/dist: a tarball with a static program, .deb, npm
	scripts/dist.sh

bench: need-cargo ## measure and print the table of results
	cargo run --release --locked -p weir-bench -- table $(BENCH_ARGS)
	scripts/bench-page.sh $(BENCH_ARGS)

# Uses the artefacts of the tests: it shows that everything can be measured, but its numbers mean nothing.
bench-try: need-cargo
	cargo run --locked -p weir-bench -- table --quick

lint: fmt-check clippy windows doc deps spelling tree ## all checks that do not run tests

fmt: need-cargo ## format the sources
	cargo fmt --all
	$(if $(wildcard fuzz/Cargo.toml),cargo fmt --manifest-path fuzz/Cargo.toml)

fmt-check: need-cargo ## check the formatting
	cargo fmt --all --check
	$(if $(wildcard fuzz/Cargo.toml),cargo fmt --manifest-path fuzz/Cargo.toml --check)

# The parts that a program on Windows can use. Nothing is linked, so no linker is needed.
WINDOWS := x86_64-pc-windows-gnu
windows: need-cargo ## check that the library compiles for Windows
	@if ! command -v rustup >/dev/null; then echo "windows: not checked, because only rustup can add the target"; exit 0; fi; \
	rustup target list --installed | grep -qx $(WINDOWS) || rustup target add $(WINDOWS) && \
	cargo check --locked --target $(WINDOWS) -p weir-wire -p weir-transcript -p weir-process -p weir-session -p weir

clippy: need-cargo
	cargo clippy --workspace --all-targets --all-features --locked -- -D warnings

doc: need-cargo ## build the API documentation, warnings are errors
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features --locked

book: need-cargo ## build the book into target/book
	scripts/book.sh

pictures: need-cargo need-npm ## regenerate the pictures in the documentation from the running program
	scripts/setup-debian.sh chromium git tmux
	scripts/setup-web.sh --build
	cargo build --locked --bin weir
	scripts/pictures.sh

deps: need-cargo
	scripts/setup-tools.sh cargo-deny cargo-machete
	$(TOOLS)/cargo-deny --locked check bans licenses sources
	$(TOOLS)/cargo-machete

spelling: need-cargo
	scripts/setup-tools.sh typos-cli
	$(TOOLS)/typos

tree:
	scripts/check-tree.sh

fuzz: need-cargo ## fuzz each target for FUZZ_SECONDS (60)
	scripts/setup-tools.sh cargo-fuzz
	FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz.sh run $(FUZZ_TARGETS)

fuzz-min: need-cargo ## shrink the corpora before committing them
	scripts/setup-tools.sh cargo-fuzz
	scripts/fuzz.sh min $(FUZZ_TARGETS)

audit: need-cargo ## look for known vulnerabilities (fetches the advisory database)
	scripts/setup-tools.sh cargo-deny
	$(TOOLS)/cargo-deny --locked check advisories

clean: need-cargo ## remove build output; the cached tools stay
	cargo clean
	rm -rf fuzz/target fuzz/coverage
