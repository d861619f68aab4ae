#!/bin/sh
# Opens exported datasets in the real lerobot, v2.1 by way of its converter. It gets an environment of its own
# (Python 3.12, about 6 GB with torch), made once: INTEROP_VENV, default .venv-interop. VENV is twinloop's own.
set -eu
cd "$(dirname "$0")/.."
lerobot="lerobot[dataset]==0.6.1"
venv=${VENV:-.venv}
theirs=${INTEROP_VENV:-$(pwd)/.venv-interop}
if ! [ -f "$theirs/.ready" ]; then
    python=""
    for candidate in ${PYTHON312:-} python3.12 "$HOME"/.pyenv/versions/3.12.*/bin/python; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 12))' 2>/dev/null; then
            python=$candidate
            break
        fi
    done
    [ -n "$python" ] || { echo "lerobot 0.6.1 needs Python 3.12; none was found (set PYTHON312=/path/to/python)" >&2; exit 1; }
    echo "installing $lerobot into $theirs (a large download)"
    "$python" -m venv --clear "$theirs"
    "$theirs/bin/python" -m pip install --quiet --disable-pip-version-check "$lerobot"
    touch "$theirs/.ready"
fi
# torchcodec, which LeRobot decodes with by default, wants a system FFmpeg: PyAV's own libraries serve, under
# the names it asks for.
site=$("$theirs/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
mkdir -p "$theirs/ffmpeg"
for library in "$site"/av.libs/libav*.so.* "$site"/av.libs/libsw*.so.*; do
    [ -e "$library" ] || continue
    name=$(basename "$library")
    version=${name##*.so.}
    ln -sf "$library" "$theirs/ffmpeg/${name%%-*}.so.${version%%.*}"
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$venv/bin/python" tests/interop/make_dataset.py "$work/interop"
export HF_HUB_OFFLINE=1 HF_HOME="$work/hf" LD_LIBRARY_PATH="$theirs/ffmpeg:$site/av.libs"
"$theirs/bin/python" tests/interop/open_in_lerobot.py "$work/interop"
# TensorFlow wants an environment of its own: TFDS_VENV names one with tensorflow and tensorflow_datasets.
if [ -n "${TFDS_VENV:-}" ]; then
    env -u LD_LIBRARY_PATH "$TFDS_VENV/bin/python" tests/interop/open_in_tfds.py "$work/interop"
fi
