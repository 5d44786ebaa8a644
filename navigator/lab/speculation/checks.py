"""What cannot be true of a table of speculation runs, and which of its figures do not measure the same thing. Pure.

Every finding carries its arithmetic in words, so that a reader can redo it. Severities:

- impossible: no engine can do this; a counter, a clock or a label is wrong;
- mismatch: figures are compared that were not measured alike, or that contradict one another;
- caution: true perhaps, but it does not show what it may be read to show.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from navigator.lab.speculation import formulas, tables
from navigator.lab.speculation.runs import Run
from navigator.lab.speculation.tables import Speculation

# What a check finds, and what it may know beyond the table.

Severity = Literal["impossible", "mismatch", "caution"]


@dataclass(frozen=True, slots=True)
class TableFault:
    """One thing that is wrong: about what, in which lines of the file, and the arithmetic."""

    kind: str
    severity: Severity
    subject: str
    arithmetic: str
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TableFacts:
    """What the reader knows beyond the table.

    Attributes:
        bandwidth: of the memory, GB/s; 0: unknown.
        gigabytes: what a step of a model reads, by its name in the table: all weights of a dense model, the active ones of
            a sparse model.
        same: draft → the model whose runs without speculation are the draft's own speed.
        claimed_rounds: draft length → verifying passes that a text claims for a run; 0 for every length.
        prompt_words: length of the text that prompts were cut from.
    """

    bandwidth: float = 0.0
    gigabytes: Mapping[str, float] = field(default_factory=dict)
    same: Mapping[str, str] = field(default_factory=dict)
    claimed_rounds: Mapping[int, float] = field(default_factory=dict)
    prompt_words: int | None = None


def name(row: Speculation) -> str:
    """What a finding is about: a row of the table."""
    return label(row.target, row.draft, row.gamma)


def label(target: str, draft: str, gamma: int) -> str:
    """The same by its parts."""
    return f"{target}, {draft}, γ = {gamma}" if gamma else f"{target}, no speculation"


def percent(share: float) -> str:
    """With one digit."""
    return f"{100 * share:.1f} %"


# Times that no engine and no card can reach. Pure.

_SLACK = 1.02
"""Two percent: rounding and scatter are no contradiction."""

_REQUANTISED = 2.5
"""More than another quantisation of the same model can make it faster."""


def more_than_its_tokens(runs: Sequence[Run], _: TableFacts) -> Iterable[TableFault]:
    """A speed-up above τ: even free drafts, verified at the price of one step, do not give it."""
    for row in tables.speculation(runs):
        if row.speedup is None or row.tokens_per_round is None or row.rate is None:
            continue
        if row.speedup > row.tokens_per_round * _SLACK:
            yield TableFault(
                "faster than its tokens",
                "impossible",
                name(row),
                f"{percent(row.rate)} of {row.gamma} drafts accepted make 1 + {row.gamma} × {row.rate:.4f} ="
                f" {row.tokens_per_round:.3f} tokens a round. A round verifies {row.gamma + 1} tokens, which takes at least"
                f" one step of the target. So speed grows by at most {row.tokens_per_round:.3f}×, with drafts for nothing."
                f" The table has {row.speedup:.3f}×.",
                row.lines,
            )


def below_the_floor(runs: Sequence[Run], facts: TableFacts) -> Iterable[TableFault]:
    """Rounds, or steps, in less time than reading the weights takes."""
    if facts.bandwidth <= 0:
        return
    groups: dict[tuple[str, str, int], list[Run]] = defaultdict(list)
    for run in runs:
        seconds = run.round_seconds if run.speculated else 1 / run.speed
        floor = _floor(run, facts)
        if seconds is not None and floor is not None and seconds * _SLACK < floor[0]:
            groups[run.target, run.draft, run.gamma].append(run)
    for (target, draft, gamma), group in groups.items():
        floor = _floor(group[0], facts)
        assert floor is not None
        seconds = statistics.fmean((run.round_seconds or 0) if gamma else 1 / run.speed for run in group)
        what = f"A round at γ = {gamma}" if gamma else "A step"
        yield TableFault(
            "below the bandwidth's floor",
            "impossible",
            label(target, draft, gamma),
            f"{what} reads {floor[1]}; at {facts.bandwidth:g} GB/s that takes {1000 * floor[0]:.2f} ms."
            f" The table implies {1000 * seconds:.2f} ms (mean of {len(group)})."
            + ("" if gamma else " So not all of it is read for a token: give what a token reads."),
            tuple(run.line for run in group),
        )


def _floor(run: Run, facts: TableFacts) -> tuple[float, str] | None:
    """Seconds to read what a round reads, and the sum in words. A model of unknown size counts nothing."""
    target = facts.gigabytes.get(run.target)
    draft = facts.gigabytes.get(run.draft) if run.speculated else None
    parts = [(run.gamma, draft)] * (draft is not None) + [(1, target)] * (target is not None)
    if not parts:
        return None
    total = sum(count * (size or 0) for count, size in parts)
    words = " + ".join(f"{count} × {size:g} GB" if count > 1 else f"{size:g} GB" for count, size in parts)
    return formulas.floor_seconds(total, facts.bandwidth), words


def drafts_too_fast(runs: Sequence[Run], facts: TableFacts) -> Iterable[TableFault]:
    """A draft model that would have to draft faster than it ran alone."""
    alone = tables.means(runs)
    for row in tables.speculation(runs):
        model = facts.same.get(row.draft) or (row.draft if row.draft in alone else _like(row.draft, alone))
        if model is None or model not in alone or row.round_ms is None:
            continue
        needed = 1000 * formulas.drafting_seconds(row.gamma, alone[model])
        if needed > row.round_ms * _SLACK:
            speed = 1000 * row.gamma / row.round_ms
            sure = row.draft in (model, *facts.same) or speed > _REQUANTISED * alone[model]
            yield TableFault(
                "drafts too fast",
                "impossible" if sure else "mismatch",
                name(row),
                f"{row.gamma} draft steps at the {alone[model]:.1f} tok/s of {model} alone take {needed:.1f} ms. The whole"
                f" round, verifying included, would have taken {row.round_ms:.1f} ms: the draft would have run at more than"
                f" {speed:.0f} tok/s, {speed / alone[model]:.1f} times its own speed. Another quantisation of it gives"
                " perhaps a factor of two.",
                row.lines,
            )


def _like(draft: str, models: Iterable[str]) -> str | None:
    """The one model whose name ends like the draft's, e.g. in `_0.8b`."""
    ending = draft.rpartition("_")[2] or draft
    found = [model for model in models if model != draft and model.rpartition("_")[2] == ending]
    return found[0] if len(found) == 1 else None


# Counters that contradict one another, or the tokens they should explain. Pure.

_COUNTERS_APART = 0.005
"""Two counters of the same acceptance agree within half a point, or one of them is wrong."""


def counter_out_of_line(runs: Sequence[Run], _: TableFacts) -> Iterable[TableFault]:
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
        yield TableFault(
            "counter of whole drafts only",
            "impossible",
            label(*key),
            f"{len(odd)} runs state that every draft was accepted: {gamma + 1} tokens a round, so {1000 * seconds:.1f} ms a"
            f" round at their speed. {len(low)} other runs of the same pair and length accept {percent(rate)} and take"
            f" {1000 * usual:.1f} ms. Verifying costs the same whatever is accepted, so one of the counters is wrong: some"
            " servers count only rounds that were accepted whole, and some scripts print 100 % where a log line is missing.",
            tuple(run.line for run in odd),
        )


def counters_disagree(runs: Sequence[Run], _: TableFacts) -> Iterable[TableFault]:
    """The verifier's counter against the draft's own, and a stated rate against its counts."""
    for run in runs:
        own = _ratio(run.drafter_accepted, run.drafter_drafted)
        server = _ratio(run.accepted, run.drafted)
        if own is not None and server is not None and abs(own - server) > _COUNTERS_APART:
            yield TableFault(
                "two counters disagree",
                "impossible",
                label(run.target, run.draft, run.gamma),
                f"The server counts {run.accepted:g} of {run.drafted:g} accepted, {percent(server)}; the draft's own counter"
                f" says {run.drafter_accepted:g} of {run.drafter_drafted:g}, {percent(own)}. They count the same drafts."
                " A rate of verified drafts leaves out what was discarded before, or redone.",
                (run.line,),
            )
        if server is not None and run.rate is not None and abs(server - run.rate) > _COUNTERS_APART:
            yield TableFault(
                "rate and counts disagree",
                "impossible",
                label(run.target, run.draft, run.gamma),
                f"The row states {percent(run.rate)}; {run.accepted:g} of {run.drafted:g} are {percent(server)}.",
                (run.line,),
            )


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def rounds_do_not_add_up(runs: Sequence[Run], _: TableFacts) -> Iterable[TableFault]:
    """Tokens that rounds and accepted drafts cannot have made. The last round may keep drafts beyond the end of the answer."""
    for run in runs:
        if run.rounds is not None and run.tokens and run.accepted is not None and run.speculated:
            made = run.rounds + run.accepted
            slack = 0.005 * run.tokens
            if not -1 - slack <= made - run.tokens <= max(1, run.gamma) + slack:
                yield TableFault(
                    "rounds do not add up",
                    "impossible",
                    label(run.target, run.draft, run.gamma),
                    f"{run.rounds:g} rounds and {run.accepted:g} accepted drafts make {made:g} tokens;"
                    f" the row has {run.tokens:g}.",
                    (run.line,),
                )


def rounds_as_claimed(runs: Sequence[Run], facts: TableFacts) -> Iterable[TableFault]:
    """A number of rounds that the accepted drafts do not allow."""
    for row in tables.speculation(runs):
        claimed = facts.claimed_rounds.get(row.gamma, facts.claimed_rounds.get(0))
        if claimed is None or row.rate is None or row.rounds is None or row.tokens_per_round is None:
            continue
        tokens = row.rounds * row.tokens_per_round
        needed = (tokens - claimed) / (claimed * row.gamma)
        if needed > row.rate + 0.01:
            also = f", more than all {row.gamma} drafts" if needed > 1 else ""
            yield TableFault(
                "claimed rounds",
                "impossible",
                name(row),
                f"{tokens:.0f} tokens in {claimed:g} rounds need {tokens / claimed - 1:.2f} accepted drafts a round,"
                f" {percent(needed)} of {row.gamma}{also}. {percent(row.rate)} were accepted, which makes"
                f" {row.rounds:.0f} rounds.",
                row.lines,
            )


# Figures that are compared but were not measured alike, and what they do not show. Pure.

_REPORTED: dict[str, Callable[[Run], bool]] = {
    "the time of reading the prompt": lambda run: run.prompt_ms is not None,
    "their number of tokens": lambda run: run.tokens is not None,
}


def measured_differently(runs: Sequence[Run], _: TableFacts) -> Iterable[TableFault]:
    """Baseline and speculated runs that another program, another prompt or another length produced."""
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
        for name, has in _REPORTED.items():
            shares = [sum(map(has, group)) / len(group) for group in (plain, drafted)]
            if abs(shares[0] - shares[1]) > 0.9:
                one, other = (
                    ("the baseline", "speculated") if shares[0] > shares[1] else ("speculated", "baseline")
                )
                yield TableFault(
                    "other program",
                    "mismatch",
                    target,
                    f"Only {one} runs report {name}; {other} runs never do. Two programs measured them, and each has"
                    " its own idea of what a token's time includes. Measure both with the server that will be used.",
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


def speeds_disagree(runs: Sequence[Run], _: TableFacts) -> Iterable[TableFault]:
    """A row's tok/s against its own milliseconds a token."""
    odd = [run for run in runs if run.step_ms and abs(run.speed * run.step_ms / 1000 - 1) > 0.02]
    if odd:
        first = odd[0]
        yield TableFault(
            "speed and time disagree",
            "mismatch",
            f"{len(odd)} rows",
            f"Line {first.line}: {first.speed:g} tok/s are {1000 / first.speed:.3f} ms a token; the row has {first.step_ms:g}.",
            tuple(run.line for run in odd),
        )


def shorter_than_stated(runs: Sequence[Run], facts: TableFacts) -> Iterable[TableFault]:
    """Prompt lengths beyond the text that prompts are cut from: they are one prompt."""
    groups: dict[tuple[str, str, int], set[float]] = defaultdict(set)
    for row in tables.lengths(runs):
        if facts.prompt_words is not None and row.prompt_tokens > facts.prompt_words:
            groups[row.target, row.draft, row.gamma].add(row.prompt_tokens)
    for key, beyond in groups.items():
        yield TableFault(
            "prompts shorter than stated",
            "impossible",
            label(*key),
            f"The text that prompts are cut from has {facts.prompt_words} words, so"
            f" {', '.join(f'{size:g}' for size in sorted(beyond))} are the same prompt of {facts.prompt_words} words.",
            tuple(
                run.line
                for run in runs
                if (run.target, run.draft, run.gamma) == key and run.prompt_tokens in beyond
            ),
        )


def not_replicated(runs: Sequence[Run], _: TableFacts) -> Iterable[TableFault]:
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


CHECKS: tuple[Callable[[Sequence[Run], TableFacts], Iterable[TableFault]], ...] = (
    more_than_its_tokens,
    below_the_floor,
    drafts_too_fast,
    counter_out_of_line,
    counters_disagree,
    rounds_do_not_add_up,
    rounds_as_claimed,
    measured_differently,
    speeds_disagree,
    shorter_than_stated,
    not_replicated,
)
"""Every check; one more is one function and one line."""


def findings(runs: Sequence[Run], facts: TableFacts) -> list[TableFault]:
    """Everything that the checks find, the impossible first."""
    found = [finding for check in CHECKS for finding in check(runs, facts)]
    order: tuple[Severity, ...] = ("impossible", "mismatch", "caution")
    return sorted(found, key=lambda finding: order.index(finding.severity))
