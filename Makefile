# Needs python3 (3.10 or newer) and make. Everything else goes into .venv.
# On Windows: make and the commands of POSIX, as Git for Windows has them, and PYTHON=python.
PYTHON ?= python3
ifeq ($(OS),Windows_NT)
SCRIPTS := Scripts
else
SCRIPTS := bin
endif
BIN := .venv/$(SCRIPTS)
READY := .venv/.ready

LOWEST := .venv-lowest
# Both cores. What is left is taken over by whoever is done: the longest tests come at any time.
PYTEST := -m pytest -n 2 --dist worksteal

.PHONY: help demo test test-lowest test-sdist test-install test-postgres test-faults test-r check dist sbom docs linkcheck format bench clean test-js test-kernels test-mutants
help:
	@echo "make demo    simulate a sensitive table, release it, show what was learned, write a folder"
	@echo "make test    run the tests"
	@echo "make test-lowest  run them with the lowest versions that are declared"
	@echo "make test-sdist   run them from the archive of the sources, in an environment of its own"
	@echo "make test-install   install wheel and sources with each extra and use them; PYTHONS=\"3.10 3.13\" for several"
	@echo "make test-postgres  test ledgers and collections with a PostgreSQL of the system, which it starts and stops"
	@echo "make test-kernels    run tests of exact numbers with other kernels of BLAS and numpy"
	@echo "make test-faults    the same, dying at every line, with hundreds of kills and long races"
	@echo "make test-r  run exported files with R, lavaan and PSPP of the system"
	@echo "make test-js        build and test the client for browsers; needs node 20 or newer"
	@echo "make test-mutants   break the library on purpose, and see that tests notice: hours; MODULES=\"exact.*\" for some"
	@echo "make check   lint, format, types, layers"
	@echo "make dist    build wheel and archive of the sources twice, to the same bytes, in build/dist"
	@echo "make sbom    write bills of materials to build/sbom"
	@echo "make docs    build the documentation to build/docs, with its gallery, and check its links"
	@echo "make linkcheck    ask whether the pages of others that it links to are there"
	@echo "make format  apply the formatter and the safe lint fixes"
	@echo "make bench   print the benchmark tables"
	@echo "make clean   remove .venv and caches"

$(READY): pyproject.toml src/dpcov/version.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "dpcov needs Python 3.10 or newer")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group dev
	@touch $@

demo: $(READY)
	@mkdir -p build
	@$(BIN)/dpcov demo --out build/demo --force

test: $(READY)
	$(BIN)/python $(PYTEST) $(TESTS)

$(LOWEST)/.ready: pyproject.toml src/dpcov/version.py .ci/lowest.py
	$(PYTHON) -m venv $(LOWEST)
	$(PYTHON) .ci/lowest.py > $(LOWEST)/lowest.txt
	$(LOWEST)/$(SCRIPTS)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(LOWEST)/$(SCRIPTS)/python -m pip install --quiet --editable ".[all]" --group test --group anndata \
		--constraint $(LOWEST)/lowest.txt
	@touch $@

test-lowest: $(LOWEST)/.ready
	DPCOV_TEST_LOWEST=1 $(LOWEST)/$(SCRIPTS)/python $(PYTEST) $(TESTS)

test-sdist: $(READY)
	rm -rf build/sdist
	$(BIN)/python -m build --sdist --outdir build/sdist
	cd build/sdist && tar -xzf dpcov-*.tar.gz && rm dpcov-*.tar.gz
	$(MAKE) -C build/sdist/dpcov-* test

dist: $(READY)
	$(BIN)/python .ci/build.py

# Several minutes for each Python: an environment for each extra.
test-install: dist
	$(BIN)/python .ci/install.py $(PYTHONS) $(if $(EXTRAS),--only $(EXTRAS))

sbom: dist
	$(BIN)/python -m pip install --quiet --group release
	$(BIN)/python .ci/sbom.py

# A server on a free port in a temporary folder, which is gone afterwards.
test-postgres: $(READY)
	.ci/postgresql.sh $(BIN)/python -m pytest tests/ledger tests/collect

test-faults: $(READY)
	DPCOV_TEST_FAULTS=1 .ci/postgresql.sh $(BIN)/python -m pytest -s tests/ledger/test_faults.py tests/collect/test_kills.py

test-kernels: $(READY)
	$(BIN)/python .ci/kernels.py

# Debian: apt-get install --no-install-recommends r-base-core r-cran-lavaan pspp
test-r: $(READY)
	DPCOV_TEST_R=1 $(BIN)/python -m pytest -s tests/answers/test_lavaan.py tests/answers/test_r_page.py tests/answers/test_spss_matrix.py

# The tests in Chromium among them are skipped where there is none.
test-js: $(READY)
	@if node -e 'process.exit(Number(parseInt(process.versions.node) < 20))' 2>/dev/null && command -v npm >/dev/null; then \
		cd clients/javascript; \
		npm ci --silent || { echo "The client for browsers was not tried: its tools cannot be installed here."; exit 0; }; \
		npm test --silent && cd ../.. && $(BIN)/python -m pytest tests/clients tests/collect/test_page.py tests/collect/test_page_access.py; \
	else \
		echo "The client for browsers was not tried: there is no node 20 or newer with npm here."; \
	fi

# What is broken, what notices it, and what is left: docs/mutation.md. It goes on where it was ended.
MODULES ?= *
test-mutants: $(READY)
	$(BIN)/python -m pip install --quiet --group mutation
	@$(BIN)/python -m audits.mutation --modules $(foreach each,$(MODULES),'$(each)') $(MUTANTS)

check: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(MAKE) --no-print-directory docs

# Runs the gallery, where it or the library has changed, and then looks whether every link leads somewhere.
docs: $(READY)
	$(BIN)/sphinx-build -q -W --keep-going -b html docs build/docs
	$(BIN)/python docs/links.py build/docs

# Asks the servers of others whether their pages are there; nothing else does.
linkcheck: $(READY)
	$(BIN)/sphinx-build -q -b linkcheck docs build/linkcheck

format: $(READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(READY)
	@$(BIN)/python -m benchmarks

clean:
	rm -rf .venv $(LOWEST) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist clients/javascript/node_modules clients/javascript/build clients/javascript/dist docs/generated
