"""Findings whose tests were run: how many hold, which kinds, and what the developer made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

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


@dataclass(frozen=True, slots=True)
class Afterlives:
    """Findings that landed unrepaired: of those whose line was found, those that a fix changed, and another commit.

    `by` has the share that a fix changed, by severity and criterion; of the `unknown` ones the line was not found.
    """

    fixed: Share
    changed: Share
    by: dict[str, Share]
    unknown: int


def afterlives(counts: Sequence[AfterlifeCount]) -> Afterlives:
    """Shares with 95 % Wilson intervals."""

    def of(fate: str, sort: str = "") -> Share:
        known = [row for row in counts if row.fate != "unknown" and sort in ("", row.severity, row.criterion)]
        return share(sum(row.n for row in known if row.fate == fate), sum(row.n for row in known))

    sorts = dict.fromkeys(sort.value for row in counts for sort in (row.severity, row.criterion))
    unknown = sum(row.n for row in counts if row.fate == "unknown")
    return Afterlives(
        of("fixed"), of("changed"), {sort: of("fixed", sort) for sort in sorted(sorts)}, unknown
    )


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
    judged: dict[str, dict[str, Share]] = field(default_factory=dict)
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


def judged(counts: Sequence[JudgementCount]) -> dict[str, dict[str, Share]]:
    """What part of the findings that the developer judged is right: all of them, then by criterion and so on."""
    groups: dict[str, Callable[[JudgementCount], str]] = {
        "": lambda one: "all",
        "criterion": lambda one: one.criterion.value,
        "severity": lambda one: one.severity.value,
        "project": lambda one: one.project,
        "prompt": lambda one: one.prompt_version,
    }
    found: dict[str, dict[str, Share]] = {}
    for by, name in groups.items():
        rows: dict[str, list[JudgementCount]] = {}
        for one in counts:
            rows.setdefault(name(one), []).append(one)
        found[by] = {
            label: share(
                sum(one.n for one in held if one.judgement is Judgement.RIGHT), sum(one.n for one in held)
            )
            for label, held in sorted(rows.items())
        }
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
    passes = sum(row.n for row in rows if row.revised is RevisedOutcome.PASSES)
    return share(passes, passes + sum(row.n for row in rows if row.revised is RevisedOutcome.FAILS))


def _approved(rows: Sequence[ReproducedDecision]) -> Share:
    return share(
        sum(row.n for row in rows if row.decision is DecisionKind.APPROVE), sum(row.n for row in rows)
    )
