"""A room, and the models that speak in it; tests that want other models replace the scripts, or `models`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from navigator.engine import conductor as conducting
from navigator.engine import reconcile
from tests.journey.room import Room, edit
from tests.journey.scripted_models import Models, speaking
from tests.journey.support import hurry
from tests.journey.swaps import settings, swapping


@pytest.fixture
def models() -> Iterator[Models]:
    """A generator that doubles `double`, and a reviewer that approves."""
    with speaking(Models(lambda messages: edit("return x * 2"))) as models:
        yield models


@pytest.fixture
def room(tmp_path: Path, models: Models, monkeypatch: pytest.MonkeyPatch) -> Room:
    hurry(monkeypatch)
    return Room(tmp_path, models, monkeypatch)


@pytest.fixture
def bare(tmp_path: Path, models: Models, monkeypatch: pytest.MonkeyPatch) -> Room:
    """A room without a project."""
    hurry(monkeypatch)
    return Room(tmp_path, models, monkeypatch, project=False)


@pytest.fixture
def swapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Room]:
    """One server, which holds the model of the role that the file `loaded` names; a program swaps."""
    hurry(monkeypatch, retries=2)
    monkeypatch.setattr(conducting, "_HEARTBEAT", 0.05)
    monkeypatch.setattr(reconcile, "_SECOND_LOOK", 0.01)
    holds = tmp_path / "loaded"
    holds.write_text("generator")
    swapping(tmp_path)
    with speaking(Models(lambda messages: edit("return x * 2"), holds=holds)) as models:
        room = Room(tmp_path, models, monkeypatch)
        room.config.write_text(settings(tmp_path, models.url))
        yield room
