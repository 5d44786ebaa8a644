#!/usr/bin/env bash
# Install the model gateway `smg` into an environment of its own in the cache folder, and print that folder.
#
#   NAVIGATOR_ENGINES    the cache folder, by default ${XDG_CACHE_HOME:-~/.cache}/navigator-engines
#   PYTHON               the Python that makes the environment, by default python3
set -euo pipefail
umask 022

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${NAVIGATOR_ENGINES:-${XDG_CACHE_HOME:-$HOME/.cache}/navigator-engines}
version=$(sed -n 's/^smg==\([0-9.]*\).*/\1/p' "$here/gateway.txt")
ready=$cache/smg-$version

mkdir -p "$cache"
exec 9>"$cache/.gateway.lock"
flock 9
if [[ ! -e $ready/.complete ]]; then
    echo "Installing the model gateway smg $version into $ready" >&2
    rm -rf "$ready"
    "${PYTHON:-python3}" -m venv "$ready"
    "$ready/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes \
        -r "$here/gateway.txt" >&2
    touch "$ready/.complete"
fi
echo "$ready"
