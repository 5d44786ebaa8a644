"""The optional final reading: a cloud model, on a server of its own here, reads what the reviewer is done with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from navigator.model.states import TaskState, Verdict
from tests.journey.scripted_models import READER, Models, approval, objection, speaking
from tests.journey.support import git, hurry
from tests.journey.test_conductor import Room, edit, text_of

KEY = "gh" + "p_" + "aZ3bY4cX5dW6eV7fU8gT9hS1iR2jQ3kP4lO5"


@pytest.fixture
def served() -> Iterator[tuple[Models, Models]]:
    """The two local models, and the one in the cloud."""
    with ExitStack() as stack:
        local = stack.enter_context(speaking(Models(lambda messages: edit("return x * 2"))))
        yield local, stack.enter_context(speaking(Models(lambda messages: "", lambda messages: approval())))


@pytest.fixture
def room(tmp_path: Path, served: tuple[Models, Models], monkeypatch: pytest.MonkeyPatch) -> Room:
    hurry(monkeypatch)
    local, cloud = served
    made = Room(tmp_path, local, monkeypatch)
    final = f'[final]\nenabled = true\nmodel = "{READER}"\nbase_url = "{cloud.url}"\n'
    made.config.write_text(local.settings + final, encoding="utf-8")
    return made


def test_the_final_model_reads_last_and_what_it_says_decides_nothing(
    room: Room, served: tuple[Models, Models]
) -> None:
    local, cloud = served
    cloud.read = lambda messages: approval(findings=[objection("    return x * 2")], verdict="REVISE")
    task = room.queue()
    room.work()
    (proposal,) = room.proposals()
    assert proposal.review is not None and proposal.final_review is not None
    assert (proposal.review.verdict, proposal.final_review.verdict) == (Verdict.APPROVE, Verdict.REVISE)
    assert room.task(task).state is TaskState.AWAITING_APPROVAL
    assert (len(local.read_by), len(cloud.read_by), len(local.written)) == (1, 1, 1)
    # The revise rate is the reviewer's.
    assert [row.verdict for row in room.read().verdict_counts()] == [Verdict.APPROVE]


@pytest.mark.parametrize(("allowed", "pattern"), [(True, "*.py"), (False, "*.py"), (True, "auth/**")])
def test_what_touches_a_careful_path_is_read_last_where_it_may_leave(
    room: Room, served: tuple[Models, Models], allowed: bool, pattern: str
) -> None:
    """Without `enabled`: only that."""
    text = room.config.read_text(encoding="utf-8").replace("enabled = true\n", "")
    entry = f'[[project]]\npath = "{room.repository}"\nescalate = {str(allowed).lower()}\ncareful = ["{pattern}"]\n'
    room.config.write_text(f"{text}{entry}", encoding="utf-8")
    task = room.queue()
    room.work()
    (proposal,) = room.proposals()
    sent = allowed and pattern == "*.py"
    assert room.task(task).state is TaskState.AWAITING_APPROVAL
    assert (proposal.final_review is not None) is sent and len(served[1].read_by) == sent


def test_only_what_the_reviewer_is_done_with_is_sent(room: Room, served: tuple[Models, Models]) -> None:
    """A change that is revised is read once at its end, not once a round."""
    local, cloud = served
    local.read = lambda messages: (
        approval(findings=[objection("    return x * 2")], verdict="REVISE")
        if len(local.read_by) == 1
        else approval(addressed=[{"finding": 1, "met": True, "why": "It is gone."}])
    )
    local.write = lambda messages: edit("return x * 2" if len(local.written) == 1 else "return 2 * x")
    room.queue()
    room.work()
    newest = room.proposals()[-1]
    assert newest.round == 1
    assert newest.final_review is not None
    assert len(cloud.read_by) == 1
    assert "return 2 * x" in text_of(cloud.read_by[0])


@pytest.mark.parametrize("where", ["the change", "a file of the name", "the rest of the file", "nowhere"])
def test_what_a_model_is_never_shown_does_not_leave_the_machine(
    room: Room, served: tuple[Models, Models], where: str
) -> None:
    """A key in the change itself is read by the reviewer here, marked for the developer, and sent to nobody else."""
    local, cloud = served
    if where == "the change":
        local.write = lambda messages: edit(f'return x * 2  # token = "{KEY}"')
    elif where == "a file of the name":
        local.write = lambda messages: f".env\n<<<<<<< SEARCH\n=======\nTOKEN=1\n>>>>>>> REPLACE\n{edit('x')}"
    elif where == "the rest of the file":
        path = room.repository / "app.py"
        path.write_text(f'{path.read_text()}\n\n\n\n\n\n\n\n\n\nTOKEN = "{KEY}"\n')
        git(room.repository, "commit", "--quiet", "-a", "-m", "A key")
        local.write = lambda messages: "more.py\n<<<<<<< SEARCH\n=======\nx = 1\n>>>>>>> REPLACE\n"
    task = room.queue()
    room.work()
    (proposal,) = room.proposals()
    assert room.task(task).state is TaskState.AWAITING_APPROVAL
    assert proposal.review is not None and proposal.final_review is not None
    assert len(local.read_by) == 1
    assert all(KEY not in text_of(messages) for messages in cloud.read_by)
    if where in ("the change", "a file of the name"):
        assert cloud.read_by == []
        assert proposal.final_review.verdict is Verdict.UNREVIEWED
        assert proposal.final_review.summary.startswith("Not sent to the final model. ")
        assert KEY not in proposal.final_review.summary
        return
    assert proposal.final_review.verdict is Verdict.APPROVE
    # The file's other lines are shown to neither: what holds a key is no excerpt.
    assert all(KEY not in text_of(messages) for messages in local.written + local.read_by)


def test_an_unreachable_final_model_keeps_the_task_until_it_answers(
    room: Room, served: tuple[Models, Models]
) -> None:
    text = room.config.read_text(encoding="utf-8")
    room.config.write_text(text.replace(served[1].url, "http://127.0.0.1:9"), encoding="utf-8")
    task = room.queue()
    document = room.work()
    assert room.task(task).state is TaskState.FINAL_REVIEW
    assert "final" in document["reason"]
    room.config.write_text(text, encoding="utf-8")
    room.work()
    assert room.task(task).state is TaskState.AWAITING_APPROVAL
    (proposal,) = room.proposals()
    assert proposal.final_review is not None
