# What a developer types. Every target that needs the environment sets it up first.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory
# Containers often set it; without byte code each of a rehearsal's programs compiles five seconds long.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.complete
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help setup demo test check format clean

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## Create .venv and get a Pulumi engine; done in a moment when there is nothing to do
	@$(BIN)/python -m mlcc_infra.engine install --quiet

# The engine may have to be built, which takes minutes: meanwhile the packages are installed.
$(STAMP): requirements.txt pyproject.toml
	@rm -f $@
	if ! "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
		echo "python: $(PYTHON) is missing or older than 3.11; name another one with PYTHON=…" >&2
		exit 1
	fi
	"$(PYTHON)" -m mlcc_infra.engine install &
	engine=$$!
	packages=
	trap 'kill $$engine $$packages 2>/dev/null || true' EXIT
	echo "python: creating .venv"
	"$(PYTHON)" -m venv .venv
	$(PIP) install --no-compile --no-deps -r requirements.txt &
	packages=$$!
	while kill -0 $$packages 2>/dev/null; do
		for _ in {1..10}; do
			sleep 0.5
			kill -0 $$packages 2>/dev/null || break
		done
		echo "python: packages of requirements.txt, $$SECONDS s"
	done
	wait $$packages
	$(PIP) install --no-deps --no-build-isolation --editable .
	# Of the providers' thousands of modules only those in use are compiled: importing them once does that.
	$(BIN)/python -c 'import mlcc_infra.targets, mlcc_rehearsal.warm_up'
	echo "python: ready ($$SECONDS s)"
	wait $$engine
	trap - EXIT
	touch $@

demo: setup ## The whole life of a profile on a rehearsed AWS account
	@$(BIN)/mlcc-infra demo

test: setup ## All tests, the real engine included
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder tests

check: setup ## Lint, format, types
	@$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright

format: setup ## Put everything into the project's format
	@$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## Remove what was made in the checkout; the engine's cache outside it stays
	@rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
