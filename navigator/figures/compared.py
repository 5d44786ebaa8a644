"""Ways of working compared: each one's rate with its interval, every two on the same tasks, and what blind judges said. Pure."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from navigator.figures.intervals import (
    Share,
    discordant_needed,
    holm,
    paired_difference,
    pairs_needed,
    power,
    share,
    sign_test,
    wilson,
)
from navigator.model.models import Model, Usage

DIFFERENCE = 0.1
"""Of two arms' rates: the one that the power is given for."""
OTHER_WAY = 0.03
"""The share of tasks that only the worse arm solves, assumed where the power is said: two arms never differ one way alone."""


@dataclass(frozen=True, slots=True)
class ArmResult:
    """One arm. Tokens and seconds are of all its turns, shared ones included: what it would cost alone."""

    name: str
    passed: Share
    tokens: int
    seconds: float
    turns: int
    revised: int


@dataclass(frozen=True, slots=True)
class PairResult:
    """Two arms on the tasks that both finished. `low` and `high` are the 95 % interval of the difference first - second."""

    first: str
    second: str
    n: int
    first_only: int
    second_only: int
    difference: float
    low: float
    high: float
    p: float
    p_adjusted: float


@dataclass(frozen=True, slots=True)
class Outlook:
    """What so many tasks can show.

    Attributes:
        chance: of p < 0.05 where the arms differ by `difference`; `needed` are the tasks for 80 %, None where 3,000 are too few.
        impossible: why no result could be significant; "" where one could.
    """

    n: int
    difference: float
    chance: float
    needed: int | None
    impossible: str

    def words(self) -> str:
        """In one sentence or two."""
        said = f"{self.n} tasks find a difference of {self.difference:.0%} between two arms with a chance of {self.chance:.0%}"
        many = "more than 3,000" if self.needed is None else f"about {self.needed}"
        return f"{said}; 80 % takes {many} tasks." + (f" {self.impossible}" if self.impossible else "")


def outlook(n: int) -> Outlook:
    """What `n` tasks can show, said before they are asked."""
    first, second = DIFFERENCE + OTHER_WAY, OTHER_WAY
    least = discordant_needed()
    none = f"No result can be significant: that takes {least} tasks at least." if n < least else ""
    return Outlook(n, DIFFERENCE, power(n, first, second) if n else 0.0, pairs_needed(first, second), none)


def arm_result(
    name: str, passed: Sequence[bool], usages: Sequence[Usage], paths: Sequence[Sequence[str]]
) -> ArmResult:
    """Add up one arm.

    Args:
        usages: of every answer of its turns.
        paths: the turns that each task took.
    """
    return ArmResult(
        name=name,
        passed=share(sum(passed), len(passed)),
        tokens=sum(usage.prompt_tokens + usage.completion_tokens for usage in usages),
        seconds=round(sum(usage.seconds for usage in usages), 1),
        turns=sum(map(len, paths)),
        revised=sum(any(len(path) > 1 and len(path) % 2 for path in taken) for taken in paths),
    )


def pairs(passed: Mapping[str, Mapping[str, bool]]) -> list[PairResult]:
    """Every two arms, by the exact McNemar test, adjusted for their number by Holm.

    Args:
        passed: by arm, the tasks that it finished and whether the tests passed.
    """
    found = []
    for first, second in itertools.combinations(passed, 2):
        both = [key for key in passed[first] if key in passed[second]]
        if not both:
            continue
        counts = [
            sum((passed[first][key], passed[second][key]) == kind for key in both)
            for kind in ((True, True), (True, False), (False, True), (False, False))
        ]
        difference, low, high = paired_difference(*counts)
        p = sign_test(counts[1], counts[2])
        found.append(PairResult(first, second, len(both), counts[1], counts[2], difference, low, high, p, p))
    adjusted = holm([pair.p for pair in found])
    return [replace(pair, p_adjusted=p) for pair, p in zip(found, adjusted, strict=True)]


# What blind judges said, counted.
#
# A judge sees each pair in both orders. It *prefers* a system if it names it both times; if it changes its mind with the order
# it has followed the position, which counts as a tie and as a flip. Several judges decide a pair by majority.


class Vote(Model):
    """What one judge said to one pair in one order; `better` is "" for a tie. The judge sees no names."""

    task: str
    judge: str
    first: str
    second: str
    better: str


MOSTLY_TIES = 0.8
"""From this share of ties on, as the lower end of its interval, what is left decides nothing."""

FOLLOWS_POSITION = 0.5
"""A judge that flips this often, as the lower end of the interval, judges the position."""


@dataclass(frozen=True, slots=True)
class Judge:
    """One judge: pairs it saw in both orders, in how many it flipped, and how often it named the first of two.

    `unusable` says why its votes say nothing; "" where they may.
    """

    name: str
    pairs: int
    flips: Share
    ties: Share
    first: Share
    unusable: str


@dataclass(frozen=True, slots=True)
class Duel:
    """Two systems by majority of the judges.

    Attributes:
        one, other: their names.
        wins, losses, ties: of `one`, over tasks.
        rate: wins ÷ tasks, ties in the denominator.
        p: two-sided sign test on what is no tie.
        reason: why that says nothing; "" where it may.
    """

    one: str
    other: str
    wins: int
    losses: int
    ties: int
    rate: Share
    p: float
    reason: str


@dataclass(frozen=True, slots=True)
class Tally:
    """Everything that votes say.

    `incomplete` counts pairs that a judge saw in one order only; they are left out. `unreadable` answers were no verdict and are
    asked again next time.
    """

    judges: tuple[Judge, ...]
    duels: tuple[Duel, ...]
    agreement: Share
    incomplete: int
    votes: int
    unreadable: int


def duel(one: str, other: str, wins: int, losses: int, ties: int) -> Duel:
    """Two systems from counts."""
    tasks = wins + losses + ties
    decided = wins + losses
    p = sign_test(wins, losses)
    low, _ = wilson(ties, tasks)
    reason = ""
    if decided < discordant_needed():
        reason = (
            f"{decided} of {tasks} pairs are decided. It takes {discordant_needed()}, all for one side, to tell a difference"
            f" from chance at 5 %; {wins} to {losses} has p = {p:.4g}"
        )
    elif low > MOSTLY_TIES:
        reason = (
            f"{ties / tasks:.0%} are ties (95 %: at least {low:.0%}): nearly everything was left undecided"
        )
    return Duel(one, other, wins, losses, ties, share(wins, tasks), p, reason)


def tally(votes: Sequence[Vote], unreadable: int = 0) -> Tally:
    """Count votes: judges, then pairs by majority."""
    both: dict[tuple[str, str, str, str], dict[str, Vote]] = defaultdict(dict)
    for vote in votes:
        one, other = sorted((vote.first, vote.second))
        both[vote.judge, vote.task, one, other][vote.first] = vote
    complete = {key: list(orders.values()) for key, orders in both.items() if len(orders) == 2}
    outcomes: dict[tuple[str, str, str], dict[str, str]] = defaultdict(dict)
    for (judge, task, one, other), pair in complete.items():
        outcomes[task, one, other][judge] = consistent(pair)
    decided = Counter[tuple[str, str, str]]()
    for (_, one, other), by_judge in outcomes.items():
        decided[one, other, majority(by_judge.values())] += 1
    duels = [
        duel(one, other, *(decided[one, other, winner] for winner in (one, other, "")))
        for one, other in sorted({(one, other) for one, other, _ in decided})
    ]
    several = [by_judge for by_judge in outcomes.values() if len(by_judge) > 1]
    return Tally(
        judges=tuple(_judge(name, complete) for name in sorted({key[0] for key in complete})),
        duels=tuple(duels),
        agreement=share(sum(len(set(by_judge.values())) == 1 for by_judge in several), len(several)),
        incomplete=len(both) - len(complete),
        votes=len(votes),
        unreadable=unreadable,
    )


def consistent(pair: Iterable[Vote]) -> str:
    """The system that a judge names in both orders; "" if it names none or changes its mind."""
    named = {vote.better for vote in pair}
    return named.pop() if len(named) == 1 else ""


def majority(outcomes: Iterable[str]) -> str:
    """The system that more than half of the judges prefer; "" for a tie."""
    counts = Counter(outcomes)
    winner, votes = counts.most_common(1)[0]
    return winner if 2 * votes > counts.total() else ""


def _place(vote: Vote) -> str:
    return {vote.first: "first", vote.second: "second"}.get(vote.better, "tie")


def _judge(name: str, complete: Mapping[tuple[str, str, str, str], Sequence[Vote]]) -> Judge:
    mine = [pair for key, pair in complete.items() if key[0] == name]
    # A flip is a change from one system to the other; a tie in one order is none.
    flips = share(sum({_place(vote) for vote in pair} in ({"first"}, {"second"}) for pair in mine), len(mine))
    ties = share(sum(not consistent(pair) for pair in mine), len(mine))
    places = Counter(_place(vote) for pair in mine for vote in pair)
    first, second = places["first"], places["second"]
    unusable = ""
    if flips.low > FOLLOWS_POSITION:
        unusable = (
            f"it changes its mind with the order in {flips.k} of {flips.n} pairs: it judges the position"
        )
    elif ties.low > MOSTLY_TIES:
        unusable = f"{ties.k} of {ties.n} pairs are ties"
    return Judge(
        name=name,
        pairs=len(mine),
        flips=flips,
        ties=ties,
        first=share(first, first + second),
        unusable=unusable,
    )
