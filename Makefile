# The only commands anyone needs. Each works on a fresh clone: the first makes .venv.
#   make demo | test | test-contracts | test-deep | test-elsewhere | test-oldest | lint | fuzz | bench
#   make core | wheel | test-wheel | clean
# ARGS="-k chain" is passed on to pytest. PYTHON chooses the interpreter of a new environment and
# VENV its folder: make PYTHON=python3.13 VENV=.venv-3.13 test

PYTHON ?= python3
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
CONSTRAINTS := constraints.txt
EXTRAS := test,lint
# Python compiles what it imports, a small part of what is installed.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check \
    -c $(CONSTRAINTS)
# docs/deep.md is for `make test-deep`.
PAGES := $(filter-out docs/deep.md,$(wildcard README.md CONTRIBUTING.md docs/*.md))
CODE := $(wildcard conftest.py src tests benchmarks fuzz tools)

# One thread a process: results repeat, and two pytest workers fill two cores. A file stays with one
# worker (loadfile), so that its kernels are compiled once; which comes next says tests/schedule.py.
# Byte code is kept, whatever the environment says: tests start processes, and each would compile the
# source of the whole package anew.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1
PYTEST := PYTHONDONTWRITEBYTECODE= MPLBACKEND=Agg $(ONE_THREAD) $(BIN)/python -m pytest -q -n 2 --dist loadfile \
    --durations 10 --doctest-modules --doctest-glob='*.md'

.DEFAULT_GOAL := test
.PHONY: demo test test-contracts test-deep deep test-elsewhere test-oldest lint fuzz bench core wheel test-wheel clean

demo: $(VENV)/.installed
	$(BIN)/maxmargin demo

# What compiles most stands apart, so that `make test` keeps to ten minutes: everything against the
# contracts, code compiled in other ways, and recipes followed in copies of the package.
CONTRACTS := tests/contracts tests/recipes tests/test_golden.py \
    $(addprefix tests/core/test_,ahead.py cache.py sources.py) \
    $(addprefix tests/inference/test_,boundscheck.py graphs_uncompiled.py graph_public.py)

test: $(VENV)/.installed
	$(PYTEST) $(ARGS) $(addprefix --ignore=,$(CONTRACTS)) tests src/maxmargin $(PAGES)

test-contracts: $(VENV)/.installed
	$(PYTEST) $(ARGS) $(CONTRACTS)

# The layers over nets. torch is large, so it has an environment of its own, and `make test` leaves
# out what needs it (conftest.py).
DEEP := tests/deep src/maxmargin/deep src/maxmargin/rounding/learnt.py docs/deep.md
test-deep:
	$(MAKE) VENV=.venv-deep EXTRAS=test,test-torch deep

deep: $(VENV)/.installed
	$(PYTEST) $(ARGS) $(wildcard $(DEEP))

# The pages and the estimators once more, as on another processor: numba compiles for the first
# x86-64, OpenBLAS and numpy leave out all that came later, and sets have another order. Digits,
# passes and oracle calls then differ; what a certificate implies must not.
ELSEWHERE := $(PAGES) $(addprefix tests/estimators/test_,chain.py multiclass.py multilabel.py ranking.py)
HASH_SEED := $(shell date +%s)
CPU_FEATURES = $$($(BIN)/python -c \
    'import numpy; print(*numpy.show_config(mode="dicts")["SIMD Extensions"].get("found", ()))')

test-elsewhere: $(VENV)/.installed
	@test "$$(uname -m)" = x86_64 || { echo "make test-elsewhere plays another x86-64" \
	    "processor, and this one is $$(uname -m)." >&2; exit 1; }
	@echo "The same again: make HASH_SEED=$(HASH_SEED) test-elsewhere"
	PYTHONHASHSEED=$(HASH_SEED) NPY_DISABLE_CPU_FEATURES="$(CPU_FEATURES)" \
	    OPENBLAS_CORETYPE=Prescott \
	    NUMBA_CPU_NAME=x86-64 NUMBA_CPU_FEATURES= $(PYTEST) $(ARGS) $(ELSEWHERE)

# With the lowest versions that pyproject.toml admits, in an environment of its own. They have no
# wheels for a Python that is newer than they are: take 3.11.
# Their compiled code is kept apart: another numba would compile each entry of ours anew.
test-oldest: export NUMBA_CACHE_DIR = $(CURDIR)/.venv-oldest/numba
test-oldest:
	$(MAKE) VENV=.venv-oldest CONSTRAINTS=constraints-oldest.txt EXTRAS=test test

# import-linter without its cache: that one misses imports of modules that came after it was written.
lint: $(VENV)/.installed
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# All targets together take a minute. FUZZ="--target svmlight --inputs 100000" asks for more.
FUZZ ?= --seconds 60
fuzz: $(VENV)/.installed
	$(BIN)/python fuzz/run.py $(FUZZ)

bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/run.py

# The library of compiled code, which all other commands use if it is there and fits the source.
# Two processes, one for each level of processors, and minutes; built again when the source has
# changed. `rm -r src/maxmargin/_library` ends it.
LIBRARY := src/maxmargin/_library/x86-64-v3.json
core: $(LIBRARY)

.DELETE_ON_ERROR:
$(LIBRARY): tools/core.py $(shell find src/maxmargin -name '*.py') | $(VENV)/.installed
	$(BIN)/python tools/core.py $(ARGS)
	@touch $@

# Two wheels: one for Linux on x86-64 with the library, and a pure one for all others.
wheel: core
	rm -rf dist
	MAXMARGIN_WHEEL=linux $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

# The wheel with the library in an empty environment without a compiler: nothing may be compiled.
test-wheel: wheel
	MAXMARGIN_WHEELS=dist $(PYTEST) $(ARGS) tests/test_wheel.py

# Environments stay: they are slow to make and hold nothing of ours. `rm -r .venv*` starts afresh.
clean:
	rm -rf build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -rf maxmargin-demo* demo*.png fuzz/findings
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "maxmargin needs Python 3.11 or newer, and $(PYTHON) is not." \
	         "Name one: make PYTHON=python3.12 test" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Stamps: installed again whenever the dependencies change. The interpreter is an order-only
# prerequisite because it is a link whose date is that of the system's Python.
$(VENV)/.installed: pyproject.toml $(CONSTRAINTS) | $(BIN)/python
	@echo "Installing what is needed into $(VENV): a minute or two."
	$(PIP_INSTALL) -e '.[$(EXTRAS)]'
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed
	$(PIP_INSTALL) -e '.[bench]'
	@touch $@
