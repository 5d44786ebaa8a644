"""The examples are read by the program they are examples for."""

from __future__ import annotations

import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from navigator.config.settings import load_settings
from tests.cli.conftest import Command
from tests.swap_install.support import fake_sglang

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_settings_are_sound() -> None:
    paper, ollama = (load_settings(EXAMPLES / name) for name in ("paper-machine.toml", "ollama.toml"))
    for settings in (paper, ollama):
        assert settings.swap.strategy is not None
        assert settings.generator.model != settings.reviewer.model
    assert ollama.swap.strategy == "managed"
    assert ollama.generator.base_url == ollama.reviewer.base_url


def test_the_paper_machine_is_what_the_installation_makes(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    sglang = str(fake_sglang(tmp_path / "sglang", "0.5.9"))
    words = ("swap", "install", "--profile", "qwen3.5-96gb", "--sglang", sglang, "--dry-run")
    installed = tomllib.loads(command.json(*words)["settings"])
    example = tomllib.loads((EXAMPLES / "paper-machine.toml").read_text())
    for section, wanted in installed.items():
        assert wanted.items() <= example[section].items()


def test_the_task_file_queues_its_tasks(command: Command, repository: Path) -> None:
    command.run("project", "add", str(repository), "--name", "aurora-api")
    tasks = command.json("task", "add", "--from", str(EXAMPLES / "tasks.toml"))["tasks"]
    assert [(task["project"], task["kind"]) for task in tasks] == [
        ("aurora-api", kind) for kind in ("fix", "docs")
    ]


def test_the_browser_s_screens_are_for_one_page() -> None:
    refusal = runpy.run_path(str(EXAMPLES / "browser.py"))["refusal"]
    here = "127.0.0.1:8000"

    def asked(origin: str, host: str = here, told: str = "s3cret", *, socket: bool = False) -> str:
        found: str = refusal(host, origin, told, here=here, secret="s3cret", socket=socket)
        return found

    assert asked("") == asked(f"http://{here}") == asked(f"http://{here}", socket=True) == ""
    assert "page" in asked("", socket=True)
    assert "page" in asked("http://elsewhere.invalid") and "page" in asked("null", socket=True)
    assert "page" in asked(f"http://{here}.elsewhere.invalid", socket=True)
    assert "host" in asked("", host="elsewhere.invalid:8000")
    assert "address" in asked("", told="") and "address" in asked(
        f"http://{here}", told="\u00e9", socket=True
    )


def test_textual_serve_can_show_the_screens(command: Command) -> None:
    """It gives an app pipes, and says so by a variable of Textual's."""
    environment = command.environment() | {"TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver"}
    words = [sys.executable, "-m", "navigator"]
    shown = subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert shown.stdout is not None and shown.stdin is not None
    try:
        assert shown.stdout.readline() == b"__GANGLION__\n"  # what the web driver greets with
        assert shown.stdout.read(1) == b"D"  # a packet of the screen
    finally:
        shown.kill()
        shown.communicate()
