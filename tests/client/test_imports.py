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
