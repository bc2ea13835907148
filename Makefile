# One word each, from a clean clone: `make help` lists the words.
#
# Needs only Rust, Python >= 3.11 and the package registries. Everything else (virtual environment,
# pinned tools, the built extension) is made on the way; stamp files in the environment keep a second
# run quick. All Rust builds share one `target/`.
#
#   make test PYTHON=python3.12         another interpreter (the environment is made again)
#   make test PYTEST_ARGS="-n 4 -k race"

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS   += --no-builtin-rules --no-print-directory
ifndef TWO_LANES
.NOTPARALLEL:
endif
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON      ?= python3
VENV        ?= .venv
# Four at a time, because many tests wait; `PYTEST_ARGS=` for one after another.
PYTEST_ARGS ?= -n 4
BENCH_ARGS  ?=
WHEELS_ARGS ?=
VERSION     ?=
FAULT_ARGS  ?=
CONFORMANCE_ARGS ?=
CASSETTE_TESTS := tests/python/mcp/test_recorded_examples.py tests/python/test_example_notebook.py
# For each fuzz target; FUZZ_ARGS=schema runs some of them.
FUZZ_SECONDS ?= 60
FUZZ_ARGS   ?=
# Each seed makes other examples for the property tests.
FUZZ_SEEDS  ?= $(shell $(PYTHON) -c 'import random; print(*random.sample(range(10**6), 3))')

BIN    := $(VENV)/bin
PY     := $(BIN)/python
# A CI run must build what the lock files say; a developer may just have added a dependency.
LOCKED := $(if $(CI),--locked,)

# "3.11", or empty when PYTHON is missing or too old (the recipe of the environment then says so).
PYTHON_VERSION := $(shell $(PYTHON) -c 'import sys; v = sys.version_info; print("%d.%d" % v[:2] if v >= (3, 11) else "")' 2>/dev/null)

RUST_PEERS := .servers/mcp-proxy/bin/mcp-proxy .servers/rmcp/bin/rmcp-bench-server

# What maturin sets for cargo. PyO3's build scripts watch these, so clippy has to set the same values:
# otherwise every switch between clippy and maturin would compile PyO3 again.
PYO3_ENV = PYO3_PYTHON="$(abspath $(PY))" PYTHON_SYS_EXECUTABLE="$(abspath $(PY))" \
           PYO3_BUILD_EXTENSION_MODULE=1 PYO3_ENVIRONMENT_SIGNATURE="cpython-$(PYTHON_VERSION)-64bit"
# Tests and dev builds select the same features, so that they share all dependencies.
DEV      = --features dev
MATURIN  = VIRTUAL_ENV="$(abspath $(VENV))" PIP_QUIET=1 $(BIN)/maturin
# `--no-deps`: the lock file is complete, nothing else may come in; `pip check` proves it.
PIP_LOCK = $(PY) -m pip install --quiet --disable-pip-version-check --no-deps

# Always called: cargo knows what is fresh, and the extension is put into python/toolhub/ each time. Installing the
# package too (it points to python/) is needed once, and when its metadata has changed.
SKIP_INSTALL = $$(for file in pyproject.toml Cargo.toml src/python/Cargo.toml; do [ $(VENV)/.stamp-installed -nt $$file ] || exit 0; done; \
                  echo --skip-install)

# Compiled test files are kept: five processes read all of them.
export PYTHONDONTWRITEBYTECODE =

say = @printf '\n\033[1m== %s\033[0m\n' "$(1)"

.PHONY: help demo test ci bench charts eval docs test-all free-threading test-llm cassettes faults faults-gateway replicas conformance integrations loom fuzz fuzz-rust fuzz-python torture soak servers programs wheel wheels release-check clean \
        setup develop release stubs stubs-check fmt fmt-check lint clippy size types rust-tests test-rust test-python lock interface

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ---------------------------------------------------------------- the words

demo: develop ## a short tour of the hub
	@$(PY) -m toolhub.demo

test: test-rust test-python ## Rust tests, Python tests, documentation examples; installs pinned packages, never system ones

# The one build that everything runs on is compiled by clippy's compiler: a pass of its own would compile all dependencies
# once more.
ci: export RUSTC_WORKSPACE_WRAPPER = clippy-driver
ci: export CLIPPY_ARGS = -D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
# Two lanes, so that no core waits while packages are fetched, the extension is linked, or one slow checker runs: first the
# Rust tests are compiled, which needs no environment; then they run beside what needs the extension.
ci: programs ## everything that must hold before a change lands
	@$(MAKE) -j2 --output-sync TWO_LANES=1 fmt-check rust-tests lint size servers
	@$(MAKE) -j2 --output-sync TWO_LANES=1 develop test-rust types stubs-check
	@$(MAKE) test-python
	$(call say,ci: all good)

bench: release $(VENV)/.stamp-bench $(RUST_PEERS) ## benchmarks: criterion, then Python against its peers (release build)
	$(call say,cargo bench)
	cargo bench $(LOCKED) --bench '*'
	$(call say,Python benchmarks)
	$(PY) benches/python/run.py --charts $(BENCH_ARGS)

charts: $(VENV)/.stamp-dev ## draws the charts of the documentation again, from benches/figures.json
	@$(PY) benches/python/charts.py

eval: release ## how well search finds tools, on the sets under TOOLHUB_DATA or ../shared/data
	@$(PY) benches/python/retrieval.py

docs: $(VENV)/.stamp-docs ## the documentation site, strict, into site/
	$(call say,mkdocs)
	@# not --quiet: it would silence the warnings before --strict could count them
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict
	@echo "site/index.html"

test-all: ## Python tests under every supported interpreter on this machine
	@scripts/test-all.sh

free-threading: ## what threads share, on a Python without a GIL (python3.14t)
	@scripts/free-threading.sh

test-llm: develop ## synthesis and chat client against a real small model (its server is built: minutes)
	$(PY) scripts/llm_server.py cargo test $(LOCKED) --test it llm::
	$(PY) scripts/llm_server.py $(PY) -m pytest tests/python/llm $(PYTEST_ARGS)

cassettes: develop servers ## records the cassettes of the examples again, with the model of test-llm and the real servers
	$(PY) scripts/llm_server.py $(PY) -m pytest --toolhub-record=all -p no:xdist $(CASSETTE_TESTS)

faults: develop ## the MCP client through the whole fault lab (minutes; FAULT_ARGS="--only lifecycle")
	$(call say,fault lab)
	$(PY) tests/mcp/run_faults.py --jobs 2 --confirm 2 $(FAULT_ARGS)

replicas: develop ## 10,000 sessions over three served hubs behind HAProxy (apt install haproxy)
	$(call say,replicas)
	$(PY) tests/mcp/replicas.py $(REPLICA_ARGS)

faults-gateway: develop ## the whole fault lab behind a served hub (minutes; FAULT_ARGS as for faults)
	$(call say,fault lab behind the gateway)
	$(PY) tests/mcp/run_faults.py --through-gateway --jobs 2 --confirm 2 $(FAULT_ARGS)

conformance: develop ## the MCP client and server through the official conformance suite (CONFORMANCE_ARGS="tools_call", SERVER_CONFORMANCE_ARGS="prompts")
	$(call say,conformance suite)
	@$(PY) tests/mcp/install.py conformance mcp1 mcp2
	$(PY) tests/mcp/conformance/run.py $(CONFORMANCE_ARGS)
	$(PY) tests/mcp/conformance/run_servers.py $(SERVER_CONFORMANCE_ARGS)

integrations: develop servers ## other frameworks and clients, also those from npm, and the 100 cells of serving
	$(call say,integrations)
	@$(PY) tests/mcp/install.py typescript apps inspector mcporter restate-server
	CI=1 INTEGRATIONS=1 $(PY) -m pytest tests/python/integrations tests/python/gateway $(PYTEST_ARGS)

loom: ## locks, queues and threads of the core in every order of their steps
	$(call say,loom)
	cargo test $(LOCKED) --manifest-path tests/loom/Cargo.toml --target-dir target/loom

fuzz: fuzz-rust fuzz-python ## new random input: fuzz targets for FUZZ_SECONDS= each, property tests for each of FUZZ_SEEDS="1 2 3"

fuzz-rust: ## all readers of foreign text on random input
	$(call say,fuzz targets)
	BOLERO_RANDOM_TEST_TIME_MS=$$(( $(FUZZ_SECONDS) * 1000 )) BOLERO_RANDOM_ITERATIONS=1000000000 \
	  cargo test $(LOCKED) --test it fuzz::$(FUZZ_ARGS)

fuzz-python: develop ## the property tests with new examples; `make test` has the same ones each time
	@for seed in $(FUZZ_SEEDS); do \
	    printf '\n\033[1m== property tests, FUZZ_SEEDS=%s\033[0m\n' $$seed; \
	    $(PY) -m pytest -m hypothesis --hypothesis-profile=fuzz --hypothesis-seed=$$seed $(PYTEST_ARGS); done

torture: develop ## random scenarios against the contract (TORTURE_SECONDS=300, TORTURE_SEED=, TORTURE_ONLY=)
	$(call say,torture)
	TORTURE_SECONDS=$${TORTURE_SECONDS:-300} $(PY) tests/torture/run.py
	$(PY) tests/torture/ledger/run.py

soak: develop ## 50 MCP servers that hang, crash and flood, without and with a store (SOAK_SECONDS=180, SOAK_SEED=, SOAK_SERVERS=)
	$(call say,soak of the MCP client)
	$(PY) tests/torture/mcp_soak/run.py
	$(PY) tests/torture/mcp_soak/run.py --store

wheel: $(VENV)/.stamp-dev ## a wheel for PYTHON, into dist/
	$(MATURIN) build $(LOCKED) --release --interpreter "$(abspath $(PY))" --out dist

wheels: $(VENV)/.stamp-release ## wheels for cp311 to cp314 and cp314t, manylinux2014, and the sdist, checked, into dist/ (WHEELS_ARGS="--only cp311,sdist")
	$(call say,wheels)
	$(PY) scripts/wheels.py $(WHEELS_ARGS)

release-check: ci docs wheels ## everything that must hold before a release (VERSION=0.2.0; needs cargo-deny)
	$(call say,licences and advisories)
	@cargo deny --version >/dev/null 2>&1 || { echo "cargo-deny is missing: cargo install --locked cargo-deny" >&2; exit 1; }
	cargo deny check
	$(call say,files)
	$(PY) scripts/release_check.py $(VERSION)

clean: ## removes all that make has made
	rm -rf target .venv .venvs .venv-llm .servers site dist .hypothesis .pytest_cache .ruff_cache .mypy_cache
	rm -f python/toolhub/_core*.so python/toolhub/_core*.pyd
	find python tests benches scripts -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# ---------------------------------------------------------------- setting up

setup: $(VENV)/.stamp-dev ## the environment with the pinned tools

# The version is in the name, so another PYTHON means another stamp and a new environment.
$(VENV)/.stamp-python-$(PYTHON_VERSION):
	@[ -n "$(PYTHON_VERSION)" ] || { echo "toolhub needs Python >= 3.11, but '$(PYTHON)' is older or missing; say make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(call say,environment $(VENV) with Python $(PYTHON_VERSION))
	rm -rf "$(VENV)"
	$(PYTHON) -m venv "$(VENV)"
	@touch $@

$(VENV)/.stamp-dev: requirements/dev.txt $(VENV)/.stamp-python-$(PYTHON_VERSION)
	$(call say,pinned tools)
	@echo "installs into $(VENV), pinned, from PyPI: requirements/dev.txt"
	@$(PIP_LOCK) -r requirements/dev.txt || { echo "The pinned tools could not be installed; is the package registry reachable?" >&2; exit 1; }
	$(PY) -m pip check --quiet
	@touch $@

# Benchmarks, documentation and releases come on top of the tools; one resolution, so nothing moves under the tests.
$(VENV)/.stamp-bench $(VENV)/.stamp-docs $(VENV)/.stamp-release: $(VENV)/.stamp-%: requirements/%.txt $(VENV)/.stamp-dev
	$(call say,pinned packages for $*)
	$(PIP_LOCK) -r requirements/$*.txt
	@touch $@

# Peers of the serving benchmarks that are written in Rust; minutes to build, once.
.servers/mcp-proxy/bin/mcp-proxy:
	$(call say,mcp-proxy for the benchmarks)
	cargo install --quiet mcp-proxy@0.6.0 --locked --no-default-features --root .servers/mcp-proxy --target-dir target/peers

.servers/rmcp/bin/rmcp-bench-server: benches/rmcp/Cargo.lock benches/rmcp/src/main.rs
	$(call say,a server of rmcp for the benchmarks)
	cargo install --quiet --locked --force --path benches/rmcp --root .servers/rmcp --target-dir target/peers
	@touch $@

servers: $(VENV)/.stamp-dev ## real MCP servers and skills for the tests, pinned, each in its own environment
	@$(PY) tests/mcp/install.py

PROGRAMS := chromium:chromium zsh:zsh fish:fish systemd-analyze:systemd curl:curl
MISSING_PROGRAMS = $(strip $(foreach pair,$(PROGRAMS),$(if $(shell command -v $(firstword $(subst :, ,$(pair)))),,$(lastword $(subst :, ,$(pair))))))
programs: ## installs what some tests run of the distribution (Chromium, zsh, fish, systemd-analyze, curl), by apt-get, as root
	@missing="$(MISSING_PROGRAMS)"; [ -z "$$missing" ] || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	    echo "apt-get installs: $$missing" && apt-get update -qq && apt-get install -qq -y --no-install-recommends $$missing; } || \
	    echo "not installed: $$missing; some tests need these packages (apt install $$missing)"

develop: $(VENV)/.stamp-dev ## the extension, dev profile, into the environment
	$(call say,extension (dev))
	@$(MATURIN) develop $(LOCKED) --quiet $(DEV) $(SKIP_INSTALL)
	@touch $(VENV)/.stamp-installed

release: $(VENV)/.stamp-dev ## the extension, release profile, into the environment
	$(call say,extension (release))
	@$(MATURIN) develop $(LOCKED) --quiet --release $(SKIP_INSTALL)
	@touch $(VENV)/.stamp-installed

lock: $(VENV)/.stamp-dev ## writes requirements/*.txt again from requirements/*.in
	@scripts/lock.sh $(PY)

interface: develop ## writes tests/python/interface.txt, the record of the public interface
	PYTHONPATH=tests/python $(PY) -m support.interface

# ---------------------------------------------------------------- checks

fmt: $(VENV)/.stamp-dev ## formats Rust and Python
	cargo fmt
	$(BIN)/ruff check --fix --quiet
	$(BIN)/ruff format --quiet

fmt-check:
	$(call say,cargo fmt)
	cargo fmt --check

lint: $(VENV)/.stamp-dev ## ruff
	$(call say,ruff)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

clippy: $(VENV)/.stamp-dev ## clippy, all rooms and their tests
	$(call say,clippy)
	$(PYO3_ENV) cargo clippy $(LOCKED) --workspace --all-targets -- -D warnings

size: ## code lines of each room beside its budget
	$(call say,size)
	@$(PYTHON) scripts/size.py

types: develop ## pyright, strict, on python/
	$(call say,pyright)
	$(BIN)/pyright --pythonpath "$(abspath $(PY))"

stubs: develop ## writes python/toolhub/_core.pyi again from the built extension
	$(MATURIN) generate-stubs $(LOCKED) --quiet $(DEV) --out target/stubs
	cp target/stubs/toolhub/_core.pyi python/toolhub/_core.pyi

stubs-check: develop ## the committed stub is what the extension says, and is true
	$(call say,stubs)
	$(MATURIN) generate-stubs $(LOCKED) --quiet $(DEV) --out target/stubs
	@diff -u python/toolhub/_core.pyi target/stubs/toolhub/_core.pyi \
	  || { echo "python/toolhub/_core.pyi is not what the extension says: run 'make stubs' and commit it" >&2; exit 1; }
	$(PY) -m mypy.stubtest --allowlist scripts/stubtest-allowlist.txt toolhub._core

rust-tests:
	$(call say,Rust tests and benchmarks: compiled)
	cargo test $(LOCKED) --quiet --workspace --tests --examples --no-run
	cargo test $(LOCKED) --quiet --workspace --bench '*' --no-run

test-rust: rust-tests servers ## cargo test (the core; clients of other SDKs, in their own environments, call it)
	$(call say,cargo test)
	cargo test $(LOCKED) --quiet --workspace --tests --examples

test-python: develop servers ## pytest, documentation examples included
	$(call say,pytest)
	@missing="$(MISSING_PROGRAMS)"; [ -z "$$missing" ] || echo "some tests are skipped without: $$missing ('make programs' installs them)"
	$(PY) -m pytest $(PYTEST_ARGS)
