"""What waits for the developer: one list, each with its first word, what to do, and how long that takes.

`model.standing.waits_for_developer` says what waits. The Deck, `navigator proposals` and `status`, MCP, `[on]`, the report and
the end of a session show this list or its length.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from navigator.model.errors import NavigatorError
from navigator.model.states import CheckOutcome, TaskState, Verdict
from navigator.sheet.marks import NEVER, Head, Mark, Tips, careful_paths, head, marks, to_confirm, with_others

if TYPE_CHECKING:
    from navigator.store.reads.cards import Card, CardReads, GlanceReads


def waiting_document(card: Card) -> dict[str, Any]:
    """One thing that waits, as JSON has it."""
    return {
        "id": card.id,
        "task": card.task,
        "project": card.project,
        "title": card.title,
        "state": card.state.value,
        "says": row_head(card).word,
        "marks": [mark_document(mark) for mark in marks(card)],
        "to_do": what_to_do(card),
        "batch": card.batch,
        "since": card.since,
    }


def mark_document(mark: Mark) -> dict[str, str]:
    """A mark as JSON has it; `confirm` is what `approve --confirm` takes."""
    return {"kind": mark.kind.value, "words": mark.words, "confirm": mark.key}


def waiting(reader: CardReads, project: str | None = None, tips: Tips | None = None) -> list[Card]:
    """Everything that waits for the developer, in the order of `risk_order`; of one project, where it is named."""
    found = sorted((card for card in reader.cards(NEVER) if card.for_you), key=risk_order)
    return with_others((card for card in found if project in (None, card.project)), found, tips)


def risk_order(card: Card) -> tuple[bool, bool, str, int]:
    """The order of what waits: what touches careful paths first, else that of `Card.waiting_order`."""
    return not careful_paths(card), *card.waiting_order


def row_head(card: Card) -> Head:
    """The first word of a row."""
    if card.landing == "refused" and card.state is TaskState.APPROVED:
        return Head("NOT LANDED", "bad")
    if card.state is TaskState.STALE:
        return Head("STALE", "warn")
    if card.state is TaskState.FAILED:
        return Head("FAILED", "bad")
    if card.proposal:
        return head(card)
    if card.suggestions:
        return Head(f"CHOOSE {card.suggestions}", "accent")
    return Head("NO CHANGE", "muted") if card.no_change else Head("REPORT", "accent")


def what_to_do(card: Card) -> str:
    """What the developer does about it, as commands."""
    task, proposal = card.task, card.proposal
    if card.state is TaskState.APPROVED:
        return f"`navigator approve {proposal}` tries to land it again; `navigator undo {proposal}` takes the approval back"
    if card.state is TaskState.STALE:
        return f"The next `navigator run` writes it again on the present files; `navigator task cancel {task}` drops it"
    if card.state is TaskState.FAILED:
        return f"`navigator task retry {task}` tries again; `navigator task cancel {task}` drops it"
    if card.existing and card.verdict is Verdict.REVISE:
        return f"`navigator fix {proposal}` has its findings fixed; `navigator task done {task}` puts it away"
    if card.existing:
        return f"`navigator diff {proposal}` shows it; `navigator task done {task}` puts it away"
    if proposal:
        return f"`navigator diff {proposal}` shows it; approve, reject or send it back"
    if card.suggestions:
        return f"`navigator task show {task}` lists the tasks it suggests: accept or dismiss them"
    return f"`navigator task show {task}` shows it; `navigator task done {task}` puts it away"


def tips(reader: GlanceReads, of: Collection[int] | None = None) -> Tips:
    """The commits that new work starts from, by a project's number and a task's own base; reads git.

    A project that cannot be read is left out: a landing says what is wrong with it.

    Args:
        of: only these projects; None for those of which something waits for a decision.
    """
    from navigator.git.facts import read_base

    found: dict[tuple[int, str], str] = {}
    for project, path, own, base in reader.bases_waiting():
        if of is None or project in of:
            with suppress(NavigatorError):
                found[project, own] = read_base(path, base)
    return found


# How long it is expected to take to read what waits and decide on it: the deck's order by effort.
#
# An estimate from what is known without reading; only its order matters. The scale is 500 changed lines an hour, beyond which
# reviewers find fewer defects (SmartBear's study of reviews at Cisco, 2006). The other weights are chosen, not measured.
# Doing the shortest first settles the most in any given time.

DECIDING = 15.0
"""Seconds for anything at all."""

A_LINE = 7.2
A_FILE = 10.0
A_FINDING = 20.0
A_PROVED_FINDING = 5.0
A_CONFIRMATION = 15.0
A_SUGGESTION = 10.0
A_CHARACTER = 0.05
"""Of a report: 200 words a minute."""

_BY_VERDICT = {Verdict.APPROVE: 0.7, Verdict.REVISE: 1.0, Verdict.UNREVIEWED: 1.3, None: 1.3}
_TESTED = 0.8
_PROVED = 0.5
"""Where a test shows what is wrong, the rest need not be read to decide."""


def reading_seconds(of: Card) -> float:
    """The estimate for one proposal."""
    share, lines = _BY_VERDICT[of.verdict], of.added + of.removed
    if of.tests is CheckOutcome.PASSED:
        share *= _TESTED
    if of.failed or of.reproduced:
        share *= _PROVED
    proved = min(of.reproduced, of.blocking)
    return (
        DECIDING
        + A_FILE * len(of.paths)
        + A_LINE * lines * share
        + A_FINDING * (of.blocking - proved)
        + A_PROVED_FINDING * of.reproduced
        + A_CONFIRMATION * len(to_confirm(of))
    )


def card_seconds(card: Card) -> float:
    """The estimate for any row of the deck: a report is read, suggestions are chosen from."""
    if (not card.open and card.proposal) or card.no_change:
        return DECIDING
    if card.proposal:
        return reading_seconds(card)
    return DECIDING + A_SUGGESTION * card.suggestions + A_CHARACTER * card.report_length


def by_effort(cards: Iterable[Card]) -> tuple[list[Card], float]:
    """What touches careful paths first, else the shortest, and what stopped last; with the seconds of all of them."""
    timed = [(not careful_paths(card), card.stopped, card_seconds(card), card.number, card) for card in cards]
    timed.sort()  # no two have a number
    return [card for *_, card in timed], sum(seconds for _, _, seconds, _, _ in timed)


def about(seconds: float) -> str:
    """`~40 s`, `~3 min`: as exact as the estimate is."""
    return f"~{max(10, round(seconds, -1)):.0f} s" if seconds < 90 else f"~{seconds / 60:.0f} min"
