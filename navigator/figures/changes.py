"""Which versions followed which: when prompts and models changed, and what is to be compared with what.

Only times and names decide, never verdicts: the choice of what is compared cannot favour a result.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from navigator.model.records import VersionCount

PARTS = {
    "writer_model": "writer",
    "writer_prompt": "writer",
    "way": "writer",
    "model": "reviewer",
    "prompt_version": "reviewer",
    "block_on": "reviewer",
}
"""The fields of `Versions`, and whose each is."""


@dataclass(frozen=True, slots=True)
class FirstUse:
    """The first verdict under another prompt or model than the first of its sort: `at` is a UTC time."""

    at: str
    field: str
    value: str


def first_uses(counts: Iterable[VersionCount]) -> tuple[FirstUse, ...]:
    """When each prompt version, model and way of writing was first used, oldest first, without the oldest of each field."""
    seen: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for row in counts:
        for name in PARTS:
            value = getattr(row, name)
            seen[name][value] = min(row.first, seen[name].get(value, row.first))
    return tuple(
        sorted(
            (
                FirstUse(at, name, value)
                for name, values in seen.items()
                for value, at in sorted(values.items(), key=lambda item: item[1])[1:]
            ),
            key=lambda use: use.at,
        )
    )


@dataclass(frozen=True, slots=True)
class VersionChange:
    """The newest change of a prompt or a model in one line of work: the verdicts of one writer that work in one way.

    Attributes:
        current: the versions that are used now.
        former: those before.
        back: they had been used before, and are used again.
        since: UTC time of the first verdict that counts; of a return, of the last one of `former`, after which they count.
    """

    current: VersionCount
    former: VersionCount
    back: bool
    since: str

    @property
    def differs(self) -> tuple[str, ...]:
        """The fields of `Versions` that changed."""
        return tuple(name for name in PARTS if getattr(self.current, name) != getattr(self.former, name))


@dataclass(frozen=True, slots=True)
class Watched:
    """A change, and what the verdicts since say: `former_revise` of `former_n` were REVISE before it."""

    change: VersionChange
    former_revise: int
    former_n: int
    watch: ChangeWatch


def changes(counts: Sequence[VersionCount]) -> tuple[VersionChange, ...]:
    """The newest change of each line of work that is in use and had one.

    Routing gives several writers work at the same time, so each of them is a line of its own. A writer with a single
    combination of versions is compared with the writer it replaced: the last one that had stopped before it began.
    """
    lines: defaultdict[tuple[str, str], list[VersionCount]] = defaultdict(list)
    for row in counts:
        lines[row.writer_model, row.way].append(row)
    ends = {key: max(row.last for row in rows) for key, rows in lines.items()}
    starts = {key: min(row.first for row in rows) for key, rows in lines.items()}
    replaced: set[tuple[str, str]] = set()
    found = []
    for key in sorted(lines, key=lambda key: starts[key]):
        before = [other for other in lines if other not in replaced and ends[other] < starts[key]]
        if before:
            replaced.add(max(before, key=lambda other: ends[other]))
            earlier = lines[max(before, key=lambda other: ends[other])]
        else:
            earlier = []
        if change := _newest(lines[key], earlier):
            found.append((key, change))
    return tuple(change for key, change in found if key not in replaced)


def _newest(line: Sequence[VersionCount], earlier: Sequence[VersionCount]) -> VersionChange | None:
    newest = max(line, key=lambda row: row.first)
    # Proposals of an older prompt may be reviewed late: only one that was also written later is a return.
    again = max(line, key=lambda row: (row.last, row.written))
    if again is not newest and again.written > newest.written:
        return VersionChange(again, newest, back=True, since=newest.last)
    before = [row for row in line if row is not newest] or list(earlier)
    if not before:
        return None
    return VersionChange(
        newest, max(before, key=lambda row: (row.written, row.last)), back=False, since=newest.first
    )


# Whether a rate has changed, watched verdict by verdict: safe to look at as often as one likes.
#
# The question is whether the verdicts since a change (of a prompt, of a model) come from the same rate as those before it.
# Two predictors bet on each verdict before it is seen. "The same" uses the former verdicts with all their weight, so its
# rate is an estimate and treated as one; "another" starts near the former rate, but soon follows the new verdicts. The
# product of what the second gains on the first is the evidence: 20:1 is when a change counts as shown.
#
# Under "the same" the evidence is a nonnegative martingale that starts at 1 (a ratio of beta-binomial mixtures), so by
# Ville's inequality it ever reaches 20 with a probability of at most 1/20, however often it is looked at. That bound holds
# on average over the unknown common rate, by Jeffreys' prior, not for each rate. For each rate it is simulated:
# `benchmarks/evidence_simulation.py`. A test that holds for each rate (universal inference: Ramdas, Ruf, Larsson, Koolen
# 2022) exists, but with 100 former verdicts it can never see a fall from 35 % to 20 %.

SHOWN_FROM = 20.0
"""Evidence from which a change counts as shown: false alarms of at most 1 in 20."""

_PRIOR = 0.5
"""Both parameters of Jeffreys' prior for the common rate."""

_MEMORY = 4.0
"""How many verdicts the former rate is worth to the predictor that allows for another one. Of 0 to 32, 4 finds a fall from
35 % to 20 % soonest (simulated, 50 to 400 former verdicts)."""


@dataclass(frozen=True, slots=True)
class ChangeWatch:
    """What the verdicts since a change say.

    Attributes:
        revise: of the verdicts since the change, how many were REVISE.
        n: verdicts since the change.
        evidence: for another rate against the same one, now; 1 says nothing, below 1 speaks for the same rate.
        strongest: the most it ever was.
        shown_at: how many verdicts it took to reach `SHOWN_FROM`; None where it never did. What was once shown stays
            shown.
    """

    revise: int
    n: int
    evidence: float
    strongest: float
    shown_at: int | None


def watch(former_revise: int, former_n: int, verdicts: Iterable[bool]) -> ChangeWatch:
    """Follow the verdicts since a change.

    Args:
        former_revise: REVISE among the verdicts before the change.
        former_n: all of them; 0 shows nothing ever.
        verdicts: those since, in order: whether each was REVISE.

    Raises:
        ValueError: `former_revise` is not between 0 and `former_n`.
    """
    if not 0 <= former_revise <= former_n:
        raise ValueError(f"{former_revise} of {former_n} is no proportion")
    same, same_of = _PRIOR + former_revise, 2 * _PRIOR + former_n
    other, other_of = _MEMORY * same / same_of, _MEMORY
    revise = n = 0
    evidence = strongest = 0.0  # logarithms
    shown_at = None
    for is_revise in verdicts:
        predicted, allowed = (same + revise) / (same_of + n), (other + revise) / (other_of + n)
        evidence += math.log(allowed / predicted if is_revise else (1 - allowed) / (1 - predicted))
        revise += is_revise
        n += 1
        strongest = max(strongest, evidence)
        if shown_at is None and former_n and evidence >= math.log(SHOWN_FROM):
            shown_at = n
    return ChangeWatch(revise, n, _exp(evidence), _exp(strongest), shown_at)


def _exp(logarithm: float) -> float:
    return math.exp(min(logarithm, 700.0))  # beyond that a float is infinite, which JSON does not know
