PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint bench results clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "%-10s%s\n", $$1, $$2}'

demo: $(VENV)/.learn  ## train a small agent and report how far from perfect it plays
	$(BIN)/python -m agents.train --config configs/ppo_quick.yaml

test: lint  ## lint, type-check, and run every test not marked slow
	$(BIN)/python -m pytest --numprocesses logical --nbmake -m "not slow"

test-all: lint  ## the same with the slow tests
	$(BIN)/python -m pytest --numprocesses logical --nbmake

lint: $(VENV)/.dev  ## check style, format and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: $(VENV)/.dev  ## measure the speed of the environments and of the solver
	$(BIN)/python -m benchmarks.speed

results: $(VENV)/.dev  ## measure every player and write the results (an hour or so)
	$(BIN)/python -m benchmarks.results

clean:  ## remove the virtual environment, caches and build outputs
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The stamps record what is installed, so that only a changed requirement installs again.
$(VENV)/.learn: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable ".[learn,plots]"
	touch $@

# The development extra holds all the others.
$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) --editable ".[dev]"
	touch $(VENV)/.learn $@
