.PHONY: demo test setup lint format benchmarks interop torture docs clean

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
	@for name in startup mcap_decode ingest export memory formats store; do $(VENV)/bin/python -m benchmarks.$$name || exit 1; done

interop: setup  ## Open exports in the real lerobot and in Rerun (environments of their own, large downloads)
	@sh scripts/interop.sh
	@sh scripts/interop_mcap.sh

torture: setup  ## Damage, kill and fill disks thousands of times, which takes hours (docs/torture.md)
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(VENV)/bin/pytest tests/torture --torture -n $${WORKERS:-2}

docs: setup  ## The pages that are made from code: the rules, and what survives, from the results that are there
	@$(VENV)/bin/python -m twinloop.checks.docs docs/rules && $(VENV)/bin/python tests/paths/make_page.py --page

clean:
	rm -rf demo out build dist .pytest_cache .mypy_cache .ruff_cache
