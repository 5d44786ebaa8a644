"""From a reviewer's findings to a verdict based on quoted text.

A finding counts only if its quote can be resolved: `wrong` in the change, new or removed side; `missing` in the task or in
the code that was shown. The quote decides where a finding is. The hunk and the line that it names are hints, which settle
between several places. What cannot be resolved is kept, shown as unanchored with the reason, and cannot cause REVISE. The
verdict is derived from what is left; the verdict that the model stated is kept beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from navigator.journey.reviewing.answer import RawFinding, RawReview, clipped
from navigator.journey.reviewing.quotes import find_quote, fold_unicode, sentences
from navigator.model.diff import DiffLine, FileDiff, Hunk
from navigator.model.models import Finding
from navigator.model.states import FindingKind, ReproductionOutcome, Severity, Verdict

BLOCKING = frozenset({Severity.BLOCKER, Severity.MAJOR})


@dataclass(frozen=True)
class Shown:
    """What the reviewer was shown, for resolving quotes.

    Attributes:
        files: the diff, with its labels.
        task: the task's text, and the developer's note where there is one.
        context: path -> (first line number, text) of each piece of code around the change.
    """

    files: Sequence[FileDiff]
    task: str
    context: Mapping[str, Sequence[tuple[int, str]]] = field(default_factory=dict)

    @property
    def first(self) -> tuple[FileDiff, Hunk] | None:
        """The first hunk and its file; None where there is none."""
        return next(((file, hunk) for file in self.files for hunk in file.hunks), None)

    def hunk(self, label: str) -> tuple[FileDiff, Hunk] | None:
        """The hunk called `label` and its file."""
        for file in self.files:
            for hunk in file.hunks:
                if hunk.label == label:
                    return file, hunk
        return None


@dataclass(frozen=True, slots=True)
class _Place:
    """A line that a quote may be of. `rank` orders ties: lower is nearer to what was meant."""

    path: str
    line: int | None
    side: str
    rank: tuple[int, ...] = ()
    hunk: str = ""


def ground(raw: RawReview, shown: Shown) -> tuple[Finding, ...]:
    """Every finding of `raw`, resolved where it can be; the order is kept."""
    return tuple(ground_one(finding, shown) for finding in raw.findings)


def weighs(finding: Finding) -> bool:
    """Whether a finding needs a test: anchored, blocker or major, and not a remark of a later round."""
    return finding.anchored and not finding.remark and finding.severity in BLOCKING


def blocks(finding: Finding, block_on: str = "grounded") -> bool:
    """Whether this finding alone makes REVISE: it needs a test (`weighs`), and was not set aside because of a precedent.

    With `block_on` "reproduced" one whose test was run and did not prove it makes none. Where no test was run, nothing is
    known against the finding, and it counts as before: what could not run must not become an APPROVE.
    """
    if not weighs(finding) or finding.set_aside:
        return False
    made = finding.reproduction
    return block_on != "reproduced" or made is None or made.outcome is not ReproductionOutcome.NOT_REPRODUCED


def derive_verdict(findings: Sequence[Finding], block_on: str = "grounded") -> Verdict:
    """REVISE if any finding blocks, else APPROVE; see `blocks`, also for `block_on`."""
    return Verdict.REVISE if any(blocks(finding, block_on) for finding in findings) else Verdict.APPROVE


def ground_one(raw: RawFinding, shown: Shown) -> Finding:
    """One finding, resolved where it can be; its texts are cut to what is kept."""
    base: dict[str, Any] = {
        "kind": raw.kind,
        "hunk": raw.hunk,
        "quote": clipped("quote", raw.quote),
        "severity": raw.severity,
        "criterion": raw.criterion,
        "trigger": clipped("trigger", raw.trigger),
        "message": clipped("message", raw.message),
    }
    named = shown.hunk(raw.hunk)
    path = named[0].path if named else ""
    if not fold_unicode(raw.quote):
        return Finding(**base, path=path, unanchored=NO_QUOTE)
    place = (_in_change if raw.kind is FindingKind.WRONG else _missing)(raw, named, shown)
    if place is None:
        return Finding(**base, path=path, unanchored=_why_not(raw, shown))
    base["hunk"] = place.hunk or raw.hunk
    return Finding(**base, path=place.path, line=place.line, side=place.side, anchored=True)


NO_QUOTE = "it quotes nothing"
NOT_SHOWN = "its quote is nowhere in what the reviewer was shown"
NOT_CHANGED = "its quote is in the code around the change, not in the change"
OF_THE_TASK = "its quote is of the task, not of the change"


def _why_not(raw: RawFinding, shown: Shown) -> str:
    """Why a quote that no hunk holds does not count."""
    if raw.kind is FindingKind.WRONG and _in_context(raw, shown, prefer=""):
        return NOT_CHANGED
    if raw.kind is FindingKind.WRONG and _in_task(raw.quote, shown.task) is not None:
        return OF_THE_TASK
    return NOT_SHOWN


def _in_change(raw: RawFinding, named: tuple[FileDiff, Hunk] | None, shown: Shown) -> _Place | None:
    """The line of the change that a quote is of.

    The hunk that the finding names comes first, unless the quote stands at the very line it names in another hunk of that
    file. Where the named hunk does not hold the quote, the strictest reading in any other decides, then the nearest line.
    """
    own = _find_place(raw, *named) if named else None
    if own is not None and own[1].line == raw.line:
        return own[1]
    others = [
        (found[0], int(named is None or file is not named[0]), found[1])
        for file, hunk in _others(shown, named[1] if named else None)
        if (found := _find_place(raw, file, hunk)) is not None
    ]
    if own is not None:
        exact = [
            place for rung, away, place in others if rung <= own[0] and not away and place.line == raw.line
        ]
        return exact[0] if exact and raw.line else own[1]
    best = min(others, key=lambda option: (option[0], option[1], option[2].rank), default=None)
    return best[2] if best else None


def _find_place(raw: RawFinding, file: FileDiff, hunk: Hunk) -> tuple[int, _Place] | None:
    """The rung and the line of the hunk that the quote is of: on the new side, the removed one, or across both as shown."""
    views = [
        [line for line in hunk.lines if line.kind in kinds]
        for kinds in ((" ", "+"), (" ", "-"), (" ", "+", "-"))
    ]
    found = find_quote(raw.quote, [[line.text for line in view] for view in views])
    order = {id(line): number for number, line in enumerate(hunk.lines)}
    best: tuple[tuple[int, ...], int, DiffLine] | None = None
    for view, matches in zip(views, found, strict=True):
        for match in matches:
            lines = view[match.first : match.last + 1]
            # A quote of several lines is about the first of them that changed.
            line = next((line for line in lines if line.kind != " "), lines[0])
            rank = (
                int(bool(match.sign) and line.kind != match.sign),
                *_nearness(line.new, raw.line, changed=line.kind != " "),
                order[id(line)],
            )
            if best is None or rank < best[0]:
                best = (rank, match.rung, line)
    if best is None:
        return None
    line = best[2]
    return best[1], _Place(
        file.path, _line_number(line), "old" if line.kind == "-" else "new", best[0], hunk.label
    )


def _missing(raw: RawFinding, named: tuple[FileDiff, Hunk] | None, shown: Shown) -> _Place | None:
    """Where a `missing` finding's proof is: the strictest reading wins; among equals the code around comes first, then
    the hunk it names, the task, and the other hunks."""
    file, hunk = named or (None, None)
    options: list[tuple[int, int, _Place]] = []
    around = _in_context(raw, shown, prefer=file.path if file else "")
    if around is not None:
        options.append((around[0], 0, around[1]))
    own = _find_place(raw, file, hunk) if file and hunk else None
    if own is not None:
        options.append((own[0], 1, own[1]))
    task = _in_task(raw.quote, shown.task)
    if task is not None and (target := named or shown.first):
        options.append((task, 2, _Place(target[0].path, max(target[1].new_start, 1), "task")))
    for other, its in _others(shown, hunk):
        elsewhere = _find_place(raw, other, its)
        if elsewhere is not None:
            options.append((elsewhere[0], 3, elsewhere[1]))
    return min(options, key=lambda option: option[:2])[2] if options else None


def _others(shown: Shown, but: Hunk | None) -> Iterator[tuple[FileDiff, Hunk]]:
    for file in shown.files:
        for hunk in file.hunks:
            if hunk is not but:
                yield file, hunk


def _in_context(raw: RawFinding, shown: Shown, *, prefer: str) -> tuple[int, _Place] | None:
    pieces = [
        (path, first, text.splitlines()) for path, parts in shown.context.items() for first, text in parts
    ]
    found = find_quote(raw.quote, [lines for _, _, lines in pieces])
    places: list[tuple[int, _Place]] = []
    for (path, first, _), matches in zip(pieces, found, strict=True):
        for match in matches:
            number = first + match.first
            rank = (int(path != prefer), *_nearness(number, raw.line, changed=False), number)
            places.append((match.rung, _Place(path, number, "context", rank)))
    return min(places, key=lambda option: (option[0], option[1].rank, option[1].path)) if places else None


def _in_task(quote: str, task: str) -> int | None:
    """The rung on which a quote was found in the task: a whole line or sentence, however short, or a part long enough."""
    texts = [*([part] for part in sentences(task)), task.splitlines()]
    rungs = [match.rung for matches in find_quote(quote, texts) for match in matches]
    return min(rungs) if rungs else None


def _nearness(number: int | None, wanted: int, *, changed: bool) -> tuple[int, int, int]:
    """Order of ties: the very number that was named; then lines that changed; then the nearest. Removed lines were shown
    without a number."""
    if not wanted or number is None:
        return (1, int(not changed), 0)
    return (int(number != wanted), int(not changed), abs(number - wanted))


def _line_number(line: DiffLine) -> int | None:
    return line.old if line.kind == "-" else line.new
