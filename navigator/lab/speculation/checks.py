"""What cannot be true of a table of speculation runs, and which of its figures do not measure the same thing. Pure.

Every finding carries its arithmetic in words, so that a reader can redo it. Severities:

- impossible: no engine can do this; a counter, a clock or a label is wrong;
- mismatch: figures are compared that were not measured alike, or that contradict one another;
- caution: true perhaps, but it does not show what it may be read to show.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from navigator.lab.speculation import tables
from navigator.lab.speculation.runs import Run

Severity = Literal["impossible", "mismatch", "caution"]


@dataclass(frozen=True, slots=True)
class TableFault:
    """One thing that is wrong: about what, in which lines of the file, and the arithmetic."""

    kind: str
    severity: Severity
    subject: str
    arithmetic: str
    lines: tuple[int, ...] = ()


def _label(target: str, draft: str, gamma: int) -> str:
    """What a finding is about."""
    return f"{target}, {draft}, γ = {gamma}" if gamma else f"{target}, no speculation"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


# Times that no engine can reach.

_SLACK = 1.02
"""Two percent: rounding and scatter are no contradiction."""


def more_than_its_tokens(runs: Sequence[Run]) -> Iterable[TableFault]:
    """A speed-up above τ: even free drafts, verified at the price of one step, do not give it."""
    for row in tables.speculation(runs):
        if row.speedup is None or row.tokens_per_round is None or row.rate is None:
            continue
        if row.speedup > row.tokens_per_round * _SLACK:
            yield TableFault(
                "faster than its tokens",
                "impossible",
                _label(row.target, row.draft, row.gamma),
                f"{_percent(row.rate)} of {row.gamma} drafts accepted make 1 + {row.gamma} × {row.rate:.4f} ="
                f" {row.tokens_per_round:.3f} tokens a round. A round verifies {row.gamma + 1} tokens, which takes at least"
                f" one step of the target. So speed grows by at most {row.tokens_per_round:.3f}×, with drafts for nothing."
                f" The table has {row.speedup:.3f}×.",
                row.lines,
            )


def drafts_too_fast(runs: Sequence[Run]) -> Iterable[TableFault]:
    """A draft model that would have to draft faster than it ran alone."""
    alone = tables.means(runs)
    for row in tables.speculation(runs):
        if row.draft not in alone or row.round_ms is None:
            continue
        needed = 1000 * row.gamma / alone[row.draft]
        if needed > row.round_ms * _SLACK:
            yield TableFault(
                "drafts too fast",
                "impossible",
                _label(row.target, row.draft, row.gamma),
                f"{row.gamma} draft steps at the {alone[row.draft]:.1f} tok/s of {row.draft} alone take {needed:.1f} ms. The"
                f" whole round, verifying included, would have taken {row.round_ms:.1f} ms.",
                row.lines,
            )


# Counters that contradict one another, or the tokens they should explain.

_COUNTERS_APART = 0.005
"""Two counters of the same acceptance agree within half a point, or one of them is wrong."""


def counter_out_of_line(runs: Sequence[Run]) -> Iterable[TableFault]:
    """Runs whose rate implies rounds of quite another length than the same draft's other runs."""
    groups: dict[tuple[str, str, int], list[tuple[Run, float]]] = defaultdict(list)
    for run in runs:
        if run.round_seconds is not None:
            groups[run.target, run.draft, run.gamma].append((run, run.round_seconds))
    for key, group in groups.items():
        # The rounds of one pair and length cost about the same, whatever is accepted.
        low = [(run, took) for run, took in group if run.rate is not None and run.rate < 0.9]
        full = [(run, took) for run, took in group if run.rate is not None and run.rate > 0.999]
        if not (low and full):
            continue
        usual = statistics.median(took for _, took in low)
        odd = [(run, took) for run, took in full if took > 1.5 * usual]
        if not odd:
            continue
        seconds = statistics.fmean(took for _, took in odd)
        rate = statistics.fmean(run.rate or 0 for run, _ in low)
        yield TableFault(
            "counter of whole drafts only",
            "impossible",
            _label(*key),
            f"{len(odd)} runs state that every draft was accepted: {key[2] + 1} tokens a round, so {1000 * seconds:.1f} ms a"
            f" round at their speed. {len(low)} other runs of the same pair and length accept {_percent(rate)} and take"
            f" {1000 * usual:.1f} ms. Verifying costs the same whatever is accepted, so one of the counters is wrong: some"
            " servers count only rounds that were accepted whole, and some scripts print 100 % where a log line is missing.",
            tuple(run.line for run, _ in odd),
        )


def counters_disagree(runs: Sequence[Run]) -> Iterable[TableFault]:
    """A stated rate against its counts, and tokens that rounds and accepted drafts cannot have made."""
    for run in runs:
        label = _label(run.target, run.draft, run.gamma)
        if run.accepted is None or not run.speculated:
            continue
        counted = run.accepted / run.drafted if run.drafted else None
        if counted is not None and run.rate is not None and abs(counted - run.rate) > _COUNTERS_APART:
            yield TableFault(
                "rate and counts disagree",
                "impossible",
                label,
                f"The row states {_percent(run.rate)}; {run.accepted:g} of {run.drafted:g} are {_percent(counted)}.",
                (run.line,),
            )
        if run.rounds is None or not run.tokens:
            continue
        made = run.rounds + run.accepted
        slack = 0.005 * run.tokens
        # The last round may keep drafts beyond the end of the answer.
        if not -1 - slack <= made - run.tokens <= run.gamma + slack:
            yield TableFault(
                "rounds do not add up",
                "impossible",
                label,
                f"{run.rounds:g} rounds and {run.accepted:g} accepted drafts make {made:g} tokens;"
                f" the row has {run.tokens:g}.",
                (run.line,),
            )


# Figures that are compared but were not measured alike, and what they do not show.


def measured_differently(runs: Sequence[Run]) -> Iterable[TableFault]:
    """Baseline and speculated runs of other prompts or other lengths."""
    for target in dict.fromkeys(run.target for run in runs if run.speculated):
        plain = [run for run in runs if run.target == target and not run.speculated]
        drafted = [run for run in runs if run.target == target and run.speculated]
        if not plain:
            yield TableFault(
                "no baseline",
                "mismatch",
                target,
                f"{len(drafted)} runs speculate and none does not: there is no speed-up to state.",
            )
            continue
        kinds = {run.prompt for run in plain if run.prompt}
        apart = [run for run in drafted if run.prompt and run.prompt not in kinds]
        if kinds and apart:
            others = ", ".join(sorted({run.prompt for run in apart}))
            yield TableFault(
                "other prompts",
                "mismatch",
                target,
                f"The {len(plain)} runs without speculation used {', '.join(sorted(kinds))}; {len(apart)} with it used"
                f" {others}. No baseline was measured on those.",
                tuple(run.line for run in apart),
            )
        sizes = [
            statistics.median([run.tokens for run in group if run.tokens] or [0])
            for group in (plain, drafted)
        ]
        if all(sizes) and abs(sizes[0] / sizes[1] - 1) > 0.05:
            yield TableFault(
                "other lengths of answers",
                "mismatch",
                target,
                f"Runs without speculation wrote {sizes[0]:g} tokens (median), runs with it {sizes[1]:g}. Speed falls with"
                " the length of the context; write a fixed number, past the end of the answer.",
            )


def not_replicated(runs: Sequence[Run]) -> Iterable[TableFault]:
    """Repeats within one start of the server say nothing about the next start."""
    if any(run.speculated for run in runs) and len({run.block for run in runs}) < 2:
        yield TableFault(
            "no restarts",
            "caution",
            "all runs",
            "The table does not say which start of the server a run belongs to, or knows only one. Between starts the same"
            " configuration has been seen to move by several points while repeats within a start agree to a fraction of one,"
            " so the scatter of these repeats is no error of the speed-up.",
        )


CHECKS: tuple[Callable[[Sequence[Run]], Iterable[TableFault]], ...] = (
    more_than_its_tokens,
    drafts_too_fast,
    counter_out_of_line,
    counters_disagree,
    measured_differently,
    not_replicated,
)
"""Every check; one more is one function and one line."""


def findings(runs: Sequence[Run]) -> list[TableFault]:
    """Everything that the checks find, the impossible first."""
    found = [finding for check in CHECKS for finding in check(runs)]
    order: tuple[Severity, ...] = ("impossible", "mismatch", "caution")
    return sorted(found, key=lambda finding: order.index(finding.severity))
