"""The reviewer's turn as the conductor takes it: real git and database, a scripted model over HTTP."""

from __future__ import annotations

import re
from typing import Any

import pytest

from navigator.cli.session import locked_dependencies
from navigator.config.paths import resource_dir
from navigator.figures.page import PageQuestion, declared, document
from navigator.figures.queries import verdict_counts
from navigator.figures.rates import revise_rate
from navigator.journey.reviewing.answer import review_schema
from navigator.model.errors import ConfigError
from navigator.model.states import Verdict
from navigator.sheet.marks import Kind, batch_choice, marks
from navigator.swap.base import SwapStrategy
from navigator.swap.strategies.adapter import AdapterStrategy
from tests.journey.room import Room, block, edit, review_of, saying, text_of, whole
from tests.journey.scripted_models import READER, Messages, Models, Said, approval, objection
from tests.journey.test_prompts import own


def test_a_review_that_was_cut_may_be_longer_the_second_time(room: Room, models: Models) -> None:
    asked: list[int] = []
    real = models.answer

    def answering(body: dict[str, Any]) -> Any:
        if body["model"] == READER:
            asked.append(body["max_tokens"])
        return real(body)

    models.answer = answering  # type: ignore[method-assign]
    models.read = saying(Said(approval(), finish="length"), Said(approval()))
    assert review_of(room.done()).verdict is Verdict.APPROVE
    assert asked == [2_000, 4_000]
    models.read = saying(Said(approval(), finish="content_filter"))
    assert review_of(room.done()).verdict is Verdict.UNREVIEWED, "it is not read"
    assert len(models.read_by) == 4


# What the reviewer is shown


def test_the_developers_note_is_part_of_what_the_change_is_held_against(room: Room, models: Models) -> None:
    first = room.done()
    quote = "Also keep the name of the parameter."
    room.decide("send_back", first, note=quote)
    models.read = saying(approval(findings=[objection(quote, kind="missing")]))
    room.settle(batch="revisions = 0")
    room.work()
    assert "[[begin note " in text_of(models.read_by[-1])
    newest = room.proposal(first.task_id)
    assert review_of(newest).verdict is Verdict.REVISE
    assert [found.side for found in review_of(newest).findings] == ["task"]


def test_a_caller_in_another_file_is_shown_and_can_be_missed(room: Room, models: Models) -> None:
    uses = b"from app import double\n\n\ndef six():\n    return double(3)\n"
    room.commit({"uses.py": uses, "other.py": b"doubled = 4\n", ".env": b"double=hunter2\n"})
    models.write = saying(block("app.py", "def double(x):\n", "def double(x, times):\n"))
    quote = objection("    return double(3)", kind="missing", severity="blocker", line=5)
    models.read = saying(approval(findings=[quote], verdict="REVISE"))
    room.settle(batch="revisions = 0")
    review = review_of(room.done())
    shown = text_of(models.read_by[0])
    assert '{"path": "uses.py", "first": 1, "no_final_newline": true}' in shown
    assert "other.py" not in shown and "hunter2" not in shown
    assert review.verdict is Verdict.REVISE
    assert [(found.path, found.line, found.side) for found in review.findings] == [("uses.py", 5, "context")]


# Parts


def test_a_large_change_is_read_in_parts_and_judged_as_one(room: Room, models: Models) -> None:
    room.commit({f"m{number}.py": b"x = 0\n" for number in range(6)})
    big = {f"m{n}.py": "".join(f"value_{n}_{i} = {i}\n" for i in range(220)) for n in range(6)}
    models.write = saying("".join(whole(path, text) for path, text in big.items()))

    def read(messages: Messages) -> str:
        if "+value_4_7 = 7" in text_of(messages):
            label = re.search(r"### m4\.py\n@@ (H\d+) @@", text_of(messages))
            assert label
            return approval(findings=[objection("value_4_7 = 7", hunk=label[1])])
        return approval()

    models.read = read
    room.settle(reviewer="context_tokens = 6000\nmax_tokens = 1000", batch="revisions = 0")
    review = review_of(room.done(files=sorted(big)))
    assert review.parts == len(models.read_by) > 1
    assert review.verdict is Verdict.REVISE
    assert [(found.path, found.line) for found in review.findings] == [("m4.py", 8)]
    assert all("[[begin others " in text_of(messages) for messages in models.read_by)
    assert review.usage.seconds > 0
    assert room.read().call_counts()["repeated"] == 0
    # A hunk that fits nowhere is named, and nothing is sent for it.
    text = "".join(f"value_{i} = {i}\n" for i in range(4_000))
    models.write = saying(block("big.py", "", text))
    asked = len(models.read_by)
    review = review_of(room.done("Write it down", files=[]))
    assert review.verdict is Verdict.UNREVIEWED and len(models.read_by) == asked
    assert review.summary.startswith("Too large to be reviewed whole: hunk H1 of big.py")


# The second reading


@pytest.mark.parametrize(
    ("revised", "withdrawn"), [("return x * 3  # as asked", True), ("return x * 2", False)]
)
def test_what_is_met_in_unchanged_code_is_withdrawn(room: Room, revised: str, withdrawn: bool) -> None:
    room.models.write = saying(edit("return x * 3"), edit(revised))

    def read(messages: Messages) -> str:
        if "[[begin earlier " not in text_of(messages):
            return approval(findings=[objection("return x * 3", message="Three is not two.")])
        return approval(addressed=[{"finding": 1, "met": True, "why": "fine"}])

    room.models.read = read
    room.settle(batch="revisions = 1")
    room.done()
    (found,) = document(declared("outcomes")(room.read(), PageQuestion()))["findings_met"]["rows"]
    assert (found["met"]["k"], found["repaired"]["k"]) == (1, int(not withdrawn))


# Whose reading it is


def test_a_model_that_reads_what_it_wrote_says_so(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """One model plays both roles: that is told by its name, not only by the role that wrote. Or two adapters of one model do."""
    text = room.models.settings.replace(f'"{READER}"', '"scripted/writer"')
    room.config.write_text(text, encoding="utf-8")
    room.models.write = lambda messages: (
        approval() if "review" in messages[0]["content"][:20] else edit("return x * 2")
    )
    review = review_of(room.done())
    assert (review.verdict, review.self_review) == (Verdict.APPROVE, True)
    choice = batch_choice(room.read(), unseen=True)
    assert choice.taken == ()
    assert [mark.kind for _, mark in choice.left_out] == [Kind.SELF]
    tables = revise_rate(verdict_counts(room.read()))
    assert (tables.rows, tables.excluded) == ((), {"self_review": 1})
    room.config.write_text(room.models.settings, encoding="utf-8")
    room.models.write = lambda messages: edit("return x * 2")
    assert AdapterStrategy.one_base and not review_of(room.done()).self_review
    monkeypatch.setattr(SwapStrategy, "one_base", True)
    assert review_of(room.done()).self_review


# The prompts


def test_a_prompt_that_hides_the_diff_is_refused_before_anything_is_asked(room: Room) -> None:
    own(room.folder, "review", ("{{ diff }}", ""))
    room.queue()
    with pytest.raises(ConfigError, match=r"review\.md: the prompt does not use diff"):
        room.work()
    assert room.models.written == []


# What a review says that it read


def test_a_review_that_leaves_hunks_out_says_so_everywhere(room: Room, models: Models) -> None:
    room.commit({"a.txt": b"one\n", "b.txt": b"one\n"})
    models.write = lambda messages: block("a.txt", "one\n", "two\n") + block("b.txt", "one\n", "two\n")
    room.queue(files=["a.txt", "b.txt"])
    models.read = lambda messages: approval(read=["hunk 1"])
    room.work()
    proposal = room.proposals()[0]
    review = review_of(proposal)
    assert len(models.read_by) == 1 and (review.hunks, review.unread) == (2, ("H2",))
    room.act("seen", ids=[proposal.id])
    with locked_dependencies(room.paths) as world:
        (card,) = world.reader.cards("")
        (mark,) = [one for one in marks(card) if one.kind is Kind.UNREAD]
        assert mark.words == "the reviewer read 1 of 2 hunks" and mark.leaves_out
        choice = batch_choice(world.reader)
    assert choice.taken == ()
    assert [(one.id, mark.kind) for one, mark in choice.left_out] == [(proposal.id, Kind.UNREAD)]


def test_the_prompts_name_every_key_that_an_answer_needs() -> None:
    for name, again in (("review", 0), ("review-again", 1)):
        text = (resource_dir("prompts") / f"{name}.md").read_text(encoding="utf-8")
        schema = review_schema(["H1"], again=again)
        keys = {*schema["required"], *schema["properties"]["findings"]["items"]["required"]}
        if again:
            keys |= {*schema["properties"]["addressed"]["items"]["required"]}
        assert {key for key in keys if not re.search(rf"\b{key}\b", text)} == set(), name
