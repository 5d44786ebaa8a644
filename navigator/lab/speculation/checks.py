"""What cannot be true of a table of speculation runs, and which of its figures do not measure the same thing. Pure.

Every finding carries its arithmetic in words, so that a reader can redo it. Severities:

- impossible: no engine can do this; a counter, a clock or a label is wrong;
- mismatch: figures are compared that were not measured alike, or that contradict one another;
- caution: true perhaps, but it does not show what it may be read to show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from navigator.lab.speculation.checking import comparison, counters, physics
from navigator.lab.speculation.checking.finding import Facts, Finding, Severity
from navigator.lab.speculation.runs import Run

__all__ = ["CHECKS", "Facts", "Finding", "findings"]

CHECKS: tuple[Callable[[Sequence[Run], Facts], Iterable[Finding]], ...] = (
    physics.more_than_its_tokens,
    physics.below_the_floor,
    physics.drafts_too_fast,
    counters.counter_out_of_line,
    counters.counters_disagree,
    counters.rounds_do_not_add_up,
    counters.rounds_as_claimed,
    comparison.measured_differently,
    comparison.speeds_disagree,
    comparison.lengths_alike,
    comparison.not_replicated,
    comparison.rate_is_not_alpha,
)
"""Every check; one more is one function and one line."""


def findings(runs: Sequence[Run], facts: Facts) -> list[Finding]:
    """Everything that the checks find, the impossible first."""
    found = [finding for check in CHECKS for finding in check(runs, facts)]
    order: tuple[Severity, ...] = ("impossible", "mismatch", "caution")
    return sorted(found, key=lambda finding: order.index(finding.severity))
