"""Answers that a reviewer may give to one change, and what each must come to.

The change is `BEFORE` to `AFTER`: hunk H1 in report.py, H2 to H4 in totals.py, and F1, a file that is only renamed. A case
says how many findings stand and how many of them are anchored, the derived verdict, and where the anchored ones stand.
`UNREVIEWED` means that the answer cannot be read. No case knows how the code that judges it works.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from navigator.journey.prompts.blocks import with_labels
from navigator.journey.reviewing.grounding import Shown
from navigator.model.diff import FileDiff
from navigator.model.models import Finding
from navigator.model.states import Criterion, FindingKind, Severity, Verdict
from tests.git.differing import difference

APPROVE, REVISE, UNREVIEWED = Verdict.APPROVE, Verdict.REVISE, Verdict.UNREVIEWED

TASK = (
    "Round half-even in totals.\n"
    "Every total must be a Decimal, also in net(). Callers pass strings.\n"
    "Rename the helper."
)

_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
BEFORE, AFTER = ({path: text.encode() for path, text in _TABLE[when].items()} for when in ("before", "after"))


def _shown() -> Shown:
    plain = difference(
        {path: text for path, text in BEFORE.items() if path != "old_name.py"},
        {path: text for path, text in AFTER.items() if path != "new_name.py"},
    )
    files = with_labels([FileDiff("R", "old_name.py", "new_name.py", "100644", "100644"), *plain])
    context = {path: [(1, text.decode())] for path, text in AFTER.items()}
    return Shown(files, TASK, context)


SHOWN = _shown()

QUANTIZE = "    return sum(amounts).quantize(CENT)"


def finding(**changes: Any) -> dict[str, Any]:
    """A major finding on an added line of H2, with changes; a value of None takes the field away."""
    whole = {
        "kind": "wrong",
        "hunk": "H2",
        "quote": QUANTIZE,
        "line": 9,
        "trigger": "an invoice without lines",
        "message": "sum() of nothing is int 0, which has no quantize",
        "criterion": "correctness",
        "severity": "major",
    } | changes
    return {name: value for name, value in whole.items() if value is not None}


def grounded(**fields: Any) -> Finding:
    """A finding that stands on what was shown."""
    usual = {"kind": FindingKind.WRONG, "severity": Severity.MAJOR, "criterion": Criterion.CORRECTNESS}
    return Finding(**(usual | {"message": "It is wrong.", "anchored": True} | fields))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def answer(*findings: Any, verdict: Any = "REVISE", **fields: Any) -> str:
    """A review as JSON."""
    return json.dumps({"summary": "s", "findings": list(findings), "verdict": verdict} | fields)


@dataclass(frozen=True)
class Case:
    """One answer. `places` are (path, line, side) of each anchored finding, where they matter."""

    name: str
    content: str
    verdict: Verdict
    anchored: int = 0
    findings: int = 1
    places: tuple[tuple[str, int | None, str], ...] = ()
    reasoning: str = ""


def _from_table() -> list[Case]:
    """One finding each, which stands on what was shown, or does not."""
    found = []
    for row in _TABLE["finding"]:
        name, place = row.pop("name"), row.pop("place", None)
        verdict = REVISE if place else APPROVE
        places = (tuple(place),) if place else ()
        found.append(Case(name, answer(finding(**row)), verdict, len(places), 1, places))
    return found


def _one(name: str, place: tuple[str, int | None, str] = ("totals.py", 9, "new"), **changes: Any) -> Case:
    """One grounded major finding."""
    return Case(name, answer(finding(**changes)), REVISE, 1, 1, (place,))


LONG = "m" * 9_000
MANY = [finding(message=f"no {n}") for n in range(30)]
GROUNDED = (
    _one("line beyond all integers", line=10**400),
    _one("no key for the line", line=None),
    Case("says APPROVE over a blocker", answer(finding(severity="blocker"), verdict="APPROVE"), REVISE, 1),
    Case("one line wrong in two ways", answer(finding(), finding(message="not rounded")), REVISE, 2, 2),
    Case("the very same finding twice", answer(finding(), finding()), REVISE, 1, 1),
    Case("more findings than asked for", answer(*MANY), REVISE, 30, 30),
    Case("texts longer than allowed", answer(finding(message=LONG, trigger=LONG), summary=LONG), REVISE, 1),
    Case("fields nobody asked for", answer(finding(confidence=0.2, suggestion="int"), score=3), REVISE, 1),
    Case("in a fence", f"```json\n{answer(finding())}\n```", REVISE, 1),
    Case("prose in front, with a brace", f"The set {{a, b}} is fine:\n{answer(finding())}", REVISE, 1),
    Case("the same answer twice", f"{answer(finding())}\n{answer(finding())}", REVISE, 1),
    Case("raw control characters", answer(finding(message="a@b")).replace("@", "\t\x0b\x01"), REVISE, 1),
    Case("a lone surrogate", answer(finding(message="MARK")).replace("MARK", "\\ud800 gone"), REVISE, 1),
    Case("thoughts in front", f"<think>{answer(verdict='APPROVE')}</think>\n{answer(finding())}", REVISE, 1),
    Case("only in the reasoning channel", "", REVISE, 1, reasoning=answer(finding())),
)

UNGROUNDED = (
    Case("says REVISE and reports nothing", answer(), APPROVE, 0, 0),
    Case("verdict in other words", answer(verdict="request changes"), APPROVE, 0, 0),
    Case("a minor finding", answer(finding(severity="minor")), APPROVE, 1),
)

_WHOLE = json.loads(answer(finding()))


def _without(field: str) -> str:
    return json.dumps({name: value for name, value in _WHOLE.items() if name != field})


def _unread(name: str, content: str, reasoning: str = "") -> Case:
    return Case(name, content, UNREVIEWED, 0, 0, reasoning=reasoning)


UNREADABLE = (
    _unread("empty", ""),
    _unread("cut", answer(finding())[:-9]),
    _unread("cut inside a finding that holds a whole object", answer(finding(extra=_WHOLE))[:-30]),
    _unread("an object of something else", '{"status": "ok"}'),
    _unread("no verdict", _without("verdict")),
    *(
        _unread(f"a finding without {field}", answer(finding(**{field: None})))
        for field in ("kind", "quote", "severity")
    ),
    _unread("a verdict of its own", answer(verdict="MAYBE")),
    _unread("UNREVIEWED is not the model's to say", answer(verdict="UNREVIEWED")),
    _unread("an unknown severity", answer(finding(severity="catastrophic"))),
    _unread("findings no list", answer(findings="none")),
    _unread("a finding that is a text", answer("wrong in H2")),
    _unread("a quote that is null", answer(finding()).replace(json.dumps(QUANTIZE), "null")),
    _unread("two reviews that differ", f"{answer(verdict='APPROVE')}\n{answer(finding())}"),
    _unread("the verdict named twice", answer(finding())[:-1] + ', "verdict": "APPROVE"}'),
    _unread("nested without end", '{"summary": ' + "[" * 100_000),
    _unread(
        "a number of five thousand digits", answer(finding()).replace('"line": 9', f'"line": {"9" * 5000}')
    ),
    _unread("a thought that never ends", f"<think>{answer(finding())}"),
    _unread("prose, and a draft in the reasoning", "I approve.", f"Draft: {answer(verdict='APPROVE')}"),
)

CASES = (*_from_table(), *GROUNDED, *UNGROUNDED, *UNREADABLE)
