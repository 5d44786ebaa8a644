"""How long it is expected to take to read what waits and decide on it: the deck's order by effort.

An estimate from what is known without reading; only its order matters. The scale is 500 changed lines an hour, beyond which
reviewers find fewer defects (SmartBear's study of reviews at Cisco, 2006). The other weights are chosen, not measured.
Doing the shortest first settles the most in any given time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from navigator.model.models import tests_outcome
from navigator.model.states import REPRODUCED, CheckOutcome, Verdict
from navigator.model.text import plural
from navigator.sheet.marks import Facts, to_confirm

if TYPE_CHECKING:
    from navigator.model.models import Proposal
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


@dataclass(frozen=True, slots=True)
class Effort:
    """What is to be read of one proposal.

    Attributes:
        lines: added and removed.
        findings: blocker and major ones that are located.
        reproduced: how many of all findings a test reproduced.
        tests: what the project's tests said; None where they were not run.
        failed: a check fails that the base passes.
        confirm: items to confirm separately.
    """

    lines: int
    files: int
    verdict: Verdict | None
    findings: int = 0
    reproduced: int = 0
    tests: CheckOutcome | None = None
    failed: bool = False
    confirm: int = 0

    @property
    def seconds(self) -> float:
        """The estimate."""
        share = _BY_VERDICT[self.verdict]
        if self.tests is CheckOutcome.PASSED:
            share *= _TESTED
        if self.failed or self.reproduced:
            share *= _PROVED
        proved = min(self.reproduced, self.findings)
        return (
            DECIDING
            + A_FILE * self.files
            + A_LINE * self.lines * share
            + A_FINDING * (self.findings - proved)
            + A_PROVED_FINDING * self.reproduced
            + A_CONFIRMATION * self.confirm
        )

    @property
    def why(self) -> str:
        """What the estimate is made of: `34 lines in 2 files, REVISE, 1 reproduced, tests pass`."""
        words = [f"{plural(self.lines, 'line')} in {plural(self.files, 'file')}"]
        words.append(self.verdict.value if self.verdict else "not reviewed")
        if self.findings:
            words.append(plural(self.findings, "serious finding"))
        if self.reproduced:
            words.append(f"{self.reproduced} reproduced")
        words.append(_tests_words(self.tests, self.failed))
        if self.confirm:
            words.append(f"{self.confirm} to confirm")
        return ", ".join(words)


def _tests_words(tests: CheckOutcome | None, failed: bool) -> str:
    if tests is CheckOutcome.PASSED:
        return "tests pass, another check fails" if failed else "tests pass"
    if failed:
        return "a check fails"
    return "tests fail as on the base" if tests is CheckOutcome.FAILED_BEFORE else "not tested"


def effort_of(proposal: Proposal) -> Effort:
    """Of a proposal as the store has it."""
    findings = proposal.review.findings if proposal.review else ()
    proofs = (one.reproduction for one in findings if one.reproduction is not None)
    return Effort(
        lines=proposal.added + proposal.removed,
        files=len(proposal.paths),
        verdict=proposal.review.verdict if proposal.review else None,
        findings=sum(one.anchored and one.severity in ("blocker", "major") for one in findings),
        reproduced=sum(proof.outcome in REPRODUCED for proof in proofs),
        tests=tests_outcome(proposal.checks),
        failed=bool(proposal.failed_checks),
        confirm=len(to_confirm(Facts.of(proposal))),
    )


def effort_of_card(card: Card) -> Effort:
    """Of a row of the deck that has a proposal."""
    return Effort(
        lines=card.added + card.removed,
        files=len(card.paths),
        verdict=card.verdict,
        findings=card.blocking,
        reproduced=card.reproduced,
        tests=card.tests,
        failed=bool(card.failed),
        confirm=len(to_confirm(Facts.of_card(card))),
    )


def card_seconds(card: Card) -> float:
    """The estimate for any row of the deck: a report is read, suggestions are chosen from."""
    if (not card.open and card.proposal) or card.no_change:
        return DECIDING
    if card.proposal:
        return effort_of_card(card).seconds
    return DECIDING + A_SUGGESTION * card.suggestions + A_CHARACTER * card.report_length


def by_effort(cards: Iterable[Card]) -> list[Card]:
    """The shortest first; what stopped comes last."""
    return sorted(cards, key=lambda card: (card.waiting_order[0], card_seconds(card), card.number))


def about(seconds: float) -> str:
    """`~40 s`, `~3 min`: as exact as the estimate is."""
    return f"~{max(10, round(seconds, -1)):.0f} s" if seconds < 90 else f"~{seconds / 60:.0f} min"
