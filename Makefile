.PHONY: demo test setup lint format benchmarks interop docs clean

VENV ?= .venv
export VENV

demo: setup  ## Set up, then record, take in, check and export three synthetic sessions
	@$(VENV)/bin/twinloop demo demo

test: setup  ## Set up, then run everything that continuous integration runs
	@sh scripts/test.sh

setup:
	@sh scripts/setup.sh

lint: setup  ## Style, types, layers
	@$(VENV)/bin/ruff format --check . && $(VENV)/bin/ruff check . && $(VENV)/bin/mypy && $(VENV)/bin/lint-imports --no-logo

format: setup
	@$(VENV)/bin/ruff format . && $(VENV)/bin/ruff check --fix .

benchmarks: setup  ## All benchmarks at full size, one after the other
	@for name in startup mcap_decode ingest export memory; do $(VENV)/bin/python -m benchmarks.$$name || exit 1; done

interop: setup  ## Open an exported dataset in the real lerobot (its own environment, a large download)
	@sh scripts/interop.sh

clean:
	rm -rf demo out build dist .pytest_cache .mypy_cache .ruff_cache
