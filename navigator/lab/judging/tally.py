"""What votes are worth. Pure.

A judge sees each pair in both orders. It *prefers* a system if it names it both times; if it changes its mind with the order
it has followed the position, which counts as a tie and as a flip. Several judges decide a pair by majority.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from navigator.figures.intervals import Share, share, wilson
from navigator.figures.paired import discordant_needed, sign_test
from navigator.lab.judging.votes import Vote

MOSTLY_TIES = 0.8
"""From this share of ties on, as the lower end of its interval, what is left decides nothing."""

FOLLOWS_POSITION = 0.5
"""A judge that flips this often, as the lower end of the interval, judges the position."""


@dataclass(frozen=True, slots=True)
class Judge:
    """One judge: pairs it saw in both orders, in how many it flipped, and how often it named the first of two."""

    name: str
    pairs: int
    flips: Share
    ties: Share
    first: Share
    position_p: float


@dataclass(frozen=True, slots=True)
class Duel:
    """Two systems by majority of the judges.

    Attributes:
        one, other: their names.
        wins, losses, ties: of `one`, over tasks.
        rate: wins ÷ tasks, ties in the denominator.
        p: two-sided sign test on what is no tie.
        usable, reason: whether that says anything, and why not.
    """

    one: str
    other: str
    wins: int
    losses: int
    ties: int
    rate: Share
    tie_share: Share
    p: float
    usable: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Tally:
    """Everything that votes say. `incomplete` counts pairs that a judge saw in one order only; they are left out."""

    judges: tuple[Judge, ...]
    duels: tuple[Duel, ...]
    agreement: Share
    incomplete: int


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
    return Duel(one, other, wins, losses, ties, share(wins, tasks), share(ties, tasks), p, not reason, reason)


def tally(votes: Sequence[Vote]) -> Tally:
    """Count votes: judges, then pairs by majority."""
    both: dict[tuple[str, str, str, str], dict[str, Vote]] = defaultdict(dict)
    for vote in votes:
        one, other = sorted((vote.first, vote.second))
        both[vote.judge, vote.task, one, other][vote.first] = vote
    complete = {key: list(orders.values()) for key, orders in both.items() if len(orders) == 2}
    outcomes: dict[tuple[str, str, str], dict[str, str | None]] = defaultdict(dict)
    for (judge, task, one, other), pair in complete.items():
        outcomes[task, one, other][judge] = consistent(pair)
    decided = Counter[tuple[str, str, str]]()
    for (_, one, other), by_judge in outcomes.items():
        decided[one, other, majority(by_judge.values()) or ""] += 1
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
    )


def consistent(pair: Iterable[Vote]) -> str | None:
    """The system that a judge names in both orders; None if it names none or changes its mind."""
    named = {vote.preferred for vote in pair}
    return named.pop() if len(named) == 1 else None


def majority(outcomes: Iterable[str | None]) -> str | None:
    """The system that more than half of the judges prefer; None for a tie."""
    counts = Counter(outcomes)
    winner, votes = counts.most_common(1)[0]
    return winner if 2 * votes > counts.total() else None


def _judge(name: str, complete: Mapping[tuple[str, str, str, str], Sequence[Vote]]) -> Judge:
    mine = [pair for key, pair in complete.items() if key[0] == name]
    # A flip is a change from one system to the other; a tie in one order is none.
    flips = sum({vote.winner for vote in pair} in ({"first"}, {"second"}) for pair in mine)
    ties = sum(consistent(pair) is None for pair in mine)
    places = Counter(vote.winner for pair in mine for vote in pair)
    first, second = places["first"], places["second"]
    return Judge(
        name=name,
        pairs=len(mine),
        flips=share(flips, len(mine)),
        ties=share(ties, len(mine)),
        first=share(first, first + second),
        position_p=sign_test(first, second),
    )


def judge_is_usable(judge: Judge) -> str:
    """Why a judge's votes say nothing; "" where they may."""
    if judge.flips.low > FOLLOWS_POSITION:
        return f"it changes its mind with the order in {judge.flips.k} of {judge.flips.n} pairs: it judges the position"
    if judge.ties.low > MOSTLY_TIES:
        return f"{judge.ties.k} of {judge.ties.n} pairs are ties"
    return ""
