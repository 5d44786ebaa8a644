"""The reviewer's exam, scored: what it catches, what it lets pass, and how far its REVISE can be trusted.

All figures are those of one model under one version of the review prompt: another version is another reviewer. An answer that
could not be read (UNREVIEWED) is counted beside the others, never as APPROVE. Of an item that was asked twice the first answer
counts; the second says how far the reviewer agrees with itself.

Below that: two ways of asking on the same items (`paired`), and the reviewer on commits of the past (`backtest`).

With R the share of REVISE among real first reviews, Se the sensitivity and Sp the specificity:

    J = Se + Sp - 1                  (Youden)
    faulty = (R + Sp - 1) / J        (Rogan and Gladen, American Journal of Epidemiology 107 (1978) 71-76)
    genuine = Se * faulty / R        (the share of REVISE that is right)

Both last ones divide by J: they are refused where the interval of J holds 0. Their intervals come from draws of Jeffreys'
posteriors of R, Se and Sp; the delta method covers the genuine share in 63 to 92 % of cases instead of 95 % at 20 to 60 items
(the simulation is in the tests).
"""

from __future__ import annotations

import math
import random
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from navigator.figures.intervals import ANECDOTAL_BELOW, Z_95, Share, paired_difference, percentile, share
from navigator.figures.rates import VerdictCount
from navigator.model.models import Model
from navigator.model.records import ExamAnswer, ExamItem
from navigator.model.states import PAST, ExamSource, Verdict
from navigator.model.text import plural

WORTH_IT, CHANCE, CANNOT_TELL = "worth it", "no better than chance", "cannot tell"

NEEDED = ANECDOTAL_BELOW
"""Answers, faulty and clean together, before a reviewer is called no better than chance."""

USEFUL = 0.4
"""A reviewer whose J may be this high or higher is not called no better than chance: its exam is too small to tell."""

DRAWS = 2_000
_SEED = 20_251


class ExamPair(Model):
    """Pairs of answers to one item of the exam under one version of the prompt, the second by `model`: both by it, asked again
    or with precedents where the first had none; or the first by another model."""

    model: str
    prompt_version: str
    faulty: bool
    first: Verdict
    second: Verdict
    n: int = 1


SIZES = {0: "<10", 10: "10–49", 50: "50–149", 150: "≥150"}
"""Buckets of changed lines by their lower ends: published reviewers differ most between below 10 and above 150."""


class ExamCount(Model):
    """How many answers are alike, and what they cost together.

    Attributes:
        size: changed lines of the items, as the lower end of a bucket of `SIZES`.
        placed: whether it is known where the fault is.
        named: whether an anchored finding is there.
        tokens: prompt and completion of these answers; `seconds` is how long the model took.
        newest: when the last of them was stored.
    """

    model: str
    prompt_version: str
    source: ExamSource
    faulty: bool
    size: int = 0
    placed: bool = False
    verdict: Verdict
    named: bool = False
    n: int
    tokens: int = 0
    seconds: float = 0.0
    newest: str = ""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A computed figure with its 95 % interval, all within [0, 1] (J: [-1, 1])."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class SourceScore:
    """One source: of faulty items how many were caught, of clean ones how many passed; `right` is that share."""

    source: str
    faulty: bool
    right: Share


@dataclass(frozen=True, slots=True)
class SizeScore:
    """Items of one size, as a range of changed lines."""

    size: str
    sensitivity: Share
    specificity: Share


@dataclass(frozen=True, slots=True)
class ExamScore:
    """One reviewer's exam: a model under one version of the prompt.

    Attributes:
        answers: all that were given.
        unreviewed: those of them that could not be read.
        flattered: the items are synthetic cases, which flatter every model; there are no others yet.
        sensitivity: of the faulty items, those with REVISE.
        specificity: of the clean items, those with APPROVE.
        named: of the faulty items with REVISE whose place is known, those where a finding is at that place.
        youden: J with its interval (`difference`); None without faulty or without clean items.
        revise: of the real first reviews by this reviewer, those with REVISE.
        faulty_share: of real proposals that are faulty.
        genuine_share: of REVISE on real proposals that are right.
        reason: why there are no such shares; "" where there are.
        verdict: `WORTH_IT`, `CHANCE` or `CANNOT_TELL`; `why` in one sentence.
        tokens, seconds: of all answers together.
    """

    model: str
    prompt_version: str
    answers: int
    unreviewed: int
    flattered: bool
    sensitivity: Share
    specificity: Share
    named: Share
    by_source: tuple[SourceScore, ...]
    by_size: tuple[SizeScore, ...]
    youden: Estimate | None
    revise: Share
    faulty_share: Estimate | None
    genuine_share: Estimate | None
    reason: str
    verdict: str
    why: str
    tokens: int
    seconds: float
    newest: str

    @property
    def decided(self) -> int:
        """Items that the score is made of: answered and readable."""
        return self.sensitivity.n + self.specificity.n

    @property
    def no_better_than_chance(self) -> bool:
        """Whether its REVISE is no more than advice."""
        return self.verdict == CHANCE


def exam_scores(counts: Iterable[ExamCount], verdicts: Iterable[VerdictCount] = ()) -> tuple[ExamScore, ...]:
    """Every reviewer that was examined, the one that answered last first.

    Args:
        verdicts: first verdicts on first proposals, as the revise rate counts them.
    """
    groups: defaultdict[tuple[str, str], list[ExamCount]] = defaultdict(list)
    for row in counts:
        if row.source in PAST:
            continue  # no proof that the commit is faulty, or that the other is not
        groups[row.model, row.prompt_version].append(row)
    real = list(verdicts)
    scores = [exam_score(group, real, *reviewer) for reviewer, group in groups.items()]
    return tuple(sorted(scores, key=lambda score: score.newest, reverse=True))


def exam_score(
    rows: Sequence[ExamCount] = (),
    verdicts: Sequence[VerdictCount] = (),
    model: str = "",
    prompt_version: str = "",
) -> ExamScore:
    """One reviewer's answers; of nobody before the first answer."""
    read = [row for row in rows if row.verdict is not Verdict.UNREVIEWED]
    own = [row for row in read if row.source is not ExamSource.SYNTHETIC]
    scored = own or read
    sensitivity, specificity = _right(scored, faulty=True), _right(scored, faulty=False)
    youden = _youden(sensitivity, specificity)
    revise = _revise_rate((model, prompt_version), verdicts)
    reason = _refusal(youden, revise)
    faulty, genuine = (None, None) if reason else prevalence(revise, sensitivity, specificity)
    verdict, why = _exam_verdict(youden, sensitivity.n + specificity.n, genuine)
    return ExamScore(
        model=model,
        prompt_version=prompt_version,
        answers=_sum(rows),
        unreviewed=_sum(rows) - _sum(read),
        flattered=bool(read and not own),
        sensitivity=sensitivity,
        specificity=specificity,
        named=_share_named([row for row in scored if row.faulty]),
        by_source=tuple(_by_source(read)),
        by_size=tuple(_by_size(scored)),
        youden=youden,
        revise=revise,
        faulty_share=faulty,
        genuine_share=genuine,
        reason=reason,
        verdict=verdict,
        why=why,
        tokens=sum(row.tokens for row in rows),
        seconds=sum(row.seconds for row in rows),
        newest=max((row.newest for row in rows), default=""),
    )


def _right(rows: Iterable[ExamCount], *, faulty: bool) -> Share:
    kind = [row for row in rows if row.faulty is faulty]
    wanted = Verdict.REVISE if faulty else Verdict.APPROVE
    return share(_sum(row for row in kind if row.verdict is wanted), _sum(kind))


def _share_named(faulty: Sequence[ExamCount]) -> Share:
    caught = [row for row in faulty if row.placed and row.verdict is Verdict.REVISE]
    return share(_sum(row for row in caught if row.named), _sum(caught))


def _by_source(read: Sequence[ExamCount]) -> Iterable[SourceScore]:
    for source in ExamSource:
        for faulty in (True, False):
            rows = [row for row in read if row.source is source and row.faulty is faulty]
            if rows:
                yield SourceScore(source.value, faulty, _right(rows, faulty=faulty))


def _by_size(scored: Sequence[ExamCount]) -> Iterable[SizeScore]:
    least = sorted({row.size for row in scored})
    for size in least:
        rows = [row for row in scored if row.size == size]
        yield SizeScore(SIZES[size], _right(rows, faulty=True), _right(rows, faulty=False))


def _revise_rate(reviewer: tuple[str, str], verdicts: Sequence[VerdictCount]) -> Share:
    """REVISE among real first reviews by the same reviewer; self-reviews and unread answers are not counted."""
    rows = [
        row
        for row in verdicts
        if (row.model, row.prompt_version) == reviewer
        and not row.self_review
        and row.verdict is not Verdict.UNREVIEWED
    ]
    return share(
        sum(row.n for row in rows if row.verdict is Verdict.REVISE),
        sum(row.n for row in rows),
    )


def _youden(sensitivity: Share, specificity: Share) -> Estimate | None:
    if sensitivity.rate is None or specificity.rate is None:
        return None
    k, n = specificity.n - specificity.k, specificity.n
    value = sensitivity.rate + specificity.rate - 1
    low, high = difference(sensitivity.k, sensitivity.n, k, n)
    return Estimate(value, min(low, value), max(high, value))


def difference(k1: int, n1: int, k2: int, n2: int) -> tuple[float, float]:
    """The 95 % interval of k1/n1 - k2/n2: one success and one failure are added to each (Agresti and Caffo 2000).

    Over 15 to 60 items and shares from .3 to .98 it covers 94.5 to 98 %, where Newcombe's covers 91.4 to 96 %.
    """
    p1, p2 = (k1 + 1) / (n1 + 2), (k2 + 1) / (n2 + 2)
    half = Z_95 * math.sqrt(p1 * (1 - p1) / (n1 + 2) + p2 * (1 - p2) / (n2 + 2))
    return max(-1.0, p1 - p2 - half), min(1.0, p1 - p2 + half)


def _exam_verdict(youden: Estimate | None, n: int, genuine: Estimate | None) -> tuple[str, str]:
    if youden is None:
        return CANNOT_TELL, "It needs answers on both faulty and clean items."
    said = f"J = {youden.value:.2f}, between {youden.low:.2f} and {youden.high:.2f}; {plural(n, 'item')}"
    if youden.low > 0 and genuine is not None and genuine.value <= 0:
        return (
            CANNOT_TELL,
            f"Better than chance, but it says REVISE to your proposals no more often than to clean items ({said}).",
        )
    if youden.low > 0:
        return WORTH_IT, f"Better than chance ({said})."
    if n >= NEEDED and youden.high < USEFUL:
        return CHANCE, f"It tells faulty items from clean ones no better than chance ({said})."
    if n < NEEDED:
        return CANNOT_TELL, f"{NEEDED} items or more are needed ({said})."
    return CANNOT_TELL, f"It may be no better than chance, or useful; more items will tell ({said})."


def _refusal(youden: Estimate | None, revise: Share) -> str:
    """Why the shares of real proposals are not computed; "" where they can be."""
    if youden is None:
        return "it needs answers on both faulty and clean items"
    if youden.low <= 0:
        return (
            f"the reviewer may be no better than chance (J is between {youden.low:.2f} and {youden.high:.2f})"
        )
    if not revise.n:
        return "there is no first review of a proposal by this model under this prompt version yet"
    if not revise.k:
        return "it has not said REVISE to a proposal yet"
    return ""


def prevalence(revise: Share, sensitivity: Share, specificity: Share) -> tuple[Estimate, Estimate]:
    """The share of real proposals that are faulty, and the share of REVISE that is right, clipped to [0, 1].

    Args:
        revise, sensitivity, specificity: with n > 0 each; revise.k > 0; J > 0.
    """
    r, se, false = (
        revise.k / revise.n,
        sensitivity.k / sensitivity.n,
        1 - specificity.k / specificity.n,
    )
    faulty = (r - false) / (se - false)
    (low, high), (low_right, high_right) = _drawn(
        (revise.k, revise.n - revise.k),
        (sensitivity.k, sensitivity.n - sensitivity.k),
        (specificity.n - specificity.k, specificity.k),
    )
    return (
        _estimate(faulty, low, high),
        _estimate(se * faulty / r, low_right, high_right),
    )


def _estimate(value: float, low: float, high: float) -> Estimate:
    value = _clip(value)
    return Estimate(value, min(low, value), max(high, value))


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))


_Counts = tuple[int, int]


@lru_cache(maxsize=64)
def _drawn(
    revise: _Counts, caught: _Counts, false: _Counts
) -> tuple[tuple[float, float], tuple[float, float]]:
    """The middle 95 % of both shares over draws of Jeffreys' posteriors; the same counts give the same draws."""
    rng = random.Random(_SEED)

    def of(counts: _Counts) -> Callable[[], float]:
        yes, no = counts
        return lambda: rng.betavariate(yes + 0.5, no + 0.5)

    draw_r, draw_se, draw_false = of(revise), of(caught), of(false)
    faulty: list[float] = []
    right: list[float] = []
    for _ in range(DRAWS):
        r, se, alarm = draw_r(), draw_se(), draw_false()
        if se <= alarm:
            continue  # J is not above 0 there, so both shares are undefined
        share_faulty = _clip((r - alarm) / (se - alarm))
        faulty.append(share_faulty)
        right.append(_clip(se * share_faulty / r))
    return _middle(faulty), _middle(right)


def _middle(drawn: list[float]) -> tuple[float, float]:
    drawn.sort()
    last = len(drawn) - 1
    return drawn[round(0.025 * last)], drawn[round(0.975 * last)]


def _sum(rows: Iterable[ExamCount] | Iterable[ExamPair]) -> int:
    return sum(row.n for row in rows)


def worth_words(score: ExamScore | None) -> str:
    """What a REVISE of this reviewer is worth, in one sentence."""
    if score is None or not score.decided:
        return "No exam item has been answered by this reviewer under this prompt version yet."
    n = plural(score.decided, "exam item")
    if score.flattered:
        n = f"{score.decided} synthetic cases, which flatter every model"
    if score.no_better_than_chance and score.youden is not None:
        return f"The exam finds this reviewer no better than chance: J = {score.youden.value:.2f}, {n}."
    if score.genuine_share is None:
        return f"What this reviewer's REVISE is worth cannot be told: {score.reason} ({n})."
    found = score.genuine_share
    few = ", anecdotal" if score.decided < ANECDOTAL_BELOW else ""
    return (
        f"When this reviewer says REVISE it is right about {100 * found.value:.0f} % of the time "
        f"[{100 * found.low:.0f}–{100 * found.high:.0f}], {n}{few}."
    )


def advice_words(score: ExamScore) -> str:
    """Why a REVISE is no more than advice, for a score that says so."""
    assert score.youden is not None
    return f"the exam found this reviewer no better than chance, J = {score.youden.value:.2f}"


# Two ways of asking, or two models, on the same items.


@dataclass(frozen=True, slots=True)
class PairedShare:
    """A share of right answers, asked in two ways of the same items; `gain` is second − first, None without items."""

    first: Share
    second: Share
    gain: Estimate | None

    @property
    def n(self) -> int:
        """Items."""
        return self.first.n


@dataclass(frozen=True, slots=True)
class Paired:
    """Items that were answered twice, not asked alike. Pairs in which an answer could not be read are left out.

    Attributes:
        sensitivity, specificity: both ways, with the 95 % interval of the paired difference (`paired_difference`).
        agreed: pairs with the same verdict.
    """

    sensitivity: PairedShare
    specificity: PairedShare
    agreed: Share


def paired(rows: Iterable[ExamPair]) -> Paired:
    """What a second way of asking changes."""
    read = [row for row in rows if Verdict.UNREVIEWED not in (row.first, row.second)]
    return Paired(
        _paired([row for row in read if row.faulty], Verdict.REVISE),
        _paired([row for row in read if not row.faulty], Verdict.APPROVE),
        share(_sum(row for row in read if row.first is row.second), _sum(read)),
    )


def _paired(rows: Sequence[ExamPair], right: Verdict) -> PairedShare:
    def n(first: bool, second: bool) -> int:
        return _sum(row for row in rows if (row.first is right, row.second is right) == (first, second))

    both, lost, won, none = n(True, True), n(True, False), n(False, True), n(False, False)
    total = both + lost + won + none
    gain = Estimate(*paired_difference(both, won, lost, none)) if total else None
    return PairedShare(share(both + lost, total), share(both + won, total), gain)


# The backtest: commits of the past, and what the reviewer said of them.


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
    """One reviewer. `flagged`: the innocent commits with a false alarm; `unread`: answers that could not be read;
    `alarms_each`: false alarms for each bug caught, None where nothing was caught or no innocent commit was asked."""

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
    rng, shape = random.Random(_SEED), (sum(alarms) + 0.5) / scatter
    beta = (caught.k + 0.5, caught.n - caught.k + 0.5)
    drawn = [rng.gammavariate(shape, scatter / n) / rng.betavariate(*beta) for _ in range(DRAWS)]
    value = mean * caught.n / caught.k
    return Estimate(value, min(value, percentile(drawn, 0.025)), max(value, percentile(drawn, 0.975)))
