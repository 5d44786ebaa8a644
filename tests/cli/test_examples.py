"""The examples are read by the program they are examples for."""

from __future__ import annotations

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


def test_the_task_file_queues_its_tasks(command: Command, repository: Path) -> None:
    command.run("project", "add", str(repository), "--name", "aurora-api")
    tasks = command.json("task", "add", "--from", str(EXAMPLES / "tasks.toml"))["tasks"]
    assert [(task["project"], task["kind"]) for task in tasks] == [
        ("aurora-api", "fix"),
        ("aurora-api", "docs"),
    ]
