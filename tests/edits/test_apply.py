"""The ladder, whole files, several blocks, and every code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from navigator.edits import apply, paths
from navigator.edits.apply import apply_answer
from navigator.edits.parser import parse_answer
from navigator.model.json_text import table
from navigator.model.states import EditCode
from tests.edits.support import Case, check, delete, edit, read_cases, refuses, rename, tree, whole

A = "one\ntwo\nthree\n"
CASES = read_cases()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_apply(case: Case) -> None:
    check(case)


def test_every_code_is_in_the_table() -> None:
    seen = {code for case in CASES for code in case.codes}
    # POLICY is said of the tree that edits made, not of edits.
    assert seen == {code.value for code in EditCode} - {EditCode.POLICY.value}


def test_a_lone_surrogate_is_not_written() -> None:
    refuses(edit("a.txt", "two", "\ud800"), {"a.txt": A}, "ENCODING", says=("U+D800",))


def test_problems_are_bounded_in_number_and_length() -> None:
    long = "x" * 5000
    answer = edit("a", long + "\n" + long, "y") * 100
    applied = refuses(answer, {"a": (long + "y\n") * 30}, *["NO_MATCH"] * 20)
    assert all(len(str(problem)) < 2700 for problem in applied.problems)
    assert sum(len(str(problem)) for problem in applied.problems) < 20_000


def test_repetition_does_not_make_messages_slow_or_places_wrong() -> None:
    # Every line is a candidate of the indent rung, and likeness by characters is at its worst.
    base = "}\n" * 20_000 + "x\n"
    refuses(edit("a.c", " }\n" * 500 + "   x", "y"), {"a.c": base}, "NO_MATCH", says=("Closest",))


def test_no_block_result_or_base_may_be_huge(monkeypatch: pytest.MonkeyPatch) -> None:
    refuses(edit("a", "two", "x" * 1_000_001), {"a": A}, "MARKER", says=("smaller blocks",))
    refuses(edit("a", "b", "c"), {"a": b"x" * 5_000_001}, "UNKNOWN_PATH", says=("5000001 bytes",))
    monkeypatch.setattr(apply, "MAX_RESULT", 50)
    refuses(edit("a", "first", "y" * 100), {"a": "first\n"}, "ENCODING", says=("50",))


def test_the_closest_lines_of_a_long_file_are_found() -> None:
    lines = [f"value_{i} = compute({i})" for i in range(3_000)]
    answer = edit("a", "value_2500 = compute(2500)\nvalue_2501 = compute(-1)", "x")
    refuses(answer, {"a": "\n".join(lines)}, "NO_MATCH", says=("lines 2501-2502", "line 2502"))


OVER = whole("unseen", "x\n")
WRITTEN = {
    "shown": whole("seen", "x\n"),
    "not there": whole("fresh", "x\n"),
    "nothing in it": whole("blank", "x\n"),
    "a block": edit("unseen", "two", "2"),
    "to be deleted": delete("unseen"),
    "made by the answer itself": edit("fresh", "", "y") + whole("fresh", "x\n"),
}
LOST = {
    "not shown": OVER,
    "by way of a deletion": delete("unseen") + OVER,
    "after a block": edit("unseen", "two", "2") + OVER,
    "under a new name": rename("unseen", "seen2") + whole("seen2", "x\n"),
}


@pytest.mark.parametrize("how", [*WRITTEN, *LOST])
def test_a_file_that_was_not_shown_whole_is_not_written_whole(how: str) -> None:
    """What the model never saw would be lost without anybody having decided it."""
    answer, codes = (WRITTEN | LOST)[how], [EditCode.OMISSION] if how in LOST else []
    files = tree({"seen": A, "unseen": f"{A}four\n", "blank": "\n"})
    applied = apply_answer(parse_answer(answer), files, shown={"seen"})
    assert [problem.code for problem in applied.problems] == codes
    assert bool(applied.changes) is not bool(codes)
    assert apply_answer(parse_answer(answer), files).problems == ()


def test_every_reason_is_in_the_table_and_used() -> None:
    folder = Path(paths.__file__).parent
    used = {
        key
        for file in folder.glob("*.py")
        for key in re.findall(r"""(?:BlockRefused\(\s*|if seven else )"(\w+)\"""", file.read_text("utf-8"))
    }
    assert used == set(table("navigator.edits", "problems.toml"))
