"""The examples are read by the program they are examples for."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from navigator.config.settings import load_settings
from tests.cli.conftest import Command

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("name", ["paper-machine.toml", "ollama.toml"])
def test_settings_are_sound(name: str) -> None:
    settings = load_settings(EXAMPLES / name)
    assert settings.swap.strategy is not None
    assert settings.generator.model != settings.reviewer.model


def test_the_paper_machine_is_what_the_installation_makes(command: Command) -> None:
    words = ("swap", "install", "--profile", "qwen3.5-96gb", "--for-version", "0.5.9", "--dry-run")
    installed = tomllib.loads(command.json(*words)["settings"])
    example = tomllib.loads((EXAMPLES / "paper-machine.toml").read_text())
    for section, wanted in installed.items():
        assert wanted.items() <= example[section].items()


def test_ollama_swaps_by_name() -> None:
    settings = load_settings(EXAMPLES / "ollama.toml")
    assert (settings.swap.strategy, settings.swap.managed.server) == ("managed", "ollama")
    assert settings.generator.base_url == settings.reviewer.base_url


def test_the_task_file_queues_its_tasks(command: Command, repository: Path) -> None:
    command.run("project", "add", str(repository), "--name", "aurora-api")
    tasks = command.json("task", "add", "--from", str(EXAMPLES / "tasks.toml"))["tasks"]
    assert [(task["project"], task["kind"]) for task in tasks] == [
        ("aurora-api", "fix"),
        ("aurora-api", "docs"),
    ]
