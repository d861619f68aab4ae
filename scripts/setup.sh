#!/bin/sh
# Makes the environment VENV (default .venv) with twinloop and what its tests need.
set -eu
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
stamp="$venv/.twinloop-setup"
wanted=$(cksum pyproject.toml scripts/setup.sh)
[ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && exit 0
python=$(sh scripts/find-python.sh)
if ! [ -x "$venv/bin/python" ] && ! "$python" -m venv "$venv"; then
    # Debian splits venv from Python.
    echo "installing python3-venv" >&2
    apt-get update -qq && apt-get install -y -qq python3-venv
    "$python" -m venv --clear "$venv"
fi
echo "installing twinloop into $venv ($("$venv/bin/python" --version))"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -e ".[dev]" 2>"$venv/pip.log" || {
    cat "$venv/pip.log" >&2
    exit 1
}
# The first start would compile all bytecode otherwise.
"$venv/bin/python" -m compileall -q "$venv/lib" src >/dev/null 2>&1 || true
printf '%s' "$wanted" >"$stamp"
