"""The backtest counted: of the bugs that were shipped, how many the reviewer finds, and how many false alarms that costs.

*Caught* is a finding that asks for a change and quotes a line that the fix later changed. A *false alarm* is such a finding on
an innocent commit. False alarms for each bug caught are their mean on an innocent commit over the share caught; the interval is
the middle 95 % of draws of Jeffreys' posteriors of both, the counts' widened by how much they scatter beyond Poisson's.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from navigator.figures.exam import DRAWS, Estimate
from navigator.figures.intervals import Share, percentile, share
from navigator.model.exam import ExamAnswer, ExamItem
from navigator.model.states import Verdict


@dataclass(frozen=True, slots=True)
class Case:
    """One commit and what the reviewer said of it."""

    item: ExamItem
    answer: ExamAnswer

    @property
    def asked_for(self) -> int:
        """Findings that ask for a change."""
        return sum(finding.asked_for for finding in self.answer.findings)


@dataclass(frozen=True, slots=True)
class Backtest:
    """One reviewer. `flagged`: the innocent commits with a false alarm; `unread`: answers that could not be read."""

    bugs: tuple[Case, ...]
    innocent: tuple[Case, ...]
    unread: int
    caught: Share
    flagged: Share
    alarms_each: Estimate | None


def backtest(pairs: Iterable[tuple[ExamItem, ExamAnswer]]) -> Backtest:
    """Count first answers of one model under one prompt; what could not be read is left out."""
    every = [Case(*pair) for pair in pairs]
    read = [case for case in every if case.answer.verdict is not Verdict.UNREVIEWED]
    bugs, innocent = (tuple(one for one in read if one.item.faulty is kind) for kind in (True, False))
    alarms, caught = [case.asked_for for case in innocent], caught_of(bugs)
    flagged = share(sum(map(bool, alarms)), len(alarms))
    return Backtest(bugs, innocent, len(every) - len(read), caught, flagged, alarms_each(alarms, caught))


def caught_of(bugs: Sequence[Case]) -> Share:
    """The share of some bugs that was caught."""
    return share(sum(case.answer.named for case in bugs), len(bugs))


def alarms_each(alarms: Sequence[int], caught: Share) -> Estimate | None:
    """False alarms for each bug caught, with the 95 % interval; None where nothing was caught or asked."""
    if not alarms or not caught.k:
        return None
    n, mean = len(alarms), statistics.fmean(alarms)
    scatter = max(1.0, statistics.variance(alarms) / mean) if n > 1 and mean else 1.0
    rng, shape = random.Random(20_251), (sum(alarms) + 0.5) / scatter
    beta = (caught.k + 0.5, caught.n - caught.k + 0.5)
    drawn = [rng.gammavariate(shape, scatter / n) / rng.betavariate(*beta) for _ in range(DRAWS)]
    value = mean * caught.n / caught.k
    return Estimate(value, min(value, percentile(drawn, 0.025)), max(value, percentile(drawn, 0.975)))
