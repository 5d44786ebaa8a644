#!/usr/bin/env bash
# Build llama-server and steps for this machine's GPU, and print the folder that holds both.
#
#   build.sh [OUT]       by default ${XDG_CACHE_HOME:-~/.cache}/navigator-engines/gpu-VERSION
#
#   BACKEND              cuda (the default) or cpu, to try the scripts without a GPU
#   CUDA_ARCHITECTURES   by default native: the card of this machine; 90 for an H100 or H200, 120 for an RTX PRO 6000
#   SOURCES              where no package index can be reached: the source archive of llama-cpp-python, or a folder with
#                        its vendor/llama.cpp, of which models, docs, media, tests, benches and examples are not needed
#
# Needs a C++ compiler, CMake 3.18 or newer and Ninja, and for CUDA nvcc. The sources are those that
# engines/llama-cpp-python.txt pins.
set -euo pipefail
umask 022

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
pin=$here/../../engines/llama-cpp-python.txt
version=$(sed -n 's/^llama-cpp-python==\([0-9.]*\).*/\1/p' "$pin")
digest=$(sed -n 's/.*--hash=sha256:\([0-9a-f]*\).*/\1/p' "$pin")
backend=${BACKEND:-cuda}
out=${1:-${NAVIGATOR_ENGINES:-${XDG_CACHE_HOME:-$HOME/.cache}/navigator-engines}/gpu-$version}

say() { echo "$*" >&2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
given=${SOURCES:-}
if [[ -d $given ]]; then
    sources=$(cd "$given" && pwd)
else
    if [[ -z $given ]]; then
        say "Fetching the sources of llama.cpp (llama-cpp-python $version)"
        python3 -m venv "$work/environment"
        # pip reads the archive's metadata with its build backend, which is pinned there too; so are CMake and Ninja.
        "$work/environment/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes \
            -r "$here/../../engines/requirements.txt" >&2
        "$work/environment/bin/python" -m pip download --quiet --disable-pip-version-check --require-hashes --no-deps \
            --no-binary :all: --no-build-isolation -r "$pin" -d "$work" >&2
        given=$(echo "$work"/llama_cpp_python-*.tar.gz)
        PATH=$work/environment/bin:$PATH
    fi
    echo "$digest  $given" | sha256sum --check --quiet >&2
    sources=$work/sources
    mkdir "$sources"
    tar -xzf "$given" -C "$sources" --strip-components=3 --no-same-owner "llama_cpp_python-$version/vendor/llama.cpp"
fi

options=(-DGGML_CUDA=OFF)
if [[ $backend == cuda ]]; then
    # One architecture, and attention kernels for the default cache types only: most of the compiler's time is theirs.
    options=(-DGGML_CUDA=ON "-DCMAKE_CUDA_ARCHITECTURES=${CUDA_ARCHITECTURES:-native}"
        "-DGGML_CUDA_FA_QUANTS=f16-f16" -DGGML_CUDA_NCCL=OFF -DGGML_CUDA_GRAPHS=ON)
fi
say "Building llama-server and steps for $backend"
cmake -S "$here" -B "$work/build" -G Ninja --log-level=WARNING \
    "-DLLAMA_SOURCES=$sources" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
    -DGGML_NATIVE=ON -DGGML_OPENMP=OFF -DGGML_CCACHE=OFF "${options[@]}" \
    -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_SUBPROCESS=ON -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF \
    -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF \
    -DLLAMA_BUILD_COMMON=ON -DLLAMA_BUILD_TOOLS=ON -DLLAMA_BUILD_SERVER=ON >&2
cmake --build "$work/build" --target llama-server steps >&2
mkdir -p "$out"
cp "$sources/LICENSE" "$work/build/bin/steps" "$work/build/bin/llama-server" "$out"
echo "$out"
