#!/usr/bin/env bash
# Install a real SGLang server that runs on the CPU, make a tiny model for it, and print the folder with both.
#
# Nothing is compiled: 136 wheels, 0.7 GB to fetch and 2.4 GB on disk. Needs Python 3.11 on Linux x86-64 and a package
# index that pip can reach. What is in the cache already is not installed again. The model answers nonsense: it proves
# the wire, never quality.
#
#   NAVIGATOR_ENGINES    the cache folder, by default ${XDG_CACHE_HOME:-~/.cache}/navigator-engines
#   PYTHON               the Python for the server's own environment, by default python3.11, or python3 if it is one
#   TORCH_WHEELS         a folder or page with the CPU build of PyTorch, if pip does not find it
set -euo pipefail
umask 022

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${NAVIGATOR_ENGINES:-${XDG_CACHE_HOME:-$HOME/.cache}/navigator-engines}
python=${PYTHON:-$(command -v python3.11 || echo python3)}
requirements=$here/sglang-requirements.txt
tokenizer=$here/../tests/client/data/tokenizer/tokenizer.json
maker=$here/sglang_cpu/tiny_model.py
version=$(sed -n 's/^sglang==\([0-9.]*\).*/\1/p' "$requirements")
digest=$(sha256sum "$requirements" | cut -c1-12)
ready=$cache/sglang-$version-$digest

say() { echo "$*" >&2; }

check_machine() {
    [[ $(uname -sm) == "Linux x86_64" ]] || { say "The pinned wheels are for Linux on x86-64."; exit 1; }
    "$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null ||
        { say "The pinned wheels are for Python 3.11: name one with PYTHON=…"; exit 1; }
    local free
    free=$(df --output=avail -B1M "$cache" | tail -1)
    ((free > 5000)) || { say "SGLang needs 5 GB of room in $cache, there are $free MB."; exit 1; }
}

install_server() {
    local find=()
    [[ -n ${TORCH_WHEELS:-} ]] && find=(--find-links "$TORCH_WHEELS")
    say "Installing SGLang $version into $ready: a few minutes"
    rm -rf "$ready"
    "$python" -m venv "$ready"
    "$ready/bin/python" -m pip install --quiet --quiet --disable-pip-version-check --no-deps --only-binary :all: \
        --require-hashes "${find[@]}" -r "$requirements" >&2 || {
        rm -rf "$ready"
        say "Not installed. If PyTorch was not found: TORCH_WHEELS=<a place with the CPU build of torch> $0"
        exit 1
    }
    # Last, and in one step: a folder with this file is whole.
    touch "$ready/.complete"
}

make_model() {
    rm -rf "$ready/tiny" "$ready/tiny.part"
    HF_HUB_OFFLINE=1 "$ready/bin/python" "$maker" "$tokenizer" "$ready/tiny.part" >&2
    mv "$ready/tiny.part" "$ready/tiny"
}

mkdir -p "$cache"
exec 8>"$cache/.sglang.lock"
flock 8 # two installations at once would only be slower
[[ -e $ready/.complete ]] || { check_machine; install_server; }
if [[ ! -e $ready/tiny || $maker -nt $ready/tiny || $tokenizer -nt $ready/tiny ]]; then
    make_model
fi
echo "$ready"
