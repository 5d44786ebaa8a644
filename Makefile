# Everything lives in .venv, made from the lock files; nothing else of the machine is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: install demo test check lint engines bench lock lock-engines wheel screenshots clean

install: $(STAMP)

$(STAMP): requirements-dev.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Navigator needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV) || (echo "The module venv is missing: apt install python3-venv" >&2; exit 1)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(STAMP)

# The whole cascade on sample projects, with a rehearsal of both models. Headless where there is no terminal.
demo: install
	$(BIN)/navigator demo

# The quick loop: under a minute.
check: install lint
	$(BIN)/python -m pytest -q -m "not slow and not e2e and not sandbox and not engines" -n auto

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Everything. What could not run is listed with its reason in the last lines.
test: install lint
	$(BIN)/python -m pytest -n auto --dist loadgroup

# Model servers that were not written for Navigator, and the tests that talk to them. See engines/README.md.
engines: install
	nice engines/build_llama_server.sh
	nice engines/build_sglang.sh
	$(BIN)/python -m pytest tests/engines

bench: install
	for file in benchmarks/*.py; do $(BIN)/python $$file || exit 1; done

screenshots: install
	$(BIN)/python docs/make_screenshots.py

wheel: install
	$(BIN)/python -m hatchling build -t wheel

# Versions and hashes, without the name of any host. Needs uv.
lock:
	uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
		-p 3.11 pyproject.toml -o requirements.lock
	uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
		-p 3.11 pyproject.toml --group dev -o requirements-dev.lock

# The model servers' own. TORCH_WHEELS names the folder with PyTorch's CPU build.
lock-engines:
	uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
		-p 3.11 engines/requirements.in -o engines/requirements.txt
	uv pip compile -q --no-deps --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
		-p 3.11 engines/sglang-alone.in -o engines/sglang-alone.part
	uv pip compile -q --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
		$(if $(TORCH_WHEELS),--find-links $(TORCH_WHEELS)) --python-platform x86_64-manylinux_2_34 \
		--override engines/sglang-left-out.txt -p 3.11 engines/sglang-requirements.in -o engines/sglang-deps.part
	cat engines/sglang-alone.part engines/sglang-deps.part >engines/sglang-requirements.txt
	rm engines/sglang-alone.part engines/sglang-deps.part

clean:
	rm -rf $(VENV) dist build
