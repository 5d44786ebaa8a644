"""Several proposals for one task: how often each way of writing is chosen, passes the tests, and gets APPROVE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from navigator.figures.intervals import Share, share
from navigator.model.records import VariantCount


@dataclass(frozen=True, slots=True)
class WayShares:
    """One way of writing; `name` says how it differs from the settings.

    Attributes:
        chosen: approved, of the variants of tasks for which one was.
        passed: first proposals whose tests passed, of those that had tests.
        approved: first verdicts APPROVE, of those that could be read.
    """

    name: str
    written: int
    chosen: Share
    passed: Share
    approved: Share


@dataclass(frozen=True, slots=True)
class Variants:
    """First proposals of tasks that were written several times: how many, and by their ways of writing."""

    written: int
    ways: tuple[WayShares, ...]


def variant_shares(rows: Sequence[VariantCount]) -> Variants:
    """Shares with 95 % Wilson intervals by way of writing."""
    return Variants(sum(row.n for row in rows), tuple(map(_way, rows)))


def _way(row: VariantCount) -> WayShares:
    return WayShares(
        name=row.variation.words,
        written=row.n,
        chosen=share(row.chosen, row.decided),
        passed=share(row.passed, row.tested),
        approved=share(row.approved, row.read),
    )
