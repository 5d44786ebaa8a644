"""How long it is expected to take to read what waits and decide on it: the deck's order by effort.

An estimate from what is known without reading; only its order matters. The scale is 500 changed lines an hour, beyond which
reviewers find fewer defects (SmartBear's study of reviews at Cisco, 2006). The other weights are chosen, not measured.
Doing the shortest first settles the most in any given time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from navigator.model.states import CheckOutcome, Verdict
from navigator.model.text import plural
from navigator.sheet.marks import to_confirm

if TYPE_CHECKING:
    from navigator.store.reads.cards import Card

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


def reading_words(of: Card) -> str:
    """What the estimate is made of: `34 lines in 2 files, REVISE, 1 reproduced, tests pass`."""
    words = [f"{plural(of.added + of.removed, 'line')} in {plural(len(of.paths), 'file')}"]
    words.append(of.verdict.value if of.verdict else "not reviewed")
    if of.blocking:
        words.append(plural(of.blocking, "serious finding"))
    if of.reproduced:
        words.append(f"{of.reproduced} reproduced")
    words.append(_tests_words(of.tests, bool(of.failed)))
    if confirm := len(to_confirm(of)):
        words.append(f"{confirm} to confirm")
    return ", ".join(words)


def _tests_words(tests: CheckOutcome | None, failed: bool) -> str:
    if tests is CheckOutcome.PASSED:
        return "tests pass, another check fails" if failed else "tests pass"
    if failed:
        return "a check fails"
    return "tests fail as on the base" if tests is CheckOutcome.FAILED_BEFORE else "not tested"


def card_seconds(card: Card) -> float:
    """The estimate for any row of the deck: a report is read, suggestions are chosen from."""
    if (not card.open and card.proposal) or card.no_change:
        return DECIDING
    if card.proposal:
        return reading_seconds(card)
    return DECIDING + A_SUGGESTION * card.suggestions + A_CHARACTER * card.report_length


def by_effort(cards: Iterable[Card]) -> list[Card]:
    """The shortest first; what stopped comes last."""
    return sorted(cards, key=lambda card: (card.waiting_order[0], card_seconds(card), card.number))


def about(seconds: float) -> str:
    """`~40 s`, `~3 min`: as exact as the estimate is."""
    return f"~{max(10, round(seconds, -1)):.0f} s" if seconds < 90 else f"~{seconds / 60:.0f} min"
