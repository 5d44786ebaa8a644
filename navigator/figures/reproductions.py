"""Findings whose tests were run: how many hold, which kinds, and what the developer made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from navigator.figures.intervals import Share, share
from navigator.model.outcomes import AfterlifeCount
from navigator.model.records import (
    JudgementCount,
    ReproducedDecision,
    ReproductionCount,
)
from navigator.model.states import (
    REPRODUCED,
    Criterion,
    DecisionKind,
    Judgement,
    ReproductionOutcome,
    RevisedOutcome,
    Severity,
)


@dataclass(frozen=True, slots=True)
class Proved:
    """Findings of one sort. `reproduced` is of those whose test ran; `could_not` had none that ran."""

    name: str
    reproduced: Share
    regressions: int
    unmet: int
    not_reproduced: int
    could_not: int


Groups = dict[str, dict[str, Share]]
"""Shares by what findings are grouped by ("" for all of them together) and by group."""


@dataclass(frozen=True, slots=True)
class Afterlives:
    """Findings that landed unrepaired: of those whose line was found, those that a fix changed, and another commit.

    `by` has the share that a fix changed; of the `unknown` ones the line was not found.
    """

    fixed: Share
    changed: Share
    by: Groups
    unknown: int


def afterlives(counts: Sequence[AfterlifeCount]) -> Afterlives:
    """Shares with 95 % Wilson intervals."""
    known = [row for row in counts if row.fate != "unknown"]
    groups = _grouped(known, lambda row: row.fate == "fixed")
    fixed = groups.pop("").get("all", share(0, 0))
    unknown = sum(row.n for row in counts if row.fate == "unknown")
    return Afterlives(fixed, _part(known, lambda row: row.fate == "changed"), groups, unknown)


@dataclass(frozen=True, slots=True)
class FindingTests:
    """What became of the tests of findings.

    Attributes:
        all: every finding together; `by_severity` and `by_criterion` those of one.
        afterlife: what became of the lines of findings that landed unrepaired.
        judged: what part of the findings that the developer judged is right, by what they are grouped by and by group.
        met: of reproduced findings that a revision answered, those whose test passes on it; `met_unmet` of them those that
            were unmet requirements, which that confirms.
        approved_proved: approvals among decisions on proposals with a reproduced finding; `approved_other` on those where
            none of the findings with a test was reproduced.
    """

    all: Proved
    by_severity: tuple[Proved, ...]
    by_criterion: tuple[Proved, ...]
    met: Share
    met_unmet: Share
    approved_proved: Share
    approved_other: Share
    judged: Groups = field(default_factory=dict)
    afterlife: Afterlives | None = None


def finding_tests(
    counts: Sequence[ReproductionCount],
    decisions: Sequence[ReproducedDecision],
    judgements: Sequence[JudgementCount] = (),
    landed: Sequence[AfterlifeCount] = (),
) -> FindingTests:
    """Shares with 95 % Wilson intervals."""
    severities = [(one, [row for row in counts if row.severity is one]) for one in Severity]
    criteria = [(one, [row for row in counts if row.criterion is one]) for one in Criterion]
    proved = [row for row in counts if row.outcome in REPRODUCED]
    return FindingTests(
        all=_proved("all", counts),
        by_severity=tuple(_proved(one.value, rows) for one, rows in severities if rows),
        by_criterion=tuple(_proved(one.value, rows) for one, rows in criteria if rows),
        met=_met(proved),
        met_unmet=_met([row for row in proved if row.outcome is ReproductionOutcome.UNMET]),
        approved_proved=_approved([row for row in decisions if row.proved]),
        approved_other=_approved([row for row in decisions if not row.proved]),
        judged=judged(judgements),
        afterlife=afterlives(landed),
    )


def judged(counts: Sequence[JudgementCount]) -> Groups:
    """What part of the findings that the developer judged is right: all of them, then by criterion and so on."""
    groups = _grouped(counts, lambda one: one.judgement is Judgement.RIGHT)
    del groups["judged"]
    return groups


_Row = TypeVar("_Row", JudgementCount, AfterlifeCount, ReproductionCount, ReproducedDecision)


def _part(rows: Sequence[_Row], hit: Callable[[_Row], bool]) -> Share:
    return share(sum(row.n for row in rows if hit(row)), sum(row.n for row in rows))


_Judged = TypeVar("_Judged", JudgementCount, AfterlifeCount)


def _grouped(counts: Sequence[_Judged], hit: Callable[[_Judged], bool]) -> Groups:
    groups: dict[str, Callable[[_Judged], str]] = {
        "": lambda one: "all",
        "criterion": lambda one: one.criterion.value,
        "severity": lambda one: one.severity.value,
        "project": lambda one: one.project,
        "prompt": lambda one: one.prompt_version,
        "judged": lambda one: one.judgement.value.replace("_", " ") if one.judgement else "not judged",
    }
    found: Groups = {}
    for by, name in groups.items():
        rows: dict[str, list[_Judged]] = {}
        for one in counts:
            rows.setdefault(name(one), []).append(one)
        found[by] = {label: _part(held, hit) for label, held in sorted(rows.items())}
    return found


def _proved(name: str, rows: Sequence[ReproductionCount]) -> Proved:
    found = Counter[ReproductionOutcome]()
    for row in rows:
        found[row.outcome] += row.n
    regressions, unmet = found[ReproductionOutcome.REGRESSION], found[ReproductionOutcome.UNMET]
    against = found[ReproductionOutcome.NOT_REPRODUCED]
    return Proved(
        name=name,
        reproduced=share(regressions + unmet, regressions + unmet + against),
        regressions=regressions,
        unmet=unmet,
        not_reproduced=against,
        could_not=found[ReproductionOutcome.COULD_NOT_RUN],
    )


def _met(rows: Sequence[ReproductionCount]) -> Share:
    known = [row for row in rows if row.revised in (RevisedOutcome.PASSES, RevisedOutcome.FAILS)]
    return _part(known, lambda row: row.revised is RevisedOutcome.PASSES)


def _approved(rows: Sequence[ReproducedDecision]) -> Share:
    return _part(rows, lambda row: row.decision is DecisionKind.APPROVE)
