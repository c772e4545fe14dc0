# Every target works on a fresh clone with Python >= 3.11, make and pip; `make` alone lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PEERS := .venv-peers
OLDEST := .venv-oldest
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable

# One thread per process: tests run one process per core, and timings need a fixed number.
PINNED := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMEXPR_NUM_THREADS=1 \
          VECLIB_MAXIMUM_THREADS=1

# One process per core; a core that is done takes tests from the others, since some take minutes and most milliseconds.
PARALLEL := -n auto --dist worksteal

# Extra arguments, as in: make test PYTEST_ARGS="-k kernel -x"
PYTEST_ARGS ?=
BENCH_ARGS ?=
PAPER_ARGS ?=
FUZZ_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help venv demo test test-all test-oldest fuzz soak lint format docs bench bench-peers bench-peers-tables paper paper-rivals clean
.DELETE_ON_ERROR:

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(VENV)/.installed-dev ## create .venv with everything needed for development

# The commands of the README, on the tables that it names.
demo: $(VENV)/.installed-demo ## run the demonstration: fit, forecast and report a table; a minute with the installation
	@mkdir -p torusgp-demo
	cd torusgp-demo && ../$(BIN)/python ../examples/demand.py
	cd torusgp-demo && ../$(BIN)/torusgp fit demand.csv --target demand -o model.npz
	cd torusgp-demo && ../$(BIN)/torusgp forecast model.npz --future weather.csv -o forecast.csv
	cd torusgp-demo && ../$(BIN)/torusgp report model.npz -o report.html
	@echo "Made: open torusgp-demo/report.html in a browser."

test: $(VENV)/.installed-dev ## run the tests and doctests, except the slow ones
	$(PINNED) $(BIN)/python -m pytest $(PARALLEL) $(PYTEST_ARGS)

test-all: $(VENV)/.installed-dev ## run all tests, the slow ones too; installs a browser where it may
	@command -v chromium chromium-browser google-chrome >/dev/null || apt-get install --yes --quiet chromium || \
	  echo "No Chromium: tests of the report in a browser are skipped." >&2
	$(PINNED) $(BIN)/python -m pytest $(PARALLEL) -m "" $(PYTEST_ARGS)

test-oldest: $(OLDEST)/.installed ## run the tests with the oldest libraries that are supported, in an environment of their own
	$(PINNED) $(OLDEST)/bin/python -m pytest $(PARALLEL) --ignore=tests/adapters $(PYTEST_ARGS)

fuzz: $(VENV)/.installed-dev ## attack the library for five minutes; FUZZ_ARGS="--minutes 20 --seed 3"
	$(PINNED) $(BIN)/python -m tests.fuzz $(FUZZ_ARGS)

soak: $(VENV)/.installed-dev ## stream, fit and predict in one process for an hour: memory stays, answers stay
	$(PINNED) $(BIN)/python -m tests.fuzz.soak $(FUZZ_ARGS)

lint: $(VENV)/.installed-dev ## check style, formatting, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(VENV)/.installed-dev ## fix style and formatting where that is automatic
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(VENV)/.installed-docs ## build the documentation and run its gallery; one or two minutes
	@rm -rf docs/reference/generated  # pages of names that are gone would stay
	$(PINNED) $(BIN)/python -m sphinx -q -W -n --keep-going docs docs/_build/html
	@echo "Built: open docs/_build/html/index.html"

# Other people's libraries stay out of the development environment.
bench-peers: $(PEERS)/.installed ## compare with other methods, on one thread, in an environment of their own
	$(PINNED) $(PEERS)/bin/python -m benchmarks.peers $(BENCH_ARGS)

bench-peers-tables: $(PEERS)/.installed ## compare on published tables and series; TORUSGP_DATA names their folder
	$(PINNED) $(PEERS)/bin/python -m benchmarks.peers.tables $(BENCH_ARGS)

bench: $(VENV)/.installed-dev ## run the benchmarks, on one thread
	$(PINNED) $(BIN)/python -m benchmarks $(BENCH_ARGS)

paper: $(VENV)/.installed-dev ## repeat the paper's figures, table and claims; TORUSGP_DATA names the folder of its images
	$(PINNED) $(BIN)/python -m paper $(PAPER_ARGS)

paper-rivals: $(VENV)/.installed-dev ## beyond the paper: rivals on the same holes, and a robot arm
	$(PINNED) $(BIN)/python -m paper --rivals $(PAPER_ARGS)

clean: ## remove the environment, caches and build products
	rm -rf $(VENV) $(PEERS) $(OLDEST) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis \
	  docs/_build docs/examples docs/reference/generated
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: a target is installed again only when pyproject.toml is newer than its stamp.
$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  found=$$($(PYTHON) --version 2>/dev/null) || found="not to be found"; \
	  echo "torusgp needs Python >= 3.11, but $(PYTHON) is $$found." >&2; \
	  echo "Name another one, as in: make PYTHON=python3.12 $(or $(MAKECMDGOALS),venv)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed-demo: pyproject.toml $(VENV)/.created
	$(PIP_INSTALL) '.[cli,plot,io]'
	@touch $@

$(VENV)/.installed-docs: pyproject.toml $(VENV)/.created
	$(PIP_INSTALL) '.[docs]'
	@touch $@

# Development needs all that the demonstration and the documentation do, so their stamps are set too.
$(VENV)/.installed-dev: pyproject.toml $(VENV)/.created
	$(PIP_INSTALL) '.[dev]'
	@touch $(VENV)/.installed-demo $(VENV)/.installed-docs $@

# The lowest versions that pyproject.toml allows, on the oldest Python. OLDEST_PYTHON names another one.
OLDEST_PYTHON ?= python3.11
$(OLDEST)/.installed: pyproject.toml tests/oldest.txt
	$(OLDEST_PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[cli,plot,data,io,dask]' \
	  --requirement tests/oldest.txt
	@touch $@

$(PEERS)/.installed: pyproject.toml benchmarks/peers/requirements.txt $(VENV)/.created
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[plot,io]' \
	  --requirement benchmarks/peers/requirements.txt
	@touch $@
