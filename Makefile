# `make demo` and `make test` are the only commands a fresh clone needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --constraint constraints.txt
# Two steps of one environment: what the demo uses, and on top of it everything that the tests use.
DEMO := $(VENV)/.demo
INSTALLED := $(VENV)/.installed

.PHONY: demo test test-long check benchmarks screenshots clean

demo: $(DEMO)
	rm -rf demo
	$(BIN)/gridveil demo --out demo

test: check
	$(BIN)/python tests/browser/chromium.py
	$(BIN)/python tests/trusted/engines/java.py
	$(BIN)/pytest -n 2 --dist worksteal
	$(BIN)/python tests/wheel.py

check: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

test-long: $(INSTALLED)
	$(PIP) --editable '.[long]'
	$(BIN)/python tests/dependencies.py
	HYPOTHESIS_PROFILE=long $(BIN)/pytest -n 2 --dist worksteal
	$(BIN)/python -m tests.fuzz.atheris_readers 120

screenshots: $(INSTALLED)
	$(BIN)/python tests/browser/chromium.py
	GRIDVEIL_SCREENSHOTS=1 $(BIN)/pytest -q tests/browser/test_picture.py

benchmarks: $(INSTALLED)
	$(BIN)/python benchmarks/run.py

$(DEMO): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "gridveil needs Python 3.11 or later; try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(PIP) --editable .
	touch $(DEMO)

$(INSTALLED): $(DEMO)
	$(PIP) --editable '.[test]'
	touch $(INSTALLED)

clean:
	rm -rf $(VENV) build dist demo examples/lcl .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
