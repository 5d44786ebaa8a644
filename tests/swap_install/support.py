"""What the tests of an installation share: a stand-in for SGLang's environment, and the command in a home of its own."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from navigator.cli.main import main

ROOT = Path(__file__).parents[2]
DATA = ROOT / "swap"
LISTS = Path(__file__).parent / "data"
"""The flags of two versions, as their own parsers list them."""

_SERVER_ARGS = """
import argparse
class ServerArgs:
    @staticmethod
    def add_cli_args(parser):
        for line in open({table!r}):
            name, _, kind = line.strip().partition(" ")
            if not name.startswith("--") or name == "--help":
                continue
            options = {{"type": int}} if name == "--port" else {{}}
            parser.add_argument(name, action="store_true") if kind == "switch" else parser.add_argument(name, **options)
"""


def fake_sglang(folder: Path, version: str, *, table_of: str = "", broken: str = "") -> Path:
    """A virtual environment whose `sglang` has the flags of a packaged table, in an argparse of its own; its python.

    `broken` is Python that runs when its argument parser is imported.
    """
    packages = folder / "packages"
    package = packages / "sglang" / "srt"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    table = str(LISTS / f"sglang-{table_of or version}.txt")
    (package / "server_args.py").write_text(broken + _SERVER_ARGS.format(table=table))
    (package.parent / "launch_server.py").write_text(
        "import json, os, sys, time\n"
        "open(os.environ['TOLD'], 'w').write(json.dumps([sys.argv[1:], dict(os.environ)]))\n"
        "time.sleep(600)\n"
    )
    info = packages / f"sglang-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: sglang\nVersion: {version}\n")
    python = folder / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}" exec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    return python


def profile_with(folder: Path, role: str, model: str) -> Path:
    """A copy of a packaged profile whose `role` has another model."""
    head, table, rest = (DATA / "profiles" / "qwen3.5-96gb.toml").read_text().partition(f"[{role}]\n")
    path = folder / "own.toml"
    path.write_text(
        head + table + re.sub("model = .*", lambda _: f"model = {json.dumps(model)}", rest, count=1)
    )
    return path


def below(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, with its content."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@dataclass
class Home:
    """`navigator` as somebody runs it whose home is an empty folder."""

    root: Path
    extra: dict[str, str]

    @property
    def config(self) -> Path:
        return self.root / ".config"

    @property
    def units(self) -> Path:
        return self.config / "systemd" / "user"

    @property
    def keys(self) -> Path:
        return self.config / "navigator" / "keys"

    def run(self, *words: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        """Run `navigator swap install WORDS`, in this process."""
        return self.command("swap", "install", *words, code=code)

    def command(self, *words: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        """Run `navigator WORDS`, in this process."""
        known = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root),
            "NAVIGATOR_STATE": str(self.root / "state"),
        }
        out, err = io.StringIO(), io.StringIO()
        with (
            patch.dict(os.environ, known | self.extra, clear=True),
            redirect_stdout(out),
            redirect_stderr(err),
            pytest.raises(SystemExit) as ended,
        ):
            main(list(words))
        done = subprocess.CompletedProcess(words, int(str(ended.value.code)), out.getvalue(), err.getvalue())
        said = f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert code is None or done.returncode == code, said
        return done

    def json(self, *words: str, code: int | None = 0) -> dict[str, Any]:
        """Run it with --json: exactly one document on stdout."""
        document = json.loads(self.run(*words, "--json", code=code).stdout)
        assert isinstance(document, dict)
        return document
