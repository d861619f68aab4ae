#!/bin/sh
# Makes sure that the tests find PostgreSQL: installs Debian's where there is none and this user may.
# Each test process starts a server of its own (tests/store/postgres.py).
set -eu
command -v initdb >/dev/null 2>&1 && exit 0
for found in /usr/lib/postgresql/*/bin/initdb; do
    [ -x "$found" ] && exit 0
done
if ! command -v apt-get >/dev/null 2>&1 || [ "$(id -u)" != 0 ]; then
    echo "PostgreSQL is not installed, and cannot be installed from here: its tests will be skipped" >&2
    exit 0
fi
echo "installing postgresql" >&2
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql >/dev/null ||
    echo "PostgreSQL could not be installed: its tests will be skipped" >&2
