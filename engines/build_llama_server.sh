#!/usr/bin/env bash
# Build llama-server and a tiny model for it into a cache folder, and print the folder that holds both.
#
# Needs a C++ compiler and a package index that pip can reach; CMake and Ninja come from there. What is in
# the cache already is not built again. The model answers nonsense: it proves the wire, never quality.
#
#   NAVIGATOR_ENGINES    the cache folder, by default ${XDG_CACHE_HOME:-~/.cache}/navigator-engines
#   PYTHON               the Python that makes the build's own environment, by default python3
set -euo pipefail
umask 022

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${NAVIGATOR_ENGINES:-${XDG_CACHE_HOME:-$HOME/.cache}/navigator-engines}
pin=$here/llama-cpp-python.txt
tokenizer=$here/../tests/client/data/tokenizer/tokenizer.json
version=$(sed -n 's/^llama-cpp-python==\([0-9.]*\).*/\1/p' "$pin")
ready=$cache/llama-server-$version

say() { echo "$*" >&2; }

# The build's own environment, named after what is in it: Navigator's never sees these packages.
make_environment() {
    local digest
    digest=$(sha256sum "$here/requirements.txt" | cut -c1-12)
    environment=$cache/tools-$digest
    [[ -e $environment/.complete ]] && return
    say "Installing CMake, Ninja and gguf into $environment"
    rm -rf "$environment"
    "${PYTHON:-python3}" -m venv "$environment"
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes \
        -r "$here/requirements.txt" >&2
    touch "$environment/.complete"
}

build_server() {
    local work sources
    command -v c++ >/dev/null || { say "No C++ compiler: apt install g++"; exit 1; }
    work=$(mktemp -d "$cache/build.XXXXXX")
    # shellcheck disable=SC2064  # the folder's name is wanted as it is now
    trap "rm -rf '$work'" EXIT
    say "Fetching the sources of llama.cpp (llama-cpp-python $version)"
    "$environment/bin/python" -m pip download --quiet --disable-pip-version-check --require-hashes --no-deps \
        --no-binary :all: --no-build-isolation -r "$pin" -d "$work" >&2
    sources=$work/sources
    mkdir "$sources"
    tar -xzf "$work"/llama_cpp_python-*.tar.gz -C "$sources" --strip-components=3 --no-same-owner \
        "llama_cpp_python-$version/vendor/llama.cpp"
    # One file that runs on other machines too: nothing shared, nothing tuned to this processor. No web page
    # (it would be downloaded), no TLS. Processes of its own: the router starts one a model. -O1 halves the
    # compiler's time.
    say "Building llama-server: some minutes on two cores"
    PATH=$environment/bin:$PATH cmake -S "$sources" -B "$work/build" -G Ninja --log-level=WARNING \
        -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE="-O1 -DNDEBUG" \
        -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" -DBUILD_SHARED_LIBS=OFF \
        -DGGML_NATIVE=OFF -DGGML_CUDA=OFF -DGGML_OPENMP=OFF -DGGML_CCACHE=OFF \
        -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_SUBPROCESS=ON \
        -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF \
        -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF \
        -DLLAMA_BUILD_TOOLS=ON -DLLAMA_BUILD_SERVER=ON >&2
    PATH=$environment/bin:$PATH cmake --build "$work/build" --target llama-server >&2
    strip "$work/build/bin/llama-server"
    mkdir -p "$ready"
    cp "$sources/LICENSE" "$ready/LICENSE"
    # Last, and in one step: a folder with this file is whole.
    mv "$work/build/bin/llama-server" "$ready/llama-server"
    rm -rf "$work"
    trap - EXIT
}

make_model() {
    "$environment/bin/python" "$here/tiny_gguf.py" "$tokenizer" "$ready/tiny.gguf.part"
    mv "$ready/tiny.gguf.part" "$ready/tiny.gguf"
}

mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9 # two builds at once would only be slower
[[ -x $ready/llama-server ]] || { make_environment; build_server; }
if [[ ! -e $ready/tiny.gguf || $here/tiny_gguf.py -nt $ready/tiny.gguf || $tokenizer -nt $ready/tiny.gguf ]]; then
    make_environment
    make_model
fi
echo "$ready"
