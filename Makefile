# Every target works on a machine that has only Python and make: the first one called makes .venv.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test lint clean

# Trains connect four on this machine; called again, it goes on from where it stopped.
demo: .venv/installed
	if [ -d runs/demo ]; then $(BIN)/azjax train --resume runs/demo; \
	else $(BIN)/azjax train connect_four --preset demo --run-dir runs/demo; fi

test: lint
	$(BIN)/python -m pytest -n 2

lint: .venv/installed-test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright --project . --pythonpath $(BIN)/python

# Runs are kept.
clean:
	rm -rf .venv .pytest_cache .ruff_cache build dist
	find . -name __pycache__ -prune -exec rm -rf {} +

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) -e .
	touch $@

.venv/installed-test: .venv/installed
	$(INSTALL) -e '.[test]'
	touch $@
