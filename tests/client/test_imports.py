"""Importing what speaks with servers is cheap: no HTTP library, no tokenizer, no event loop machinery of others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_importing_every_module_imports_no_http_library() -> None:
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for folder in ("client", "swap", "setup")
        for path in sorted((ROOT / "navigator" / folder).rglob("*.py"))
    ]
    assert "navigator.client.client" in names
    code = f"""
import importlib, sys
for name in {names!r}:
    importlib.import_module(name)
print(sorted({{"httpx", "httpcore", "anyio", "tiktoken", "regex", "textual"}} & set(sys.modules)))
from navigator.config.settings import ServerSettings
from navigator.client.client import ModelClient
ModelClient(ServerSettings(model="m"))
print("httpx" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[:2] == ["[]", "True"], done.stderr


def test_a_request_searches_for_no_module_that_is_absent() -> None:
    code = """
import asyncio, contextlib, sys
from navigator.client.body import Timeouts
from navigator.client.errors import Unreachable
from navigator.client.transport import Transport
from navigator.config.settings import ServerSettings

class Looked(list):
    def find_spec(self, name, path=None, target=None):
        self.append(name)

async def ask():
    async with Transport(ServerSettings(base_url="http://127.0.0.1:1", model="m"), Timeouts()) as http:
        for _ in range(2):
            looked.clear()
            with contextlib.suppress(Unreachable):
                await http.get(http.root, 5)

sys.meta_path.insert(0, looked := Looked())
asyncio.run(ask())
print(looked)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr
