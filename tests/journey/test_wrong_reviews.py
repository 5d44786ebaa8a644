"""Reviews whose labels, lines, quotes and keys are wrong in every combination.

No true finding is lost, no false one counts, and what does not count says why in true words.
"""

from __future__ import annotations

import html
import itertools
import re
from pathlib import Path
from typing import Any

import pytest

from navigator.journey.reviewing.answer import read_review
from navigator.journey.reviewing.grounding import (
    NO_QUOTE,
    NOT_CHANGED,
    NOT_SHOWN,
    OF_THE_TASK,
    Shown,
    derive_verdict,
    ground,
)
from navigator.model.states import Verdict
from tests.git.differing import difference
from tests.journey.answers import answer, finding
from tests.journey.scripted_models import Messages, Models, speaking
from tests.journey.support import hurry
from tests.journey.test_conductor import Room, text_of
from tests.journey.test_reviewing import commit, review_of, whole_files

FILLER = [f"filler_{number} = {number}" for number in range(30)]
WRONG = 'if limit < 0 & mask: raise Refused("too low")'
TWICE = "total += rate * amount"
TASK = "Refuse limits below zero.\nKeep the totals."
BEFORE = {"a.txt": "\n".join([*FILLER, "end_a = 1", ""]).encode(), "b.txt": "\n".join([*FILLER, ""]).encode()}
AFTER = {
    "a.txt": "\n".join([f"first: {TWICE}", TWICE, *FILLER, TWICE, "end_a = 2", ""]).encode(),
    "b.txt": "\n".join([*FILLER[:15], WRONG, *FILLER[15:], ""]).encode(),
}
FILES = difference(BEFORE, AFTER)
HUNKS = [(file.path, hunk) for file in FILES for hunk in file.hunks]
(LABEL, PATH, LINE) = next(
    (hunk.label, path, line.new) for path, hunk in HUNKS for line in hunk.lines if line.text == WRONG
)
SHOWN = Shown(FILES, TASK, {"c.py": [(1, "def seldom_used(value): return value")]})

LABELS = {
    "right": LABEL,
    "of another file": "H1",
    "of no hunk": "H99",
    "empty": "",
    "in words": f"hunk {LABEL[1:]} of b.txt",
    "missing": None,
}
LINES: dict[str, Any] = {
    "right": LINE,
    "off": (LINE or 0) + 3,
    "of another hunk": 1,
    "none": 0,
    "in words": "n/a",
    "missing": None,
}
TRUE = {
    "verbatim": WRONG,
    "bold": f"**{WRONG}**",
    "code": f"<code>{WRONG}</code>",
    "entities": html.escape(WRONG),
    "code with entities": f"<code>{html.escape(WRONG)}</code>",
    "behind its place": f"b.txt:{LINE}: {WRONG}",
    "as it was shown": f"{LINE} |+{WRONG}",
    "with its sign": f"+{WRONG}",
    "behind 300,000 blanks": " " * 300_000 + WRONG,
    "in backticks": f"`{WRONG}`",
    "a part": "if limit < 0 & mask: raise",
}
FALSE = {
    "altered": (WRONG.replace("<", "<="), NOT_SHOWN),
    "invented": ("os.remove(everything)", NOT_SHOWN),
    "of the code around": ("def seldom_used(value): return value", NOT_CHANGED),
    "of the task": ("Refuse limits below zero.", OF_THE_TASK),
    "empty": ("", NO_QUOTE),
    "blanks": ("   ", NO_QUOTE),
}


def said(quote: str, label: str | None, line: Any) -> str:
    """An answer with one grave finding; a key whose value is None is not there."""
    one = {
        key: value for key, value in finding(quote=quote, hunk=label, line=line).items() if value is not None
    }
    return answer(one | {"severity": "blocker"}, verdict="REVISE")


@pytest.mark.parametrize(
    ("quote", "label", "line"),
    list(itertools.product(TRUE, LABELS, LINES)),
    ids=lambda name: name.replace(" ", "-"),
)
def test_a_true_finding_is_not_lost(quote: str, label: str, line: str) -> None:
    (found,) = ground(read_review(said(TRUE[quote], LABELS[label], LINES[line])), SHOWN)
    assert (found.anchored, found.path, found.line, found.hunk) == (True, PATH, LINE, LABEL)
    assert derive_verdict([found]) is Verdict.REVISE


@pytest.mark.parametrize(
    ("quote", "label", "line"),
    list(itertools.product(FALSE, LABELS, LINES)),
    ids=lambda name: name.replace(" ", "-"),
)
def test_a_false_finding_does_not_count_and_says_why(quote: str, label: str, line: str) -> None:
    text, reason = FALSE[quote]
    (found,) = ground(read_review(said(text, LABELS[label], LINES[line])), SHOWN)
    assert (found.anchored, found.unanchored) == (False, reason)
    assert derive_verdict([found]) is Verdict.APPROVE


@pytest.mark.parametrize(
    ("place", "label"),
    [(place, label) for place in (2, 33) for label in ("right", "of no hunk", "empty", "missing")],
)
def test_of_a_quote_that_stands_twice_the_nearest_line_is_meant(place: int, label: str) -> None:
    own = next(hunk.label for _, hunk in HUNKS if any(line.new == place for line in hunk.lines))
    named = own if label == "right" else LABELS[label]
    for near in (place, place + 1):
        (found,) = ground(read_review(said(TWICE, named, near)), SHOWN)
        assert (found.anchored, found.path, found.line, found.hunk) == (True, "a.txt", place, own)


def test_the_same_comes_out_of_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the server, the conductor and the store: each label and line once with a true and a false quote."""
    pairs = list(itertools.product(LABELS, LINES))
    true, false = itertools.cycle(TRUE), itertools.cycle(FALSE)
    cases = [(TRUE[next(true)], pair, None) for pair in pairs]
    cases += [(*FALSE[next(false)][:1], pair, "dropped") for pair in pairs]
    hurry(monkeypatch)

    def read(messages: Messages) -> str:
        number = re.search(r"Case (\d+)\.", text_of(messages))
        assert number is not None
        quote, (label, line), _ = cases[int(number[1])]
        return said(quote, LABELS[label], LINES[line])

    write = whole_files(AFTER)
    with speaking(Models(lambda messages: write, read)) as models:
        room = Room(tmp_path, models, monkeypatch)
        text = models.settings + "[batch]\nrevisions = 0\ntarget = 200\n"
        room.config.write_text(text, encoding="utf-8")
        commit(room, BEFORE)
        tasks = [room.queue(f"{TASK}\nCase {number}.", files=[*BEFORE]) for number in range(len(cases))]
        room.work()
        wrong = []
        for task, (quote, pair, dropped) in zip(tasks, cases, strict=True):
            review = review_of(room.read().proposals(task_id=task)[0])
            verdict = Verdict.APPROVE if dropped else Verdict.REVISE
            if (review.verdict, review.stated_verdict) != (verdict, Verdict.REVISE):
                wrong.append((quote[:80], pair, review.verdict, review.summary[:120]))
    assert wrong == []
    assert len(cases) == 72
