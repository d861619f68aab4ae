#!/bin/sh
# Opens exported sessions in Rerun, which has an environment of its own (about 1 GB), made once:
# RERUN_VENV, default .venv-rerun. VENV is twinloop's own.
set -eu
cd "$(dirname "$0")/.."
venv=${VENV:-.venv}
theirs=${RERUN_VENV:-.venv-rerun}
if ! [ -f "$theirs/.ready" ]; then
    echo "installing rerun-sdk into $theirs (a large download)"
    "$venv/bin/python" -m venv --clear "$theirs"
    "$theirs/bin/python" -m pip install --quiet --disable-pip-version-check "rerun-sdk==0.41.0"
    touch "$theirs/.ready"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export RERUN_ANALYTICS=0
"$venv/bin/twinloop" demo "$work/demo" >/dev/null
for encoding in ros2 foxglove; do
    "$venv/bin/twinloop" export mcap --store "$work/demo/store" --encoding "$encoding" --out "$work/$encoding"
    for file in "$work/$encoding"/*.mcap; do
        "$theirs/bin/rerun" mcap check "$file"
        "$theirs/bin/rerun" mcap convert "$file" -o "$work/session.rrd"
        "$theirs/bin/rerun" rrd stats "$work/session.rrd" >/dev/null
    done
done
echo "Rerun opens every session of the demo"
