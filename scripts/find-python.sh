#!/bin/sh
# Prints the first Python 3.11 or 3.12 that really runs (a pyenv shim may exist and refuse).
for python in ${PYTHON:-} python3.12 python3.11 python3 python; do
    if "$python" -c 'import sys; sys.exit(sys.version_info[:2] not in {(3, 11), (3, 12)})' 2>/dev/null; then
        command -v "$python"
        exit 0
    fi
done
echo "twinloop needs Python 3.11 or 3.12; none was found (set PYTHON=/path/to/python)" >&2
exit 1
