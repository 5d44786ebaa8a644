"""From a reviewer's answer to a verdict that stands on quoted text.

A finding counts only if its quote can be resolved: `wrong` in the hunk it names, new or removed side; `missing` in the
task or in the code that was shown. The line number only breaks ties. What cannot be resolved is kept, shown as unanchored,
and cannot cause REVISE. The verdict is derived from what is left; the model's own word stands beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from navigator.domain.diff import DiffLine, FileDiff, Hunk
from navigator.domain.models import Finding
from navigator.domain.states import Criterion, FindingKind, Severity, Verdict

BLOCKING = frozenset({Severity.BLOCKER, Severity.MAJOR})
_SPACES = re.compile(r"\s+")
_NUMBERED = re.compile(r"^\s*\d*\s*\|[ +-]?")


class UnreadableReview(Exception):
    """The answer is not a review: the reason is for the log and the retry, never a verdict."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class RawFinding(_Strict):
    """A finding as the model wrote it."""

    kind: FindingKind
    hunk: str
    quote: str
    line: int = 0
    severity: Severity
    criterion: Criterion
    trigger: str = ""
    message: str


class Addressed(_Strict):
    """The model's word on one earlier finding, numbered from 1."""

    finding: int
    met: bool
    why: str = ""


class RawReview(_Strict):
    """A review as the model wrote it."""

    summary: str = ""
    addressed: tuple[Addressed, ...] = ()
    findings: tuple[RawFinding, ...]
    verdict: Verdict


@dataclass(frozen=True)
class Shown:
    """What the reviewer was shown, for resolving quotes.

    Attributes:
        files: the diff, with its labels.
        task: the task's text.
        context: path -> (first line number, text) of each piece of code around the change.
    """

    files: Sequence[FileDiff]
    task: str
    context: Mapping[str, Sequence[tuple[int, str]]] = field(default_factory=dict)

    def hunk(self, label: str) -> tuple[FileDiff, Hunk] | None:
        """The hunk called `label` and its file."""
        for file in self.files:
            for hunk in file.hunks:
                if hunk.label == label:
                    return file, hunk
        return None


def read_review(content: str, reasoning: str = "") -> RawReview:
    """Parse an answer.

    With thinking off, some servers put constrained JSON into `reasoning_content` and leave `content` empty; both are read.

    Raises:
        UnreadableReview: no JSON object, or a field missing or of the wrong sort.
    """
    for text in (content, reasoning):
        if text.strip():
            return _parse(text)
    raise UnreadableReview("the answer is empty")


def _parse(text: str) -> RawReview:
    start = text.find("{")
    if start < 0:
        raise UnreadableReview("the answer holds no JSON object")
    try:
        # strict=False: constrained decoders let raw control characters through inside strings.
        value, _ = json.JSONDecoder(strict=False).raw_decode(text[start:])
        review = RawReview.model_validate(value)
    except json.JSONDecodeError as error:
        raise UnreadableReview(
            f"the answer is not valid JSON: {error.msg} at character {error.pos}"
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UnreadableReview(f"the answer's field {where or '(root)'}: {first['msg']}") from error
    except RecursionError as error:
        raise UnreadableReview("the answer is nested too deeply") from error
    if review.verdict is Verdict.UNREVIEWED:
        raise UnreadableReview("UNREVIEWED is not a verdict that a reviewer gives")
    return review


def ground(raw: RawReview, shown: Shown) -> tuple[Finding, ...]:
    """Every finding of `raw`, resolved where it can be; the order is kept."""
    return tuple(_ground_one(finding, shown) for finding in raw.findings)


def derive_verdict(findings: Sequence[Finding]) -> Verdict:
    """REVISE if and only if at least one blocker or major finding is anchored."""
    blocking = any(finding.anchored and finding.severity in BLOCKING for finding in findings)
    return Verdict.REVISE if blocking else Verdict.APPROVE


def _ground_one(raw: RawFinding, shown: Shown) -> Finding:
    base: dict[str, Any] = {
        "kind": raw.kind,
        "hunk": raw.hunk,
        "quote": raw.quote,
        "severity": raw.severity,
        "criterion": raw.criterion,
        "trigger": raw.trigger,
        "message": raw.message,
    }
    place = shown.hunk(raw.hunk)
    if place is None or not _fold(raw.quote):
        return Finding(**base, anchored=False)
    file, hunk = place
    if raw.kind is FindingKind.WRONG:
        line = _in_hunk(raw, hunk)
        if line is None:
            return Finding(**base, path=file.path, anchored=False)
        side = "old" if line.kind == "-" else "new"
        number = line.old if line.kind == "-" else line.new
        return Finding(**base, path=file.path, line=number, side=side, anchored=True)
    return _ground_missing(raw, base, file, hunk, shown)


def _ground_missing(
    raw: RawFinding, base: dict[str, Any], file: FileDiff, hunk: Hunk, shown: Shown
) -> Finding:
    quote = _fold(raw.quote)
    found = _in_context(raw, quote, shown, prefer=file.path)
    if found is not None:
        return Finding(**base, path=found[0], line=found[1], side="context", anchored=True)
    line = _in_hunk(raw, hunk)
    if line is not None:
        side = "old" if line.kind == "-" else "new"
        number = line.old if line.kind == "-" else line.new
        return Finding(**base, path=file.path, line=number, side=side, anchored=True)
    if _stands_in_task(quote, shown.task):
        return Finding(**base, path=file.path, line=hunk.new_start, side="task", anchored=True)
    return Finding(**base, path=file.path, anchored=False)


def _in_hunk(raw: RawFinding, hunk: Hunk) -> DiffLine | None:
    quotes = [quote for quote in map(_fold, raw.quote.splitlines()) if quote]
    for matches in (_equal, _within):
        candidates = [line for line in hunk.lines for quote in quotes[:1] if matches(quote, _fold(line.text))]
        if candidates:
            # A line that changed outranks a context line; the number only breaks ties.
            return min(candidates, key=lambda line: (line.kind == " ", _distance(line, raw.line)))
    return None


def _in_context(raw: RawFinding, quote: str, shown: Shown, *, prefer: str) -> tuple[str, int] | None:
    candidates: list[tuple[bool, int, str, int]] = []
    for path, pieces in shown.context.items():
        for first, text in pieces:
            for offset, line in enumerate(text.splitlines()):
                folded = _fold(line)
                if _equal(quote, folded) or _within(quote, folded):
                    number = first + offset
                    candidates.append(
                        (path != prefer, abs(number - raw.line) if raw.line else 0, path, number)
                    )
    if not candidates:
        return None
    _, _, path, number = min(candidates)
    return path, number


# A quote that is only a part of a line must be long enough to mean that line: `)` stands everywhere.
_SHORTEST_PART = 8


def _equal(quote: str, line: str) -> bool:
    return quote == line


def _within(quote: str, line: str) -> bool:
    return len(quote) >= _SHORTEST_PART and quote in line


def _stands_in_task(quote: str, task: str) -> bool:
    return len(quote) >= _SHORTEST_PART and quote in _fold(task)


def _distance(line: DiffLine, wanted: int) -> int:
    number = line.new if line.new is not None else line.old
    return abs((number or 0) - wanted) if wanted else 0


def _fold(text: str) -> str:
    """Text without the number column, its sign, and differences of white space; case stays."""
    return _SPACES.sub(" ", _NUMBERED.sub("", text)).strip()
