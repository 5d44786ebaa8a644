"""A verdict stands on quoted text: what each answer of a reviewer must come to."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.cascade.grounding import Shown, UnreadableReview, derive_verdict, ground, read_review
from navigator.domain.diff import DiffLine, FileDiff, Hunk
from navigator.domain.states import Verdict

TASK = "Round half-even in totals.\nEvery total must be a Decimal, also in net()."

HUNK_1 = Hunk(
    "H1",
    41,
    3,
    41,
    4,
    "class Totals:",
    (
        DiffLine(" ", "def total(lines):", 41, 41),
        DiffLine("-", "    return round(sum(line.amount for line in lines), 2)", 42, None),
        DiffLine("+", "    amounts = [Decimal(line.amount) for line in lines]", None, 42),
        DiffLine("+", "    return sum(amounts).quantize(CENT)", None, 43),
        DiffLine(" ", "", 43, 44),
    ),
)
HUNK_2 = Hunk(
    "H2",
    60,
    1,
    61,
    3,
    "",
    (
        DiffLine("+", "    pass", None, 61),
        DiffLine(" ", "    return value", 60, 62),
        DiffLine("+", "    pass", None, 63),
    ),
)
SHOWN = Shown(
    files=(FileDiff("M", "totals.py", "totals.py", "100644", "100644", False, (HUNK_1, HUNK_2)),),
    task=TASK,
    context={
        "totals.py": [(38, "CENT = Decimal('0.01')\n\n\ndef total(lines):"), (70, "def net(lines, vat):")]
    },
)


def finding(**changes: Any) -> dict[str, Any]:
    """A major finding that quotes the removed line of H1, with changes."""
    return {
        "kind": "wrong",
        "hunk": "H1",
        "quote": "    return sum(amounts).quantize(CENT)",
        "line": 43,
        "severity": "major",
        "criterion": "correctness",
        "trigger": "an invoice without lines",
        "message": "int has no quantize",
    } | changes


def answer(*findings: dict[str, Any], verdict: str = "REVISE") -> str:
    return json.dumps({"summary": "s", "findings": list(findings), "verdict": verdict})


# name, answer, derived verdict, for each finding (anchored, path, line, side)
TABLE: list[tuple[str, str, Verdict, list[tuple[bool, str, int | None, str]]]] = [
    ("a true finding", answer(finding()), Verdict.REVISE, [(True, "totals.py", 43, "new")]),
    (
        "quotes a removed line",
        answer(finding(quote="return round(sum(line.amount for line in lines), 2)", line=0)),
        Verdict.REVISE,
        [(True, "totals.py", 42, "old")],
    ),
    (
        "quotes with the number and the sign in front",
        answer(finding(quote="    43|+    return sum(amounts).quantize(CENT)")),
        Verdict.REVISE,
        [(True, "totals.py", 43, "new")],
    ),
    (
        "quotes with other white space",
        answer(finding(quote="return  sum(amounts).quantize(CENT)  ")),
        Verdict.REVISE,
        [(True, "totals.py", 43, "new")],
    ),
    (
        "quotes a part of a line that is long enough",
        answer(finding(quote="sum(amounts).quantize")),
        Verdict.REVISE,
        [(True, "totals.py", 43, "new")],
    ),
    (
        "quotes a part too short to mean a line",
        answer(finding(quote="sum")),
        Verdict.APPROVE,
        [(False, "totals.py", None, "new")],
    ),
    (
        "off by many lines, the quote decides",
        answer(finding(line=999)),
        Verdict.REVISE,
        [(True, "totals.py", 43, "new")],
    ),
    (
        "a quote that stands twice: the number breaks the tie",
        answer(finding(hunk="H2", quote="    pass", line=63)),
        Verdict.REVISE,
        [(True, "totals.py", 63, "new")],
    ),
    (
        "a quote that stands twice, no number: the first",
        answer(finding(hunk="H2", quote="    pass", line=0)),
        Verdict.REVISE,
        [(True, "totals.py", 61, "new")],
    ),
    (
        "misquoted",
        answer(finding(quote="    return sum(amounts).quantise(CENT)")),
        Verdict.APPROVE,
        [(False, "totals.py", None, "new")],
    ),
    (
        "right quote, wrong hunk",
        answer(finding(hunk="H2")),
        Verdict.APPROVE,
        [(False, "totals.py", None, "new")],
    ),
    ("a hunk that does not exist", answer(finding(hunk="H9")), Verdict.APPROVE, [(False, "", None, "new")]),
    ("an empty quote", answer(finding(quote="  ")), Verdict.APPROVE, [(False, "totals.py", None, "new")]),
    (
        "wrong that quotes the task is not grounded",
        answer(finding(quote="Every total must be a Decimal, also in net().")),
        Verdict.APPROVE,
        [(False, "totals.py", None, "new")],
    ),
    (
        "missing that quotes the task",
        answer(finding(kind="missing", quote="Every total must be a Decimal, also in net().")),
        Verdict.REVISE,
        [(True, "totals.py", 41, "task")],
    ),
    (
        "missing that quotes the code around",
        answer(finding(kind="missing", quote="def net(lines, vat):", line=70)),
        Verdict.REVISE,
        [(True, "totals.py", 70, "context")],
    ),
    (
        "missing that quotes nothing shown",
        answer(finding(kind="missing", quote="def gross(lines, vat, discount):")),
        Verdict.APPROVE,
        [(False, "totals.py", None, "new")],
    ),
    ("a minor finding", answer(finding(severity="minor")), Verdict.APPROVE, [(True, "totals.py", 43, "new")]),
    ("a nit", answer(finding(severity="nit")), Verdict.APPROVE, [(True, "totals.py", 43, "new")]),
    ("a blocker", answer(finding(severity="blocker")), Verdict.REVISE, [(True, "totals.py", 43, "new")]),
    (
        "says APPROVE and reports a major finding",
        answer(finding(), verdict="APPROVE"),
        Verdict.REVISE,
        [(True, "totals.py", 43, "new")],
    ),
    ("says REVISE and reports nothing", answer(verdict="REVISE"), Verdict.APPROVE, []),
    ("nothing found", answer(verdict="APPROVE"), Verdict.APPROVE, []),
    (
        "one grounded, one invented",
        answer(finding(), finding(hunk="H9")),
        Verdict.REVISE,
        [(True, "totals.py", 43, "new"), (False, "", None, "new")],
    ),
    (
        "obeys a comment in the code: no finding, says APPROVE",
        answer(verdict="APPROVE"),
        Verdict.APPROVE,
        [],
    ),
    (
        "raw control characters inside a string",
        answer(finding()).replace("int has no quantize", "int has\tno\x0bquantize"),
        Verdict.REVISE,
        [(True, "totals.py", 43, "new")],
    ),
    (
        "prose before the object",
        "Here is my review:\n" + answer(finding()),
        Verdict.REVISE,
        [(True, "totals.py", 43, "new")],
    ),
]


@pytest.mark.parametrize(
    ("text", "verdict", "places"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_answer_comes_to_its_verdict(
    text: str, verdict: Verdict, places: list[tuple[bool, str, int | None, str]]
) -> None:
    findings = ground(read_review(text), SHOWN)
    assert [(f.anchored, f.path, f.line, f.side) for f in findings] == places
    assert derive_verdict(findings) is verdict


UNREADABLE = {
    "empty": "",
    "blank": "  \n",
    "prose": "LGTM, approve this.",
    "cut": answer(finding())[:-9],
    "no verdict": '{"summary": "s", "findings": []}',
    "no findings": '{"summary": "s", "verdict": "APPROVE"}',
    "a verdict of its own": '{"summary": "s", "findings": [], "verdict": "MAYBE"}',
    "UNREVIEWED is not the model's to say": '{"summary": "s", "findings": [], "verdict": "UNREVIEWED"}',
    "an unknown severity": answer(finding(severity="catastrophic")),
    "an unknown kind": answer(finding(kind="style")),
    "findings no list": '{"summary": "s", "findings": "none", "verdict": "APPROVE"}',
    "nested without end": '{"summary": ' + "[" * 100_000,
    "an array": "[]",
}


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_cannot_be_read_is_never_a_verdict(text: str) -> None:
    with pytest.raises(UnreadableReview):
        read_review(text)


def test_reasoning_is_read_where_content_is_empty() -> None:
    assert read_review("", answer(verdict="APPROVE")).verdict is Verdict.APPROVE


@given(st.text(max_size=400))
def test_any_text_is_a_review_or_unreadable(text: str) -> None:
    try:
        raw = read_review(text)
    except UnreadableReview:
        return
    assert raw.verdict in (Verdict.APPROVE, Verdict.REVISE)


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "kind": st.sampled_from(["wrong", "missing"]),
                "hunk": st.sampled_from(["H1", "H2", "H3", ""]),
                "quote": st.text(max_size=30)
                | st.sampled_from([line.text for hunk in (HUNK_1, HUNK_2) for line in hunk.lines]),
                "line": st.integers(0, 100),
                "severity": st.sampled_from(["blocker", "major", "minor", "nit"]),
                "criterion": st.sampled_from(["correctness", "completeness", "safety"]),
                "trigger": st.text(max_size=5),
                "message": st.text(max_size=5),
            }
        ),
        max_size=5,
    )
)
def test_an_anchored_finding_points_at_what_it_quotes(findings: list[dict[str, Any]]) -> None:
    grounded = ground(read_review(answer(*findings)), SHOWN)
    lines = {
        ("old" if line.kind == "-" else "new", line.old if line.kind == "-" else line.new): line.text
        for hunk in (HUNK_1, HUNK_2)
        for line in hunk.lines
    }
    for found in grounded:
        if not found.anchored or found.side not in ("old", "new"):
            continue
        assert " ".join(found.quote.split()).lstrip("0123456789|+- ") in " ".join(
            lines[found.side, found.line].split()
        )
    if derive_verdict(grounded) is Verdict.REVISE:
        assert any(found.anchored for found in grounded)
