# Everything here needs only Python 3.11+ and make: each target sets up .venv first, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m uv pip install --quiet --python $(BIN)/python
# tests run in parallel processes, so each keeps to one BLAS thread
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
PYTEST_ARGS ?=
# folder with the real data of the paper's experiments
DATA ?= $(VARIEGATE_DATA)
EXPERIMENTS := toy simulation temperature genes

.DEFAULT_GOAL := help
.PHONY: help demo paper test test-slow test-oldest lint format docs pictures bench clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

# a stamp after the last step: set-up that was interrupted starts again
$(VENV)/.uv:
	@$(PYTHON) -c 'import sys; sys.exit("variegate needs Python 3.11 or newer, this is " + sys.version.split()[0] \
	  + ". Try: make PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@touch $@

$(VENV)/.dev: $(VENV)/.uv pyproject.toml
	$(INSTALL) -e ".[dev]"
	@touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(INSTALL) -e ".[dev,bench]"
	@touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(INSTALL) -e ".[dev,docs]"
	@touch $@

demo: $(VENV)/.dev  ## select from the breast cancer data, and name the page to open
	$(BIN)/variegate demo --overwrite

paper: $(VENV)/.dev  ## the paper's experiments into experiments/: make paper DATA=folder
	$(foreach name,$(EXPERIMENTS),$(BIN)/python -m experiments.$(name) --data "$(DATA)" --n-jobs 2 --out experiments/$(name) &&) true

test: $(VENV)/.dev  ## the test suite
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 -m "not slow and not real" $(PYTEST_ARGS)

test-real: $(VENV)/.dev  ## what needs a browser, a cluster of processes, or runs every page of the documentation
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 -m "real and not slow" $(PYTEST_ARGS)

test-slow: $(VENV)/.dev  ## the test suite with its slow part
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 $(PYTEST_ARGS)

test-oldest: pyproject.toml  ## the test suite on the oldest supported dependencies
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check uv
	.venv-oldest/bin/python -m uv pip install --quiet --python .venv-oldest/bin/python --resolution lowest-direct -e ".[dev]"
	$(ONE_THREAD) .venv-oldest/bin/python -m pytest -n 2 -m "not slow" $(PYTEST_ARGS)

lint: $(VENV)/.dev  ## style and types
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

format: $(VENV)/.dev  ## let ruff tidy the code
	$(BIN)/python -m ruff format .
	$(BIN)/python -m ruff check --fix .

docs: $(VENV)/.docs  ## the site, docs/_build/html/index.html; warnings, dead links and remote resources are errors
	rm -rf docs/_build docs/gallery
	$(ONE_THREAD) MPLBACKEND=agg $(BIN)/python -m sphinx -b html -W --keep-going -n -q docs docs/_build/html
	$(BIN)/python docs/check_site.py docs/_build/html

pictures: $(VENV)/.dev  ## the README's pictures anew, and the numbers of its captions
	$(BIN)/python docs/pictures/near_copies.py
	$(BIN)/python docs/pictures/report.py

bench: $(VENV)/.bench  ## speed and memory, side by side with the peers
	$(BIN)/python -m benchmarks

clean:  ## remove the environments and caches
	rm -rf $(VENV) .venv-oldest docs/_build docs/gallery .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
