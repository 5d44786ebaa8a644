# Everything is installed into .venv from the lock files; nothing else on the machine changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Not of those who happen to have modules of their own on the way.
unexport PYTHONPATH PYTHONHOME

.PHONY: install demo test check lint engines agents bench lock lock-agents lock-engines wheel screenshots clean

install: $(STAMP)

$(STAMP): requirements-dev.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Navigator needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV) || (echo "The module venv is missing: apt install python3-venv" >&2; exit 1)
	@echo "Installing the locked dependencies into $(VENV); this takes about a minute." >&2
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(STAMP)

# The whole workflow on sample projects with simulated models. Without a terminal it runs headless.
demo: install
	$(BIN)/navigator demo

# The quick loop, for while you write: without whole sessions, terminals, sandboxes and model servers.
check: install lint
	$(BIN)/python -m pytest -q -m "not slow and not e2e and not sandbox and not engines" -n auto --dist loadgroup

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin
	$(BIN)/lint-imports

# All tests. Those that could not run are listed with the reason at the end.
test: install lint
	$(BIN)/python -m pytest -n auto --dist loadgroup

# Real model servers, and the tests that use them. See engines/README.md.
engines: install
	nice engines/build_llama_server.sh
	nice engines/build_sglang.sh
	nice engines/build_gateway.sh
	$(BIN)/python -m pytest tests/engines

# Coding agents from their packages, and the tests that use them. See docs/agents.md.
agents: install
	nice agents/install.sh
	NAVIGATOR_REAL_AGENTS=1 $(BIN)/python -m pytest tests/agents tests/engines/test_llama_agents.py

# SIZE=--tiny shows that each runs, SIZE=--full measures everything that the documentation quotes.
bench: install
	@case "$(SIZE)" in --full) echo "This takes hours.";; --tiny) ;; *) echo "This takes several minutes.";; esac >&2
	@for file in $$(grep -l '^if __name__' benchmarks/*.py); do \
		echo "== $$file" && $(BIN)/python $$file $(SIZE) || exit 1; \
	done

screenshots: install
	$(BIN)/python docs/make_screenshots.py

wheel: install
	$(BIN)/python -m hatchling build -t wheel

# Versions and hashes, without host names. Needs uv.
lock:
	uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
		-p 3.11 pyproject.toml -o requirements.lock
	uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
		-p 3.11 pyproject.toml --group dev -o requirements-dev.lock

# The same for the agents of the tests. Needs npm too.
lock-agents:
	cd agents/qwen && npm install --package-lock-only --ignore-scripts --no-audit --no-fund --omit-lockfile-registry-resolved
	cd agents/opencode && npm install --package-lock-only --ignore-scripts --no-audit --no-fund --omit-lockfile-registry-resolved
	uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
		-p 3.12 agents/vibe/requirements.in -o agents/vibe/requirements.txt

# The same for the model servers. TORCH_WHEELS is a folder or page with PyTorch's CPU build.
lock-engines:
	uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
		-p 3.11 engines/requirements.in -o engines/requirements.txt
	uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
		-p 3.11 engines/gateway.in -o engines/gateway.txt
	uv pip compile -q --no-deps --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
		-p 3.11 engines/sglang-alone.in -o engines/sglang-alone.part
	uv pip compile -q --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
		$(if $(TORCH_WHEELS),--find-links $(TORCH_WHEELS)) --python-platform x86_64-manylinux_2_34 \
		--override engines/sglang-left-out.txt -p 3.11 engines/sglang-requirements.in -o engines/sglang-deps.part
	cat engines/sglang-alone.part engines/sglang-deps.part >engines/sglang-requirements.txt
	rm engines/sglang-alone.part engines/sglang-deps.part

clean:
	rm -rf $(VENV) dist build
