"""Counters that contradict one another, or the tokens they should explain. Pure."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence

from navigator.lab.speculation import tables
from navigator.lab.speculation.checking.finding import Facts, Finding, label, name, percent
from navigator.lab.speculation.runs import Run

_COUNTERS_APART = 0.005
"""Two counters of the same acceptance agree within half a point, or one of them is wrong."""


def counter_out_of_line(runs: Sequence[Run], _: Facts) -> Iterable[Finding]:
    """Runs whose rate implies rounds of quite another length than the same draft's other runs."""
    groups: dict[tuple[str, str, int], list[Run]] = defaultdict(list)
    for run in runs:
        if run.round_seconds is not None:
            groups[run.target, run.draft, run.gamma].append(run)
    for key, group in groups.items():
        # The rounds of one pair and length cost about the same, whatever is accepted.
        low = [run for run in group if run.rate is not None and run.rate < 0.9]
        full = [run for run in group if run.rate is not None and run.rate > 0.999]
        if not (low and full):
            continue
        usual = statistics.median(run.round_seconds or 0 for run in low)
        odd = [run for run in full if (run.round_seconds or 0) > 1.5 * usual]
        if not odd:
            continue
        seconds = statistics.fmean(run.round_seconds or 0 for run in odd)
        rate = statistics.fmean(run.rate or 0 for run in low)
        gamma = key[2]
        yield Finding(
            "counter of whole drafts only",
            "impossible",
            label(*key),
            f"{len(odd)} runs state that every draft was accepted: {gamma + 1} tokens a round, so {1000 * seconds:.1f} ms a"
            f" round at their speed. {len(low)} other runs of the same pair and length accept {percent(rate)} and take"
            f" {1000 * usual:.1f} ms. Verifying costs the same whatever is accepted, so one of the counters is wrong: some"
            " servers count only rounds that were accepted whole, and some scripts print 100 % where a log line is missing.",
            tuple(run.line for run in odd),
        )


def counters_disagree(runs: Sequence[Run], _: Facts) -> Iterable[Finding]:
    """The verifier's counter against the draft's own, and a stated rate against its counts."""
    for run in runs:
        own = _ratio(run.drafter_accepted, run.drafter_drafted)
        server = _ratio(run.accepted, run.drafted)
        if own is not None and server is not None and abs(own - server) > _COUNTERS_APART:
            yield Finding(
                "two counters disagree",
                "impossible",
                label(run.target, run.draft, run.gamma),
                f"The server counts {run.accepted:g} of {run.drafted:g} accepted, {percent(server)}; the draft's own counter"
                f" says {run.drafter_accepted:g} of {run.drafter_drafted:g}, {percent(own)}. They count the same drafts."
                " A rate of verified drafts leaves out what was discarded before, or redone.",
                (run.line,),
            )
        if server is not None and run.rate is not None and abs(server - run.rate) > _COUNTERS_APART:
            yield Finding(
                "rate and counts disagree",
                "impossible",
                label(run.target, run.draft, run.gamma),
                f"The row states {percent(run.rate)}; {run.accepted:g} of {run.drafted:g} are {percent(server)}.",
                (run.line,),
            )


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def rounds_do_not_add_up(runs: Sequence[Run], _: Facts) -> Iterable[Finding]:
    """Tokens that rounds and accepted drafts cannot have made. The last round may keep drafts beyond the end of the answer."""
    for run in runs:
        if run.rounds is not None and run.tokens and run.accepted is not None and run.speculated:
            made = run.rounds + run.accepted
            slack = 0.005 * run.tokens
            if not -1 - slack <= made - run.tokens <= max(1, run.gamma) + slack:
                yield Finding(
                    "rounds do not add up",
                    "impossible",
                    label(run.target, run.draft, run.gamma),
                    f"{run.rounds:g} rounds and {run.accepted:g} accepted drafts make {made:g} tokens;"
                    f" the row has {run.tokens:g}.",
                    (run.line,),
                )


def rounds_as_claimed(runs: Sequence[Run], facts: Facts) -> Iterable[Finding]:
    """A number of rounds that the accepted drafts do not allow."""
    for row in tables.speculation(runs):
        claimed = facts.claimed_rounds.get(row.gamma, facts.claimed_rounds.get(0))
        if claimed is None or row.rate is None or row.rounds is None or row.tokens_per_round is None:
            continue
        tokens = row.rounds * row.tokens_per_round
        needed = (tokens - claimed) / (claimed * row.gamma)
        if needed > row.rate + 0.01:
            also = f", more than all {row.gamma} drafts" if needed > 1 else ""
            yield Finding(
                "claimed rounds",
                "impossible",
                name(row),
                f"{tokens:.0f} tokens in {claimed:g} rounds need {tokens / claimed - 1:.2f} accepted drafts a round,"
                f" {percent(needed)} of {row.gamma}{also}. {percent(row.rate)} were accepted, which makes"
                f" {row.rounds:.0f} rounds.",
                row.lines,
            )
