#!/usr/bin/env bash
# Install coding agents for the tests into a cache folder, each at a pinned version with its hashes, and print the folder.
#
# Nothing of them enters Navigator's own environment. What is in the cache already is not installed again.
#
#   NAVIGATOR_AGENTS    the cache folder, by default ${XDG_CACHE_HOME:-~/.cache}/navigator-agents
#   install.sh [NAME…]  only these: qwen, opencode, vibe
set -euo pipefail
umask 022

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${NAVIGATOR_AGENTS:-${XDG_CACHE_HOME:-$HOME/.cache}/navigator-agents}

say() { echo "$*" >&2; }

# The folder of an agent is named after what is pinned: a new pin is a new folder.
folder_of() { echo "$cache/$1-$(sha256sum "$2" | cut -c1-12)"; }

from_npm() {
    local lock=$here/$1/package-lock.json target
    target=$(folder_of "$1" "$lock")
    [[ -e $target/.complete ]] && return
    command -v npm >/dev/null || { say "No npm, so no $1: install Node.js."; return; }
    say "Installing $1 into $target"
    rm -rf "$target"
    mkdir -p "$target"
    cp "$here/$1/package.json" "$lock" "$target/"
    # Not `npm ci`: it refuses a lock without the packages of other platforms.
    (cd "$target" && npm install --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
    touch "$target/.complete"
}

python_for_vibe() {
    local candidate
    for candidate in "${PYTHON:-}" python3.14 python3.13 python3.12 python3 \
        "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[2-9]*/bin/python3; do
        [[ -n $candidate ]] || continue
        "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null && { echo "$candidate"; return; }
    done
}

vibe() {
    local pins=$here/vibe/requirements.txt target python
    target=$(folder_of vibe "$pins")
    [[ -e $target/.complete ]] && return
    python=$(python_for_vibe)
    [[ -n $python ]] || { say "No Python 3.12 or newer, so no vibe."; return; }
    say "Installing vibe into $target"
    rm -rf "$target"
    "$python" -m venv "$target"
    "$target/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r "$pins" >&2
    touch "$target/.complete"
}

mkdir -p "$cache"
for name in "${@:-qwen opencode vibe}"; do
    for one in $name; do
        case $one in
            qwen | opencode) from_npm "$one" ;;
            vibe) vibe ;;
            *) say "No agent is called $one."; exit 2 ;;
        esac
    done
done
echo "$cache"
