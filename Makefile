# The only commands anyone needs. Each works on a fresh clone: the first makes .venv.
#   make demo | test | lint | bench | clean
# PYTHON=python3.12 chooses the interpreter of a new .venv; ARGS="-k chain" is passed on to pytest.

PYTHON ?= python3
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
PAGES := $(wildcard README.md CONTRIBUTING.md docs/*.md)
CODE := $(wildcard src tests benchmarks)

.DEFAULT_GOAL := test
.PHONY: demo test lint bench clean

demo: $(VENV)/.installed
	$(BIN)/maxmargin demo

# One thread a process: results repeat, and two pytest workers fill two cores. A file stays with one
# worker (loadfile), so that its kernels are compiled once.
test: export OMP_NUM_THREADS = 1
test: export OPENBLAS_NUM_THREADS = 1
test: export MKL_NUM_THREADS = 1
test: export NUMBA_NUM_THREADS = 1
test: export MPLBACKEND = Agg
test: $(VENV)/.installed
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --durations 10 \
	    --doctest-modules --doctest-glob='*.md' $(ARGS) tests src/maxmargin $(PAGES)

# import-linter without its cache: that one misses imports of modules that came after it was written.
lint: $(VENV)/.installed
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/run.py

# The environment stays: it is slow to make and holds nothing of ours. `rm -r .venv` starts afresh.
clean:
	rm -rf build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -rf maxmargin-demo* demo*.png
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "maxmargin needs Python 3.11 or newer, and $(PYTHON) is not." \
	         "Name one: make PYTHON=python3.12 test" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Stamps: installed again whenever the dependencies change. The interpreter is an order-only
# prerequisite because it is a link whose date is that of the system's Python.
$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing what is needed into $(VENV): a minute or two."
	$(PIP_INSTALL) -e '.[test,lint]'
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed
	$(PIP_INSTALL) -e '.[bench]'
	@touch $@
