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
from tests.edits.support import Case, check, delete, edit, read_cases, rename, tree, whole

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
    check(
        Case(
            "",
            edit("a.txt", "two", "\ud800"),
            {"a.txt": A},
            codes=("ENCODING",),
            says=("U+D800",),
        )
    )


def test_problems_are_bounded_in_number_and_length() -> None:
    long = "x" * 5000
    applied = check(
        Case(
            "", edit("a", long + "\n" + long, "y") * 100, {"a": (long + "y\n") * 30}, codes=("NO_MATCH",) * 20
        )
    )
    assert all(len(str(problem)) < 2700 for problem in applied.problems)
    assert sum(len(str(problem)) for problem in applied.problems) < 20_000


def test_repetition_does_not_make_messages_slow_or_places_wrong() -> None:
    # Every line is a candidate of the indent rung, and likeness by characters is at its worst.
    base = "}\n" * 20_000 + "x\n"
    case = Case(
        "", edit("a.c", " }\n" * 500 + "   x", "y"), {"a.c": base}, codes=("NO_MATCH",), says=("Closest",)
    )
    check(case)


def test_a_block_may_not_be_huge() -> None:
    check(Case("", edit("a", "two", "x" * 1_000_001), {"a": A}, codes=("MARKER",), says=("smaller blocks",)))


def test_a_result_may_not_be_huge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply, "MAX_RESULT", 50)
    answer = edit("a", "first", "y" * 100)
    check(Case("", answer, {"a": "first\n"}, codes=("ENCODING",), says=("50",)))


def test_a_huge_base_is_left_alone() -> None:
    check(
        Case(
            "", edit("a", "b", "c"), {"a": b"x" * 5_000_001}, codes=("UNKNOWN_PATH",), says=("5000001 bytes",)
        )
    )


def test_the_closest_lines_of_a_long_file_are_found() -> None:
    lines = [f"value_{i} = compute({i})" for i in range(3_000)]
    answer = edit("a", "value_2500 = compute(2500)\nvalue_2501 = compute(-1)", "x")
    check(
        Case("", answer, {"a": "\n".join(lines)}, codes=("NO_MATCH",), says=("lines 2501-2502", "line 2502"))
    )


@pytest.mark.parametrize(
    ("answer", "codes"),
    [
        pytest.param(whole("seen", "x\n"), [], id="shown"),
        pytest.param(whole("unseen", "x\n"), [EditCode.OMISSION], id="not shown"),
        pytest.param(whole("fresh", "x\n"), [], id="not there"),
        pytest.param(whole("blank", "x\n"), [], id="nothing in it"),
        pytest.param(edit("unseen", "two", "2"), [], id="a block"),
        pytest.param(delete("unseen"), [], id="to be deleted"),
        pytest.param(edit("fresh", "", "y") + whole("fresh", "x\n"), [], id="made by the answer itself"),
        pytest.param(
            delete("unseen") + whole("unseen", "x\n"), [EditCode.OMISSION], id="by way of a deletion"
        ),
        pytest.param(
            edit("unseen", "two", "2") + whole("unseen", "x\n"), [EditCode.OMISSION], id="after a block"
        ),
        pytest.param(
            rename("unseen", "seen2") + whole("seen2", "x\n"), [EditCode.OMISSION], id="under a new name"
        ),
    ],
)
def test_a_file_that_was_not_shown_whole_is_not_written_whole(answer: str, codes: list[EditCode]) -> None:
    """What the model never saw would be lost without anybody having decided it."""
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
