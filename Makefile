# Needs python3 (3.10 or newer) and make. Everything else goes into .venv.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: help demo test check docs format bench clean
help:
	@echo "make demo    simulate a sensitive table, release it, show what was learned, write a report"
	@echo "make test    run the tests"
	@echo "make check   lint, format, types, layers"
	@echo "make docs    build the documentation to build/docs"
	@echo "make format  apply the formatter and the safe lint fixes"
	@echo "make bench   print the benchmark tables"
	@echo "make clean   remove .venv and caches"

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "dpcov needs Python 3.10 or newer")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group dev
	@touch $@

demo: $(READY)
	@mkdir -p build
	@$(BIN)/dpcov demo --out build/demo --force

test: $(READY)
	$(BIN)/python -m pytest -n 2 -q

check: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(MAKE) --no-print-directory docs

docs: $(READY)
	$(BIN)/sphinx-build -q -W --keep-going -b html docs build/docs

format: $(READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(READY)
	@$(BIN)/python -m benchmarks

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist
