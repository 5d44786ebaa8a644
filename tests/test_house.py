"""The rules of the house that no type checker sees."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HEAVY = ("textual", "rich", "httpx", "git", "scipy", "jinja2", "libcst", "tiktoken", "pygments")


def loaded_after(code: str, tmp_path: Path) -> set[str]:
    """Top-level modules in `sys.modules` after a program ran in a fresh interpreter."""
    program = (
        f"import sys\n{code}\nprint('MODULES', *sorted({{name.partition('.')[0] for name in sys.modules}}))"
    )
    environment = os.environ | {"NAVIGATOR_STATE": str(tmp_path / "state")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        timeout=60,
    )
    line = next(line for line in done.stdout.splitlines() if line.startswith("MODULES"))
    return set(line.split()[1:])


def test_status_imports_nothing_heavy(tmp_path: Path) -> None:
    code = "from navigator.cli.main import cli\ncli.main(['status'], standalone_mode=False)"
    assert not loaded_after(code, tmp_path) & set(HEAVY)


@pytest.mark.parametrize("words", ["['--help']", "['task', 'list']", "['proposals', '--json']"])
def test_light_commands_import_nothing_heavy(words: str, tmp_path: Path) -> None:
    code = f"from navigator.cli.main import cli\ntry:\n    cli.main({words}, standalone_mode=False)\nexcept SystemExit:\n    pass"
    assert not loaded_after(code, tmp_path) & set(HEAVY)


def test_importing_the_package_does_no_work(tmp_path: Path) -> None:
    before = loaded_after("pass", tmp_path)
    assert loaded_after("import navigator", tmp_path) - before == {"navigator"}


def test_the_engine_is_never_imported() -> None:
    pattern = re.compile(r"^\s*(import|from)\s+(sglang|torch|vllm)\b", re.MULTILINE)
    for path in (ROOT / "navigator").rglob("*.py"):
        assert not pattern.search(path.read_text(encoding="utf-8")), path


def test_files_stay_small() -> None:
    """400 lines is the aim; beyond 480 a file has more than one reason to exist."""
    long = {
        str(path.relative_to(ROOT)): lines
        for path in (ROOT / "navigator").rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 480
    }
    assert not long


def test_the_lock_names_no_host() -> None:
    engines = ("engines/requirements.txt", "engines/sglang-requirements.txt")
    for name in ("requirements.lock", "requirements-dev.lock", *engines):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "--hash=sha256:" in text
        assert "://" not in text
        assert "index-url" not in text
