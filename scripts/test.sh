#!/bin/sh
# Everything that continuous integration runs: style, types, layers, tests.
set -eu
cd "$(dirname "$0")/.."
bin="${VENV:-.venv}/bin"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
sh scripts/postgres.sh
"$bin/ruff" format --check .
"$bin/ruff" check .
"$bin/mypy"
"$bin/lint-imports" --no-logo
"$bin/pytest" -n "${WORKERS:-2}" --durations=15 "$@"
