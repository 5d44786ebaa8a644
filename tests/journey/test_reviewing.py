"""The reviewer's turn as the conductor takes it: real git and database, a scripted model over HTTP."""

from __future__ import annotations

import re
from typing import Any

import pytest

from navigator.cli.session import locked_dependencies
from navigator.config.paths import resource_dir
from navigator.figures.rates import revise_rate
from navigator.journey.reviewing.answer import review_schema
from navigator.model.errors import ConfigError
from navigator.model.states import TaskState, Verdict
from navigator.sheet.marks import Kind, batch_choice, marks
from navigator.sheet.statistics.page import PageQuestion, declared, document
from navigator.swap.base import SwapStrategy
from navigator.swap.strategies.adapter import AdapterStrategy
from tests.journey.answers import AFTER, BEFORE, CASES, TASK, UNREVIEWED
from tests.journey.room import Room, edit, review_of, saying, text_of, whole
from tests.journey.scripted_models import READER, Messages, Models, Said, approval, objection

# Answers of the table, through the wire, the stage and the store


def test_answers_of_the_table_come_to_the_same_verdict_through_the_conductor(
    room: Room, models: Models
) -> None:
    room.settle(
        batch="revisions = 0\ntarget = 200", generator="max_inflight = 8", reviewer="max_inflight = 8"
    )
    room.commit(BEFORE)
    rename = "old_name.py\n<<<<<<< RENAME\nnew_name.py\n>>>>>>> RENAME\n"
    change = {path: text for path, text in AFTER.items() if path != "new_name.py"}
    models.write = lambda messages: (
        rename + "\n".join(whole(path, text.decode()) for path, text in change.items())
    )

    def say(messages: Messages) -> Said:
        number = re.search(r"Case (\d+)\.", text_of(messages))
        assert number
        case = CASES[int(number[1])]
        return Said(case.content, case.reasoning)

    models.read = say
    # A share of them, and the one whose text JSON cannot carry.
    numbers = [n for n, case in enumerate(CASES) if n % 10 == 0 or case.name == "a lone surrogate"]
    tasks = [room.queue(f"{TASK}\nCase {number}.", files=[]) for number in numbers]
    room.work()
    reader = room.read()
    wrong: list[str] = []
    cases = [CASES[number] for number in numbers]
    for task, case in zip(tasks, cases, strict=True):
        (proposal,) = reader.proposals(task_id=task)
        review = review_of(proposal)
        anchored = sum(found.anchored for found in review.findings)
        if (review.verdict, anchored) != (case.verdict, case.anchored):
            wrong.append(f"{case.name}: {review.verdict.value}, {anchored} anchored; {review.summary[:200]}")
        assert (review.stated_verdict is None) == (case.verdict is UNREVIEWED), case.name
        assert reader.task(task).state is TaskState.AWAITING_APPROVAL
    assert wrong == []
    # One retry each for what could not be read, and none for the rest.
    unread = sum(case.verdict is UNREVIEWED for case in cases)
    assert len(models.read_by) == len(cases) + unread


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
    task = room.queue()
    room.work()
    (first,) = room.proposals()
    room.decide("send_back", first, note="Also keep the name of the parameter.")
    quote = "Also keep the name of the parameter."
    models.read = lambda messages: approval(findings=[objection(quote, kind="missing")])
    room.settle(batch="revisions = 0")
    room.work()
    assert "[[begin note " in text_of(models.read_by[-1])
    newest = room.read().proposals(task_id=task)[-1]
    assert review_of(newest).verdict is Verdict.REVISE
    assert [found.side for found in review_of(newest).findings] == ["task"]


def test_a_caller_in_a_file_that_was_not_touched_is_shown_and_can_be_missed(
    room: Room, models: Models
) -> None:
    uses = b"from app import double\n\n\ndef six():\n    return double(3)\n"
    room.commit({"uses.py": uses, "other.py": b"doubled = 4\n", ".env": b"double=hunter2\n"})
    models.write = lambda messages: (
        "app.py\n<<<<<<< SEARCH\ndef double(x):\n=======\ndef double(x, times):\n>>>>>>> REPLACE\n"
    )
    quote = objection(
        "    return double(3)", kind="missing", severity="blocker", criterion="completeness", line=5
    )
    models.read = lambda messages: approval(findings=[quote], verdict="REVISE")
    room.settle(batch="revisions = 0")
    room.queue()
    room.work()
    shown = text_of(models.read_by[0])
    assert '{"path": "uses.py", "first": 1, "no_final_newline": true}' in shown
    assert "other.py" not in shown
    assert "hunter2" not in shown
    review = review_of(room.proposals()[0])
    assert review.verdict is Verdict.REVISE
    assert [(found.path, found.line, found.side) for found in review.findings] == [("uses.py", 5, "context")]


# Parts


def test_a_large_change_is_read_in_parts_and_judged_as_one(room: Room, models: Models) -> None:
    room.commit({f"m{number}.py": b"x = 0\n" for number in range(6)})
    big = {f"m{n}.py": "".join(f"value_{n}_{i} = {i}\n" for i in range(220)) for n in range(6)}
    models.write = lambda messages: "".join(whole(path, text) for path, text in big.items())

    def read(messages: Messages) -> str:
        if "+value_4_7 = 7" in text_of(messages):
            label = re.search(r"### m4\.py\n@@ (H\d+) @@", text_of(messages))
            assert label
            return approval(findings=[objection("value_4_7 = 7", hunk=label[1])])
        return approval()

    models.read = read
    room.settle(reviewer="context_tokens = 6000\nmax_tokens = 1000", batch="revisions = 0")
    room.queue(files=sorted(big))
    room.work()
    (proposal,) = room.proposals()
    review = review_of(proposal)
    assert review.parts == len(models.read_by) > 1
    assert review.verdict is Verdict.REVISE
    assert [(found.path, found.line) for found in review.findings] == [("m4.py", 8)]
    assert all("[[begin others " in text_of(messages) for messages in models.read_by)
    assert review.usage.seconds > 0
    assert room.read().call_counts()["repeated"] == 0
    # A hunk that fits nowhere is named, and nothing is sent for it.
    text = "".join(f"value_{i} = {i}\n" for i in range(4_000))
    models.write = lambda messages: f"big.py\n<<<<<<< SEARCH\n=======\n{text}>>>>>>> REPLACE\n"
    asked = len(models.read_by)
    review = review_of(room.done("Write it down", files=[]))
    assert review.verdict is Verdict.UNREVIEWED and len(models.read_by) == asked
    assert review.summary.startswith("Too large to be reviewed whole: hunk H1 of big.py")


# The second reading


@pytest.mark.parametrize(
    ("revised", "withdrawn"), [("return x * 3  # as asked", True), ("return x * 2", False)]
)
def test_what_is_met_although_the_code_is_as_it_was_is_withdrawn_and_not_repaired(
    room: Room, models: Models, revised: str, withdrawn: bool
) -> None:
    lines = iter(["return x * 3", revised])
    models.write = lambda messages: edit(next(lines))

    def read(messages: Messages) -> str:
        if "[[begin earlier " not in text_of(messages):
            return approval(findings=[objection("return x * 3", message="Three is not two.")])
        return approval(addressed=[{"finding": 1, "met": True, "why": "fine"}])

    models.read = read
    room.settle(batch="revisions = 1")
    review = review_of(room.done())
    assert (review.answered, review.withdrawn) == ((1, 0), int(withdrawn))
    (found,) = document(declared("outcomes")(room.read(), PageQuestion()))["findings_met"]["rows"]
    assert (found["met"]["k"], found["repaired"]["k"]) == (1, int(not withdrawn))


# Whose reading it is


def test_a_model_that_reads_what_it_wrote_says_so_and_no_batch_key_takes_it(
    room: Room, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One model plays both roles: that is told by its name, not only by the role that wrote. Or two adapters of one model do."""
    text = models.settings.replace(f'"{READER}"', '"scripted/writer"')
    room.config.write_text(text, encoding="utf-8")
    models.write = lambda messages: (
        approval() if "review" in messages[0]["content"][:20] else edit("return x * 2")
    )
    review = review_of(room.done())
    assert (review.verdict, review.self_review) == (Verdict.APPROVE, True)
    choice = batch_choice(room.read(), unseen=True)
    assert choice.taken == ()
    assert [mark.kind for _, mark in choice.left_out] == [Kind.SELF]
    tables = revise_rate(room.read().verdict_counts())
    assert (tables.rows, tables.excluded) == ((), {"self_review": 1})
    room.config.write_text(models.settings, encoding="utf-8")
    models.write = lambda messages: edit("return x * 2")
    assert AdapterStrategy.one_base and not review_of(room.done()).self_review
    monkeypatch.setattr(SwapStrategy, "one_base", True)
    assert review_of(room.done()).self_review


# The prompt's version


def test_one_changed_word_in_a_prompt_of_ones_own_is_another_version_in_every_figure(
    room: Room, models: Models
) -> None:
    packaged = (resource_dir("prompts") / "review.md").read_text(encoding="utf-8")
    folder = room.config.parent / "prompts"
    folder.mkdir()
    versions = []
    for text in (
        packaged,
        packaged.replace("are nice", "is nice").replace("whether the change", "if the change"),
    ):
        (folder / "review.md").write_text(text, encoding="utf-8")
        room.queue()
        room.work()
        versions.append(review_of(room.proposals()[-1]).prompt_version)
    assert versions[0] != versions[1]
    rows = revise_rate(room.read().verdict_counts("prompt")).rows
    assert {row.group: row.n for row in rows} == {versions[0]: 1, versions[1]: 1}
    assert {call.prompt_version for call in room.read().calls() if call.purpose == "review"} == set(versions)
    # One that hides the diff is refused before anything is asked.
    (folder / "review.md").write_text(packaged.replace("{{ diff }}", ""), encoding="utf-8")
    room.queue()
    asked = len(models.written)
    with pytest.raises(ConfigError, match=r"review\.md: the prompt does not use diff"):
        room.work()
    assert len(models.written) == asked


# What a review says that it read


def two_hunks(room: Room, models: Models) -> None:
    room.commit({"a.txt": b"one\n", "b.txt": b"one\n"})
    block = "{}.txt\n<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE\n"
    models.write = lambda messages: block.format("a") + block.format("b")
    room.queue(files=["a.txt", "b.txt"])


def test_a_review_that_leaves_hunks_out_says_so_everywhere(room: Room, models: Models) -> None:
    two_hunks(room, models)
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


def test_the_prompts_name_every_key_that_an_answer_needs(room: Room, models: Models) -> None:
    asked: dict[bool, tuple[str, list[str]]] = {}

    def say(messages: Messages) -> str:
        again = "addressed" in messages[0]["content"]
        schema = review_schema(["H1"], again=int(again))
        items = schema["properties"]["findings"]["items"]["required"]
        items += schema["properties"]["addressed"]["items"]["required"] if again else []
        asked[again] = messages[0]["content"], [*schema["required"], *items]
        return approval() if again else approval(findings=[objection("return x * 2")], verdict="REVISE")

    models.read = say
    models.write = lambda messages: edit(
        "return x * 3" if "findings" in text_of(messages[2:]) else "return x * 2"
    )
    room.queue()
    room.work()
    assert set(asked) == {False, True}
    for text, keys in asked.values():
        assert [key for key in keys if not re.search(rf"\b{key}\b", text)] == []
