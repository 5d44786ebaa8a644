"""What commands say of proposals whose tests tell nothing, and of those that were mended before anybody read them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cascade.scripted_models import Models, speaking
from tests.cascade.test_checks import GOOD, Room
from tests.cli.conftest import Command
from tests.workspace.sandbox.support import needs_sandbox

pytestmark = [pytest.mark.sandbox, needs_sandbox]


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Room]:
    with speaking(Models(write=lambda messages: GOOD)) as models:
        yield Room(tmp_path, models, monkeypatch)


def command_of(room: Room) -> Command:
    return Command(room.paths.root, room.config)


def test_tests_that_fail_before_are_said_and_counted(room: Room) -> None:
    """The base fails without a name: nothing is laid to a proposal, and nothing speaks for it either."""
    room.add(check="exit 3")
    proposal = room.proposal(_made(room))
    command = command_of(room)
    words = "tests failed before: tests tell nothing here"
    assert words in command.run("proposals").stdout
    shown = command.run("diff", proposal.id).stdout
    assert words in shown and "failed_before" not in shown
    done = command.run("approve", "--all-reviewed", "--yes").stdout
    assert f"Of 1 approved: 1 with tests that failed before: {proposal.id}" in done


def test_untested_ones_are_counted_in_the_document(room: Room) -> None:
    room.add(check="")
    proposal = room.proposal(_made(room))
    document = command_of(room).json("approve", "--all-reviewed", "--yes")
    assert document["decisions"][0]["landing"] == "landed"
    assert (document["untested"], document["failed_before"]) == ([proposal.id], [])


def test_nothing_is_said_where_tests_passed(room: Room) -> None:
    room.add()
    _made(room)
    done = command_of(room).run("approve", "--all-reviewed", "--yes").stdout
    assert "landed on" in done and "Of 1 approved" not in done


def _made(room: Room) -> str:
    task = room.queue()
    room.work()
    return task
