# Two commands for a new user: `make quickstart` and `make test`. Both make .venv and install what they
# need on the first call; later calls install again only when pyproject.toml or constraints.txt changed.

PYTHON ?= python3
QUICKSTART_ARGS ?=
PYTEST_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
BACKENDS := tensorflow jax torch
SLOW_BACKEND ?= tensorflow
WORKERS ?= 2
PYTEST_NONE_COLLECTED := 5

# The extras that `$(VENV)/.installed-NAME` stands for.
EXTRAS_quickstart := export,demo
EXTRAS_test := test
EXTRAS_docs := docs

.DEFAULT_GOAL := help
.NOTPARALLEL:
.SECONDARY:
.PHONY: help quickstart test $(BACKENDS:%=test-%) test-slow lint format docs wheel-check clean

help:
	@echo "make quickstart   fine-tune, distill and export on the bundled sample, print the table"
	@echo "                  (QUICKSTART_ARGS='--backend jax --output DIR' passes options on)"
	@echo "make test         the test suite on $(BACKENDS), one after another"
	@echo "                  (WORKERS=4 runs four test files at a time)"
	@echo "make test-jax     the test suite on one backend (PYTEST_ARGS='-k name' passes options on)"
	@echo "make test-slow    the tests that take minutes, on one backend"
	@echo "make lint         ruff and the direction of imports"
	@echo "make format       let ruff rewrite what it can"
	@echo "make docs         build the site, strictly, into site/"
	@echo "make wheel-check  build a wheel and check what is in it"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("kerasbert needs Python 3.11 or newer: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

# One pip call per purpose, so that pip sees all requirements at once and the pins hold for every one.
# PIP_USE_PEP517: seqeval has no wheel, and without isolation an older pip cannot build its source.
$(VENV)/.installed-%: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing kerasbert[$(EXTRAS_$*)] into $(VENV): some minutes and gigabytes the first time."
	PIP_USE_PEP517=1 $(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable ".[$(EXTRAS_$*)]"
	@touch $@

quickstart: $(VENV)/.installed-quickstart
	$(BIN)/kerasbert quickstart $(QUICKSTART_ARGS)

test: $(BACKENDS:%=test-%)

$(BACKENDS:%=test-%): test-%: $(VENV)/.installed-test
	@echo "== tests on $* =="
	KERAS_BACKEND=$* $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(PYTEST_ARGS)

test-slow: $(VENV)/.installed-test
	@echo "== slow tests on $(SLOW_BACKEND) =="
	KERAS_BACKEND=$(SLOW_BACKEND) $(BIN)/python -m pytest -m slow -n $(WORKERS) --dist loadfile $(PYTEST_ARGS) || \
		[ $$? -eq $(PYTEST_NONE_COLLECTED) ]

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.installed-docs
	$(BIN)/mkdocs build --strict

wheel-check: $(VENV)/.installed-test
	rm -rf build
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/wheel .
	$(BIN)/python .ci/check_wheel.py build/wheel/*.whl

clean:
	rm -rf $(VENV) build dist site *.egg-info
