# `make demo` and `make test` set up everything they need on a machine with Python 3.11+ and make.
PYTHON ?= python3
BIN := .venv/bin
JOBS ?= auto
LOWEST := tests/analysis tests/consensus tests/images/test_reading.py tests/images/test_raster.py tests/metrics tests/results $(wildcard tests/test_golden_*.py)

.DEFAULT_GOAL := help
.PHONY: help demo test test-lowest check format gallery bench fuzz clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

# A stamp, made last, so that an interrupted install is begun again.
.venv/ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "segjury needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $@

demo: .venv/ready  ## make a synthetic benchmark, score it, rank it and write its report
	$(BIN)/segjury demo --out demo

test: .venv/ready  ## run all tests
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(JOBS) --dist loadfile

# The lowest versions that pyproject.toml declares; uv is what can choose them.
.venv-lowest/ready: pyproject.toml
	$(PYTHON) -m venv --clear .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet 'uv>=0.8'
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct --editable .
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --group tests
	touch $@

# A small suite. Old libraries warn of what newer Pythons and neighbours will drop: not ours to mend.
test-lowest: .venv-lowest/ready  ## run the main job and a small suite with the lowest versions of all libraries
	out=$$(mktemp -d) && .venv-lowest/bin/segjury demo --out $$out/demo; status=$$?; rm -rf $$out; exit $$status
	.venv-lowest/bin/python -m pytest -q -n $(JOBS) --dist loadfile -W ignore::DeprecationWarning $(LOWEST)

check: .venv/ready  ## lint, types, import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/ready  ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

gallery: demo  ## draw the figures of the documentation from the demo
	$(BIN)/python docs/make_gallery.py demo

bench: .venv/ready  ## print the performance tables; ARGS=--quick takes two minutes
	$(BIN)/python benchmarks/run.py $(ARGS)

fuzz: .venv/ready  ## fuzz every reader for a minute
	$(BIN)/python -m pip install --quiet --group fuzz
	for target in $$($(BIN)/python fuzz/fuzz.py --list); do $(BIN)/python fuzz/fuzz.py $$target --seconds 60 || exit 1; done

clean:  ## remove what the other targets made
	rm -rf .venv .venv-lowest demo .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
