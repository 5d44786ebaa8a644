"""Files that a user was given, nested 100,000 deep: every command that reads one says so and ends as on wrong use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command

OBJECTS = '{"a": ' * 50_000 + "1" + "}" * 50_000
ARRAYS = "task = " + "[" * 100_000


@pytest.mark.parametrize(
    "words",
    [
        "lab speculation analyze FILE.jsonl",
        "lab speculation measure FILE.toml",
        "task add --from FILE.toml",
        "swap install --dry-run --profile FILE.toml",
    ],
)
def test_a_deep_file_is_refused_in_one_sentence(words: str, command: Command, tmp_path: Path) -> None:
    file = tmp_path / words.split()[-1]
    file.write_text(OBJECTS if file.suffix == ".jsonl" else ARRAYS)
    done = command.run(*words.split()[:-1], str(file), code=2)
    assert "nested too deeply" in done.stderr and "Traceback" not in done.stderr


def test_settings_that_are_nested_deeply_are_refused(command: Command) -> None:
    command.config.write_text(ARRAYS)
    done = command.run("status", code=2)
    assert "nested too deeply" in done.stderr and "Traceback" not in done.stderr
