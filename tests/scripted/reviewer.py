"""The scripted reviewer: objects to lines that are a mistake, overlooks some of them, and now and then objects to another.

What it notices depends on the diff alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from navigator.model import patterns
from navigator.rehearsal.engine import Completion
from tests.scripted.instances import fitted, instance_of
from tests.scripted.reading import Messages, ReviewPrompt, chance, read_review
from tests.scripted.writer import FLAW

SKILL = (0.85, 0.95)
"""Share of changes with a mistake in which it finds it, and of the others with which it is content."""

UNREADABLE_RATE = 0.025
"""Share of reviews that break off; the second try is whole."""

_HUNK = patterns.compile(r"@@ (H\d+) @@.*")
_SHOWN = patterns.compile(r"^@@ ([HF]\d+) @@", patterns.MULTILINE)
_LINE = patterns.compile(r" *(\d*)\|\+(.*)")


@dataclass(frozen=True, slots=True)
class Added:
    """One added line of a diff as a prompt shows it."""

    hunk: str
    number: int
    text: str


class Reviewer:
    """Answers review and review-again prompts, and requests for a test of a finding.

    Args:
        blind: taken off the share of mistakes that it finds.
    """

    def __init__(self, *, blind: float = 0.0) -> None:
        self._skill = SKILL[0] - blind, SKILL[1]

    def answer(self, messages: Messages, schema: dict[str, Any] | None = None, repeat: int = 0) -> Completion:
        """The review as JSON; `repeat`: how often this very prompt came before."""
        if "NO_TEST:" in messages[-1]["content"]:
            return Completion("NO_TEST: no test is written here.\n")
        prompt = read_review(messages)
        if not prompt.diff:
            return Completion("OK." if schema is None else json.dumps(instance_of(schema)))
        value = self._review(prompt)
        text = json.dumps(value if schema is None else fitted(value, schema), ensure_ascii=False)
        drawn = chance("unreadable", prompt.diff) < UNREADABLE_RATE
        if drawn and not repeat:
            return Completion(text[: len(text) * 3 // 5], "length")
        return Completion(text)

    def _review(self, prompt: ReviewPrompt) -> dict[str, Any]:
        added = [*added_lines(prompt.diff)]
        mistakes = [line for line in added if FLAW in line.text]
        right = chance("skill", prompt.diff) < self._skill[not mistakes]
        noticed = (mistakes if right else []) if mistakes else ([] if right else added[:1])
        read = [match[1] for match in _SHOWN.finditer(prompt.diff)]
        value: dict[str, Any] = {"summary": "Read.", "read": read}
        if prompt.earlier is not None:
            there = {line.text.strip() for line in added}
            kept = [one for one in prompt.earlier if str(one.get("quote", "")).strip() in there]
            value["addressed"] = [
                {"finding": one.get("number", 0), "met": one not in kept, "why": "As the line is."}
                for one in prompt.earlier
            ]
            noticed = [line for line in noticed if line in mistakes]
        findings = [_finding(line) for line in noticed[:8]]
        if prompt.earlier is not None:
            findings = [{**one, "earlier": 0} for one in findings]
        return {**value, "findings": findings, "verdict": "REVISE" if findings else "APPROVE"}


def added_lines(diff: str) -> Iterator[Added]:
    """The added lines of a diff block, each with the label of its hunk."""
    label = ""
    for row in diff.split("\n"):
        if (hunk := _HUNK.fullmatch(row)) is not None:
            label = hunk[1]
        elif (line := _LINE.fullmatch(row)) is not None:
            yield Added(label, int(line[1] or 0), line[2])


def _finding(line: Added) -> dict[str, Any]:
    return {
        "kind": "wrong",
        "hunk": line.hunk,
        "quote": line.text,
        "line": line.number,
        "severity": "major",
        "criterion": "correctness",
        "trigger": "Whenever it runs.",
        "message": "This line does not do what the task asks for.",
    }
