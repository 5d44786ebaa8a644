"""What the reviewer caught: whether a finding is at the fault's place, and what a backtest's answers come to. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from navigator.figures.exam import SIZES, Backtest, Case, caught_of
from navigator.figures.intervals import Share
from navigator.figures.page import SHARE_COLUMNS, Column, Row, Table, share_rows
from navigator.figures.reviewer import backtest_words
from navigator.model.diff import FileDiff
from navigator.model.models import Finding
from navigator.model.records import ExamItem, PreparedProject
from navigator.model.states import PAST
from navigator.model.text import duration, plural

NEAR = 3
"""Lines between a finding and the seeded place at most: the width of a diff's context."""


def names_place(item: ExamItem, findings: Iterable[Finding], files: Sequence[FileDiff]) -> bool:
    """Whether an anchored finding is within `NEAR` lines of the seeded fault.

    In a commit of the past one that asks for something has to quote a line that the fix changed.
    """
    # A fix that was taken back may have been in several places.
    places = item.evidence.get("places") or [(item.path, item.line, max(item.line, item.end_line))]
    past = item.source in PAST
    near = 0 if past else NEAR
    return any(
        finding.path == path
        and begin <= last + near
        and end + past * finding.quote.count("\n") >= first - near
        for finding in findings
        if (finding.asked_for if past else finding.anchored) and finding.line
        for begin, end in [_lines_about(finding, files)]
        for path, first, last in places
        if path and first
    )


def _lines_about(finding: Finding, files: Sequence[FileDiff]) -> tuple[int, int]:
    """The lines of the new file that a finding is about: of a removed line, those of its hunk's new side."""
    line = finding.line or 0
    if finding.side != "old":
        return line, line
    for file in files:
        for hunk in file.hunks if file.path == finding.path else ():
            if hunk.old_start <= line < hunk.old_start + hunk.old_count:
                at = hunk.new_start + line - hunk.old_start
                end = hunk.new_start + max(0, hunk.new_count - 1)
                return min(at, end), min(at, end)
    return line, line


# The backtest.


def examined_commit(item: ExamItem) -> str:
    """The id of the commit that an item was made of."""
    return item.origin.split(":")[2]


FAILING = "failing"
"""The proof of a fix without which a test of today fails."""


def by_size(found: Backtest) -> list[tuple[str, Share]]:
    """The share caught by changed lines of the commit; sizes that none has are left out."""
    sized: dict[int, list[Case]] = {}
    for case in found.bugs:
        sized.setdefault(max(one for one in SIZES if one <= case.item.changed_lines), []).append(case)
    return [(SIZES[least], caught_of(sized[least])) for least in sorted(sized)]


def by_chance(found: Backtest) -> float:
    """How many bugs would be caught if each commit's findings were at random lines of its change."""
    return sum(
        1
        - (1 - min(1.0, len(case.item.evidence["places"]) / max(1, case.item.changed_lines)))
        ** case.asked_for
        for case in found.bugs
    )


def proved(case: Case) -> bool:
    """Whether a test of today fails without the fix."""
    return bool(case.item.evidence.get("proof") == FAILING)


def how_sure(found: Backtest) -> str:
    """How sure it is that these were the bugs, and what is not seen, in words."""
    alone = sum(case.item.evidence["share"] == 1 for case in found.bugs)
    unread = f"{found.unread} answers could not be read. " if found.unread else ""
    return (
        f"{unread}As many findings at random lines would catch {by_chance(found):.1f}. Without {sum(map(proved, found.bugs))} of "
        f"these {len(found.bugs)} fixes a test of today fails; {alone} lead to one commit alone. About one in four commits is "
        "not where the bug came from, so more may have been caught; bugs whose fixes only add lines are not seen. "
        "A model that was trained on this repository may know these fixes."
    )


def worth_reading(found: Backtest, most: int = 3) -> tuple[list[Case], list[Case]]:
    """The best cases, caught in the largest changes, and the worst: missed, the surest bugs and the smallest changes first."""
    best = sorted(
        (case for case in found.bugs if case.answer.named), key=lambda case: -case.item.changed_lines
    )
    worst = sorted(
        (case for case in found.bugs if not case.answer.named),
        key=lambda case: (not proved(case), -case.item.evidence["share"], case.item.changed_lines),
    )
    return best[:most], worst[:most]


def backtest_table(found: Backtest, reviewer: str, items: int) -> Table:
    """The result so far, how sure it is, and the cases that are worth reading; `items`: commits that are asked about in all."""
    answer = backtest_words(found)
    if left := items - len(found.bugs) - len(found.innocent) - found.unread:
        answer += f" {plural(left, 'commit')} to ask: `navigator exam run --items {left}` asks now."
    if not found.bugs:
        return Table("BUGS", answer=answer)
    rows = [("caught", found.caught), *((f"  {name} lines", one) for name, one in by_size(found))]
    notes = [how_sure(found)]
    for title, cases in zip(("Caught", "Missed"), worth_reading(found), strict=True):
        for item in (case.item for case in cases):
            fix = f"{item.evidence['fix'][:12]} {item.evidence['fix_subject']}"
            notes.append(f"{title}: {examined_commit(item)[:12]} {item.title}")
            notes.append(f"  {item.path}:{item.line}, fixed by {fix}")
    shares = share_rows([*rows, ("innocent, with a finding", found.flagged)])
    return Table("BUGS", SHARE_COLUMNS, shares, about=reviewer, answer=answer, notes=tuple(notes))


def traced_table(one: PreparedProject) -> Table:
    """How many fixes of a project were traced to the commits that introduced their bugs, and why others were left out."""
    said, notes = [one.problem, one.hint], list[str]()
    for count in one.sources.values():
        said += [
            f"{count.kept:,} of {count.found:,} fixes were traced to the commit that introduced the bug.",
            f"Asked about: {plural(one.faulty, 'bug')}, {plural(one.clean, 'innocent commit')}.",
        ]
        notes += [f"{number:,} left out: {reason}" for reason, number in _most_first(count.rejected)]
    if one.ended:
        said.append(f"Proving by tests stopped: {one.ended}")
    return Table(one.project, answer=" ".join(filter(None, said)), notes=tuple(notes))


_COUNTS = ("found", "known", "tried", "kept")


def prepared_table(one: PreparedProject) -> Table:
    """What was found, tried and kept of a project for the exam, and why the rest was not kept."""
    if one.problem:
        return Table(
            one.project, answer=f"Nothing was prepared: {one.problem}", notes=(one.hint,) if one.hint else ()
        )
    answer = f"Items now: {one.faulty} faulty, {one.clean} clean. {one.runs} test runs in {duration(one.seconds)}; {one.ended}."
    rows, notes = [], []
    for source, count in one.sources.items():
        name = source.replace("_", " ")
        rows.append(Row(name, tuple(str(getattr(count, column)) for column in _COUNTS)))
        notes += [f"{name}: {number} not kept: {reason}" for reason, number in _most_first(count.rejected)]
    return Table(one.project, tuple(map(Column, _COUNTS)), tuple(rows), answer=answer, notes=tuple(notes))


def _most_first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda held: (-held[1], held[0]))


def backtest_document(found: Backtest, reviewer: str) -> dict[str, Any]:
    """The result as JSON."""
    each = found.alarms_each
    return {
        "reviewer": reviewer,
        "sentence": backtest_words(found),
        "caught": found.caught.document(),
        "flagged": found.flagged.document(),
        "false_alarms_each": asdict(each) if each else None,
        "by_chance": round(by_chance(found), 2),
        "unreviewed": found.unread,
        "by_size": [{"changed_lines": name} | one.document() for name, one in by_size(found)],
        "bugs": [
            {
                "commit": examined_commit(case.item),
                "title": case.item.title,
                "changed_lines": case.item.changed_lines,
                "caught": case.answer.named,
                "verdict": case.answer.verdict,
                "findings": case.asked_for,
            }
            | case.item.evidence
            for case in found.bugs
        ],
    }
