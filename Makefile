PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --constraint constraints.txt
PYTEST := $(BIN)/python -m pytest --numprocesses logical --nbmake --cov --cov-report=

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint hooks bench results clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "%-10s%s\n", $$1, $$2}'

demo: $(VENV)/.learn  ## train a small agent and report how far from perfect it plays
	$(BIN)/python -m agents.train --config configs/ppo_quick.yaml

test: lint  ## lint, type-check, and run every test not marked slow
	$(PYTEST) -m "not slow"
	$(BIN)/coverage report

test-all: lint  ## the same with the slow tests
	$(PYTEST)
	$(BIN)/coverage report

lint: $(VENV)/.dev  ## check style, format, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

hooks: $(VENV)/.dev  ## run the linter and the type checker before each commit
	$(BIN)/pre-commit install

bench: $(VENV)/.dev  ## measure the speed of the environments and of the solver
	$(BIN)/python -m benchmarks.speed

results: $(VENV)/.dev  ## measure every player and write the results (about an hour)
	$(BIN)/python -m benchmarks.results

clean:  ## remove the virtual environment, caches and build outputs
	rm -rf $(VENV) build dist *.egg-info .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A virtual environment of an old Python, or an incomplete one, would block the next attempt.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: Python 3.11 or newer is needed; name one, such as: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# The stamps record what is installed, so that only a changed requirement installs again.
$(VENV)/.learn: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable ".[learn,plots]"
	touch $@

# The development extra holds all the others.
$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable ".[dev]"
	touch $(VENV)/.learn $@
