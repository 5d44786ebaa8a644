"""Events as people read them."""

from __future__ import annotations

from typing import Any

import pytest

from navigator.model.models import Event
from navigator.sheet.writing import event_words

CHECKS = [{"name": "syntax", "outcome": "passed"}, {"name": "tests", "outcome": "failed_before"}]


def told(kind: str, **data: Any) -> str:
    return event_words(Event(seq=1, at="2026-11-20T14:30:00Z", kind=kind, task_id="T1", data=data))[1]


@pytest.mark.parametrize(
    ("kind", "data", "said"),
    [
        ("edit_failed", {"code": "no_match", "path": "a/__main__.py"}, "code no match, path a/__main__.py"),
        ("task_state", {"from": "done", "to": "queued", "reason": "my_file.py"}, "done → queued: my_file.py"),
        ("task_state", {"from": "awaiting_review", "to": "reviewing"}, "awaiting review → reviewing"),
        ("task_linked", {"after": []}, "after no other task"),
        ("call_ended", {"seconds": 8.204000000000001, "call": 7}, "8.2 s, call 7"),
        ("proposal_checks", {"checks": CHECKS}, "checks syntax passed, tests failed before"),
        ("proposal_split", {"part": "P3", "hunks": ["H1", "H2"], "rest": []}, "part P3, hunks H1, H2"),
        ("proposal_added", {"tree": "a" * 40, "attempt": 0, "note": ""}, "tree aaaaaaaaaa, attempt 1"),
        ("edits_refused", {"problems": ["one\x1b[31m", None]}, "problems one␛[31m"),
    ],
)
def test_particulars_are_words(kind: str, data: dict[str, Any], said: str) -> None:
    assert told(kind, **data) == said
