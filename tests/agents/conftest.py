"""A room with an agent of our own as the writer: a real process, in the real sandbox, with a scripted model."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.journey import conftest as journey
from tests.journey.room import Room, saying
from tests.journey.scripted_models import Models, approval, objection
from tests.journey.support import hurry
from tests.sandbox.support import no_sandbox

models = journey.models

SCRIPT = Path(__file__).with_name("scripted_agent.py")


def install(folder: Path) -> Path:
    """The scripted agent as a program."""
    folder.mkdir()
    program = folder / "scripted"
    text = SCRIPT.read_text("utf-8")
    program.write_text(f"#!{Path(sys.executable).resolve()} -IS\n{text}", encoding="utf-8")
    program.chmod(0o755)
    return program


@pytest.fixture
def room(tmp_path: Path, models: Models, monkeypatch: pytest.MonkeyPatch) -> Room:
    if reason := no_sandbox():
        pytest.skip(reason)
    hurry(monkeypatch)
    made = Room(tmp_path, models, monkeypatch)
    install(tmp_path / "tools")
    configure(made)
    return made


def configure(room: Room, more: str = "", named: str = "", **env: str) -> None:
    """Have the scripted agent write, with further keys of its section, a known program's name, and variables."""
    program = room.config.parent / "tools" / "scripted"
    listed = "".join(f'{name} = "{value}"\n' for name, value in env.items())
    section = f"[generator.agent]\ncommand = {json.dumps([str(program), *named.split()])}\n{more}[generator.agent.env]\n{listed}"
    room.config.write_text(room.models.settings + section, encoding="utf-8")


def object_first(room: Room, times: int) -> None:
    """Have the reviewer ask for so many revisions, and approve what comes then."""
    objections = [approval(findings=[objection("return x * 2")], verdict="REVISE")] * times
    room.models.read = saying(*objections, approval(addressed=[{"number": 1, "how": "fixed"}]))
