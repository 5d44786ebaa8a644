"""A change too large for one prompt: what is shown shrinks, then the diff is split, and the parts make one verdict."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from navigator.config.paths import resource_dir
from navigator.journey.prompts.blocks import KeyRing, with_labels
from navigator.journey.prompts.library import PromptLibrary
from navigator.journey.reviewing.answer import RawReview, read_review
from navigator.journey.reviewing.join import Answered, join
from navigator.journey.reviewing.prompt import OVERHEAD, Parts, Planner, Reading, ReviewPromptDependencies
from navigator.model.diff import DiffLine, FileDiff, Hunk
from navigator.model.models import CheckResult, Finding, Task
from navigator.model.states import CheckOutcome, Severity, Verdict
from tests.journey.answers import answer, finding, grounded

PROMPTS = PromptLibrary([resource_dir("prompts")])
TASK = Task(id="T1", project_id=1, project="p", text="Do it everywhere.", created="", updated="")


def words(text: str) -> int:
    """A count of tokens that anybody can check: one a word or sign."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def change(files: int, hunks: int, lines: int) -> list[FileDiff]:
    """`files` modified files with so many hunks of so many added lines, a hundred lines apart."""
    made, label = [], 0
    for number in range(files):
        parts = []
        for place in range(hunks):
            label += 1
            first = 100 * place + 50
            body = [DiffLine("+", f"value_{label}_{n} = {n}", None, first + n) for n in range(lines)]
            parts.append(Hunk(f"H{label}", first, 0, first, lines, "", tuple(body)))
        made.append(FileDiff("M", f"f{number}.py", f"f{number}.py", hunks=tuple(parts)))
    return with_labels(made)


def around(files: Sequence[FileDiff], length: int) -> dict[str, list[str]]:
    return {file.path: [f"line {n} of {file.path}" for n in range(1, length + 1)] for file in files}


def plan(
    files: list[FileDiff], room: int, *, length: int = 300, earlier: Sequence[Finding] = (), **fields: Any
) -> Parts:
    desk = ReviewPromptDependencies(PROMPTS, KeyRing(b"k" * 16), words, True, room)
    checks = [CheckResult(name="tests", outcome=CheckOutcome.PASSED, detail="12 passed")]
    task = TASK.model_copy(update=fields)
    return Planner(desk, task, files, around(files, length), checks, earlier).plan()


def shown_lines(reading: Reading) -> int:
    return sum(len(text.splitlines()) for parts in reading.shown.context.values() for _, text in parts)


def test_the_surroundings_shrink_before_the_diff_is_split() -> None:
    files = change(2, 2, 5)
    seen = []
    for room in (50_000, 4_000, 2_400, 1_850):
        made = plan(files, room, length=900 if room < 50_000 else 300)
        assert len(made.readings) == 1, room
        assert made.readings[0].tokens <= room - OVERHEAD
        seen.append(shown_lines(made.readings[0]))
    assert seen == sorted(seen, reverse=True)
    assert seen[0] == 600
    assert seen[-1] < seen[1]


def test_a_change_of_many_files_is_split_by_file_and_each_part_lists_the_others() -> None:
    files = change(8, 2, 60)
    made = plan(files, 4_000)
    assert len(made.readings) > 2
    assert [label for reading in made.readings for label in reading.labels] == [
        hunk.label for file in files for hunk in file.hunks
    ]
    for reading in made.readings:
        assert reading.tokens <= 4_000 - OVERHEAD
        here = {file.path for file in reading.shown.files}
        content = reading.messages[1]["content"]
        listed = content[content.index("[[begin others") :]
        for file in files:
            assert (f"{file.path}  H" in listed) == (file.path not in here)
        assert f"of {len(made.readings)} of one large change" in reading.messages[0]["content"]


def test_a_task_that_leaves_no_room_is_said_without_a_prompt() -> None:
    made = plan(change(1, 1, 5), 3_000, text="word " * 5_000)
    assert made.readings == ()
    assert "task, checks and list of files alone" in made.too_large[0]


@given(st.integers(1, 6), st.integers(1, 5), st.integers(1, 80), st.integers(1_500, 9_000))
def test_every_hunk_is_shown_once_or_named_and_fits(files: int, hunks: int, lines: int, room: int) -> None:
    diff = change(files, hunks, lines)
    made = plan(diff, room)
    shown = [label for reading in made.readings for label in reading.labels]
    every = [hunk.label for file in diff for hunk in file.hunks]
    assert len(shown) == len(set(shown))
    assert all(reading.tokens <= room - OVERHEAD for reading in made.readings)
    if not made.too_large:
        assert shown == every
    else:
        missing = [label for label in every if label not in shown]
        assert missing
        assert made.readings == () or all(
            any(f"hunk {label} " in said for said in made.too_large) for label in missing
        )


def test_each_earlier_finding_is_asked_about_in_one_part_only() -> None:
    files = change(8, 2, 60)
    earlier = [grounded(path=f"f{n}.py", line=155, quote="q") for n in (7, 0, 3)]
    made = plan(files, 4_000, earlier=earlier)
    asked = [number for reading in made.readings for number in reading.asked]
    assert sorted(asked) == [1, 2, 3]
    for reading in made.readings:
        for number in reading.asked:
            assert earlier[number - 1].path in {file.path for file in reading.shown.files}
            assert f'"number": {number},' in reading.messages[1]["content"]


# From several answers to one verdict


def two_parts() -> tuple[Reading, Reading]:
    made = plan(change(2, 1, 120), 2_200, length=0)
    first, second = made.readings
    return first, second


def raw(*findings: dict[str, Any], verdict: str = "APPROVE", **fields: Any) -> RawReview:
    return read_review(answer(*findings, verdict=verdict, **fields))


def about(label: int, **changes: Any) -> dict[str, Any]:
    return finding(hunk=f"H{label}", quote=f"value_{label}_7 = 7", line=0) | changes


def test_findings_of_all_parts_make_one_verdict() -> None:
    first, second = two_parts()
    joined = join(
        [Answered(first, raw()), Answered(second, raw(about(2), verdict="REVISE"))], [], second=False
    )
    assert (joined.verdict, joined.stated) == (Verdict.REVISE, Verdict.REVISE)
    assert [(found.path, found.line) for found in joined.findings] == [("f1.py", 57)]
    assert joined.summary == "Part 1 of 2: s\nPart 2 of 2: s"


def test_a_part_that_cannot_be_read_makes_the_whole_unreviewed_and_keeps_what_was_found() -> None:
    first, second = two_parts()
    joined = join([Answered(first, raw(about(1))), Answered(second, None, "it was cut")], [], second=False)
    assert (joined.verdict, joined.stated) == (Verdict.UNREVIEWED, None)
    assert len(joined.findings) == 1
    assert joined.summary == "1 of 2 parts could not be read: it was cut."


def test_a_part_quoting_what_only_another_part_shows_is_not_anchored() -> None:
    first, second = two_parts()
    joined = join([Answered(first, raw(about(2))), Answered(second, raw())], [], second=False)
    assert joined.verdict is Verdict.APPROVE
    assert [found.anchored for found in joined.findings] == [False]


def test_the_same_quote_of_the_same_hunk_is_kept_once_at_its_gravest() -> None:
    first, _ = two_parts()
    missing = about(1, kind="missing", quote="Do it everywhere.")
    answers = [
        Answered(first, raw(missing | {"severity": severity, "message": severity}))
        for severity in ("minor", "blocker", "nit")
    ]
    joined = join(answers, [], second=False)
    assert [(found.severity, found.message) for found in joined.findings] == [(Severity.BLOCKER, "blocker")]
    assert joined.verdict is Verdict.REVISE
