# `make demo` and `make test` are the only commands a fresh clone needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo test test-long check benchmarks clean

demo: $(INSTALLED)
	rm -rf demo
	$(BIN)/gridveil demo --out demo

test: check
	$(BIN)/pytest -n 2 --dist worksteal
	$(PYTHON) tests/wheel.py

check: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

test-long: $(INSTALLED)
	HYPOTHESIS_PROFILE=long $(BIN)/pytest -n 2 --dist worksteal

benchmarks: $(INSTALLED)
	$(BIN)/python benchmarks/run.py

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[stpt,test]'
	touch $(INSTALLED)

clean:
	rm -rf $(VENV) build dist demo .mypy_cache .pytest_cache .ruff_cache .hypothesis
