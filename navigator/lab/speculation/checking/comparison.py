"""Figures that are compared but were not measured alike, and what they do not show. Pure."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from navigator.lab.speculation import formulas, tables
from navigator.lab.speculation.checking.finding import Facts, Finding, label, percent
from navigator.lab.speculation.runs import Run

_REPORTED: dict[str, Callable[[Run], bool]] = {
    "the time of reading the prompt": lambda run: run.prompt_ms is not None,
    "their number of tokens": lambda run: run.tokens is not None,
}


def measured_differently(runs: Sequence[Run], _: Facts) -> Iterable[Finding]:
    """Baseline and speculated runs that another program, another prompt or another length produced."""
    for target in dict.fromkeys(run.target for run in runs if run.speculated):
        plain = [run for run in runs if run.target == target and not run.speculated]
        drafted = [run for run in runs if run.target == target and run.speculated]
        if not plain:
            yield Finding(
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
            yield Finding(
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
                yield Finding(
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
            yield Finding(
                "other lengths of answers",
                "mismatch",
                target,
                f"Runs without speculation wrote {sizes[0]:g} tokens (median), runs with it {sizes[1]:g}. Speed falls with"
                " the length of the context; write a fixed number, past the end of the answer.",
            )


def speeds_disagree(runs: Sequence[Run], _: Facts) -> Iterable[Finding]:
    """A row's tok/s against its own milliseconds a token."""
    odd = [run for run in runs if run.step_ms and abs(run.speed * run.step_ms / 1000 - 1) > 0.02]
    if odd:
        first = odd[0]
        yield Finding(
            "speed and time disagree",
            "mismatch",
            f"{len(odd)} rows",
            f"Line {first.line}: {first.speed:g} tok/s are {1000 / first.speed:.3f} ms a token; the row has {first.step_ms:g}.",
            tuple(run.line for run in odd),
        )


def lengths_alike(runs: Sequence[Run], facts: Facts) -> Iterable[Finding]:
    """Prompt lengths that make no difference at all: perhaps they are one prompt."""
    groups: dict[tuple[str, str, int], list[tables.Length]] = defaultdict(list)
    for row in tables.lengths(runs):
        groups[row.target, row.draft, row.gamma].append(row)
    for key, rows in groups.items():
        if facts.prompt_words is not None:
            beyond = [row for row in rows if row.prompt_tokens > facts.prompt_words]
            if beyond:
                names = ", ".join(f"{row.prompt_tokens:g}" for row in beyond)
                yield Finding(
                    "prompts shorter than stated",
                    "impossible",
                    label(*key),
                    f"The text that prompts are cut from has {facts.prompt_words} words, so {names} are the same prompt of"
                    f" {facts.prompt_words} words.",
                    tuple(_lines_of(runs, key, {row.prompt_tokens for row in beyond})),
                )
                continue
        alike = _longest_alike(rows)
        if len(alike) > 2:
            first, last = alike[0], alike[-1]
            speeds = [row.speed for row in alike]
            yield Finding(
                "prompt lengths make no difference",
                "caution",
                label(*key),
                f"From {first.prompt_tokens:g} to {last.prompt_tokens:g} tokens the means differ by"
                f" {max(speeds) - min(speeds):.2f} tok/s, with a scatter of {_scatter(alike):.2f} within one length. A text"
                " that is too short to be cut to length looks like this.",
                tuple(_lines_of(runs, key, {row.prompt_tokens for row in alike})),
            )


def _longest_alike(rows: Sequence[tables.Length]) -> list[tables.Length]:
    """The longest prompts whose mean speeds lie within twice their own scatter."""
    ordered = sorted(rows, key=lambda row: row.prompt_tokens)
    for start in range(len(ordered) - 1):
        tail = ordered[start:]
        speeds = [row.speed for row in tail]
        if max(speeds) - min(speeds) <= 2 * _scatter(tail):
            return tail
    return []


def _scatter(rows: Sequence[tables.Length]) -> float:
    return statistics.fmean(row.sd or 0.0 for row in rows)


def _lines_of(runs: Sequence[Run], key: tuple[str, str, int], sizes: set[float]) -> Iterable[int]:
    return (
        run.line for run in runs if (run.target, run.draft, run.gamma) == key and run.prompt_tokens in sizes
    )


def not_replicated(runs: Sequence[Run], _: Facts) -> Iterable[Finding]:
    """Repeats within one start of the server say nothing about the next start."""
    if any(run.speculated for run in runs) and len({run.block for run in runs}) < 2:
        yield Finding(
            "no restarts",
            "caution",
            "all runs",
            "The table does not say which start of the server a run belongs to, or knows only one. Between starts the same"
            " configuration has been seen to move by several points while repeats within a start agree to a fraction of one,"
            " so the scatter of these repeats is no error of the speed-up.",
        )


def rate_is_not_alpha(runs: Sequence[Run], _: Facts) -> Iterable[Finding]:
    """A rate that falls with the draft length mostly does so by arithmetic."""
    groups: dict[tuple[str, str], list[tables.Speculation]] = defaultdict(list)
    for row in tables.speculation(runs):
        if row.alpha is not None:
            groups[row.target, row.draft].append(row)
    for (target, draft), rows in groups.items():
        first, last = rows[0], rows[-1]
        if len(rows) < 2 or first.alpha is None or last.alpha is None or not first.rate or last.rate is None:
            continue
        expected = formulas.rate_from_alpha(first.alpha, last.gamma)
        if last.rate < first.rate:
            yield Finding(
                "a rate is not α",
                "caution",
                f"{target}, {draft}",
                f"Accepted ÷ drafted falls from {percent(first.rate)} at γ = {first.gamma} to {percent(last.rate)} at"
                f" γ = {last.gamma}. With the same α = {first.alpha:.3f} it would fall to {percent(expected)}, as a rejection"
                f" discards the rest of a draft; α itself goes to {last.alpha:.3f}.",
            )
