"""What commands say of proposals whose tests tell nothing, and of those that were mended before anybody read them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from navigator.actions.approve import approval_lines
from navigator.sheet.writing import mended_words, repair_prompts
from navigator.tui.review.context import load_review_context
from navigator.tui.review.words import warning_lines
from tests.cli.conftest import at
from tests.journey.room import BAD, GOOD, Room, saying
from tests.journey.scripted_models import Models, speaking
from tests.journey.support import git
from tests.sandbox.support import needs_sandbox

pytestmark = [pytest.mark.sandbox, needs_sandbox]


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Room]:
    with speaking(Models(write=lambda messages: GOOD)) as models:
        yield Room(tmp_path, models, monkeypatch, project=False)


def test_tests_that_fail_before_are_said_and_counted(room: Room) -> None:
    """The base fails without a name: nothing is laid to a proposal, and nothing speaks for it either."""
    room.add(check="exit 3")
    proposal = room.proposal(_made(room))
    command = at(room)
    words = "tests failed before: tests tell nothing here"
    assert "tests fail as before" in command.run("proposals").stdout
    shown = command.run("diff", proposal.id).stdout
    assert words in shown and "failed_before" not in shown
    done = command.run("approve", "--all-reviewed", "--yes")
    assert f"Note: 1 whose tests also fail on the base: {proposal.id}" in done.stderr


def test_untested_ones_are_named(room: Room) -> None:
    room.add(check="")
    proposal = room.proposal(_made(room))
    done = at(room).run("approve", "--all-reviewed", "--include-unseen", "--yes", "--json")
    assert json.loads(done.stdout)["decisions"][0]["landing"] == "landed"
    assert f"Note: 1 untested: {proposal.id}" in done.stderr


def test_nothing_is_said_where_tests_passed(room: Room) -> None:
    room.add()
    proposal = room.proposal(_made(room))
    command = at(room)
    refused = command.run("approve", "--all-reviewed", "--yes")
    assert f"Left out: {proposal.id}" in refused.stderr and "Nothing was approved." in refused.stdout
    command.run("diff", proposal.id)
    assert room.read().proposal(proposal.id).seen
    said = approval_lines(room.read(), *room.read().cards_about([proposal.id]))
    assert not any("not seen" in line for line in said)
    done = command.run("approve", "--all-reviewed", "--yes")
    assert "landed on" in done.stdout and "Note:" not in done.stderr
    assert (repair_prompts(room.read(), proposal), mended_words(room.read(), proposal)) == ((), "")


def test_what_failed_lands_by_name_only(room: Room) -> None:
    """Neither an answer on a pipe nor --yes alone lands a proposal whose tests fail."""
    room.models.write = saying(BAD)
    room.add()
    proposal = room.proposal(_made(room))
    command = at(room)
    assert "tests failed first, 2 repairs did not fix them" in command.run("diff", proposal.id).stdout
    for stdin in ("", "n\n", "y\n"):
        refused = command.run("approve", proposal.id, code=2, input=stdin)
        assert "There is no terminal to confirm at, and nothing was done." in refused.stderr
    row = command.json("approve", proposal.id, "--yes", code=1)["decisions"][0]
    named = f"{proposal.id}:failed:tests"
    assert not row["recorded"] and f"--confirm '{named}'" in row["reason"]
    landed = command.json("approve", proposal.id, "--yes", "--confirm", named)["decisions"][0]
    assert landed["landing"] == "landed"
    assert "nothing was done" in command.run("undo", proposal.id, code=2).stderr


def test_mended_tests_are_said_and_stand_in_the_commit(room: Room) -> None:
    room.models.write = saying(BAD, GOOD)
    path = room.add()
    proposal = room.proposal(_made(room))
    words = "tests failed first, fixed in 1 repair"
    command = at(room)
    assert words in command.run("diff", proposal.id).stdout
    context = load_review_context(room.read(), proposal.id)
    (line,) = warning_lines(context, context.current, (), 120)
    assert words in "".join(text for text, _ in line)
    landed = room.approve(proposal)
    trailers = git(path, "log", "-1", "--format=%(trailers:key=Generated-By,valueonly)", landed["commit"])
    model, first, repair = trailers.split()
    assert model == proposal.model and first == proposal.prompt_version
    assert repair.startswith("repair-tests@")


@pytest.mark.parametrize("answers", [(BAD, "NO_CHANGE: the test is wrong"), (BAD, "What a pity.")])
def test_a_repair_that_came_to_nothing_has_no_part_in_it(room: Room, answers: tuple[str, ...]) -> None:
    room.models.write = saying(*answers)
    room.add()
    proposal = room.proposal(_made(room))
    assert repair_prompts(room.read(), proposal) == ()
    assert mended_words(room.read(), proposal) == ""


def _made(room: Room) -> str:
    task = room.queue()
    room.work()
    return task
