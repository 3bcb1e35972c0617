# Two commands do everything on a machine with Python 3.11+, make and a package index:
#   make demo    compares the routes on a bundled data set and writes a report
#   make test    lint, types, import layers, tests and doctests
# PYTHON=... chooses the interpreter. Without it: python3 if it is new enough, otherwise the
# newest python3.x on the PATH that runs.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# Imports without bytecode take seconds; an environment that forbids it is overruled here.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= $(firstword $(foreach p,python3 python3.14 python3.13 python3.12 python3.11,\
  $(shell $(p) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(p))))

VENV := .venv
BIN  := $(VENV)/bin
RUN  := $(BIN)/python
PIP  := $(RUN) -m pip install --quiet --disable-pip-version-check -c constraints.txt
CODE := $(wildcard src tests benchmarks experiments examples docs)

# Tests run in two processes: one BLAS and one OpenMP thread each.
TEST_ENV := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
WORKERS  ?= 2
ARGS     ?=

.PHONY: help setup demo test lint format types layers unit docs bench reproduce clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

# ---- environment: one stamp per set of packages; all live in .venv and go with it ----

$(VENV)/.core: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "concordant needs Python 3.11 or newer: make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "creating $(VENV) with $$($(PYTHON) --version)"
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	@echo "installing the development tools"
	@$(PIP) --editable '.[dev]'
	@touch $@

$(VENV)/.docs: $(VENV)/.core
	@echo "installing the tools of the documentation"
	@$(PIP) --editable '.[docs]'
	@touch $@

$(VENV)/.bench: $(VENV)/.core
	@echo "installing the peers of the benchmarks"
	@$(PIP) --editable '.[bench]'
	@touch $@

setup: $(VENV)/.dev ## create .venv with the package and the development tools

# ---- use ----

demo: $(VENV)/.core ## compare the routes on a bundled data set and write a report
	@$(RUN) -m concordant.demo $(ARGS)

bench: $(VENV)/.bench ## run the benchmarks; results in benchmarks/results
	@$(RUN) -m benchmarks $(ARGS)

reproduce: $(VENV)/.core ## run the experiments; published value beside ours
	@$(RUN) -m experiments $(ARGS)

# ---- the gate, cheapest first ----

test: ## the gate: lint, types, import layers, tests and doctests
	@$(MAKE) lint
	@$(MAKE) types
	@$(MAKE) layers
	@$(MAKE) unit

lint: $(VENV)/.dev ## formatting and lint
	@$(BIN)/ruff format --check $(CODE)
	@$(BIN)/ruff check $(CODE)

format: $(VENV)/.dev ## rewrite the code in the house format
	@$(BIN)/ruff check --fix --exit-zero --quiet $(CODE)
	@$(BIN)/ruff format $(CODE)

types: $(VENV)/.dev ## type check
	@$(BIN)/mypy

layers: $(VENV)/.dev ## imports point one way
	@$(BIN)/lint-imports --no-logo

unit: $(VENV)/.dev ## tests and doctests; ARGS="-k name" narrows
	@$(TEST_ENV) $(RUN) -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

docs: $(VENV)/.docs ## the documentation site in build/docs; runs every example, a warning is an error
	@$(TEST_ENV) $(BIN)/sphinx-build -W --keep-going -q docs build/docs
	@echo "open build/docs/index.html"

clean: ## remove .venv, caches and generated files
	@rm -rf $(VENV) build dist docs/generated docs/auto_examples docs/sg_execution_times.rst .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find $(CODE) -type d -name __pycache__ -prune -exec rm -rf {} +
