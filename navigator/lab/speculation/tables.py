"""The tables of a speculation experiment: speeds, speed-ups, acceptance and rounds by model, draft and length. Pure."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from navigator.figures.intervals import Z_95, Share, share, wilson
from navigator.lab.speculation.predict import alpha_from_rate
from navigator.lab.speculation.runs import Run


@dataclass(frozen=True, slots=True)
class Undrafted:
    """Speeds without speculation, tok/s. `prompt` is "" for all kinds together."""

    target: str
    prompt: str
    n: int
    mean: float
    sd: float | None


@dataclass(frozen=True, slots=True)
class Speculation:
    """Runs of one target, draft and length, against all baseline runs of the target.

    Attributes:
        n, blocks: runs, and starts of the server, that it rests on.
        speed: mean tok/s, `sd` between runs.
        speedup: speed ÷ the target's mean; None without a baseline.
        rate: accepted ÷ drafted: of all counts where there are any, else the mean of what the runs state. `rate_low` and
            `rate_high` are its 95 % interval, from counts alone. Drafts of one round stand and fall together, so it is computed
            between rounds where positions are counted; else it is Wilson's, which is too narrow.
        alpha: of independent acceptance, for this rate.
        tokens_per_round: τ.
        round_ms, step_ms: time of a round, and of a step without speculation.
        positions: share of rounds whose draft was kept up to each position.
        same_text: runs that wrote the very tokens that the same prompt gets without speculation. Speculation is meant to keep the
            text at temperature 0; engines differ in whether it does.
        lines: of the file.
    """

    target: str
    draft: str
    gamma: int
    n: int
    blocks: int
    speed: float
    sd: float | None
    speedup: float | None
    rate: float | None
    rate_low: float | None
    rate_high: float | None
    alpha: float | None
    tokens_per_round: float | None
    round_ms: float | None
    step_ms: float | None
    positions: tuple[float, ...]
    same_text: Share
    lines: tuple[int, ...]


def suites(runs: Iterable[Run]) -> dict[str, dict[str, object]]:
    """By suite, where the table names any: how many runs, and of what. Names that hardly repeat are no suites'."""
    groups: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        groups[run.suite].append(run)
    if 2 * len(groups) > sum(map(len, groups.values())):
        return {}
    return {
        name: {"n": len(group)}
        | {
            what: sorted({value for run in group if (value := getattr(run, what))})
            for what in ("target", "draft", "gamma", "prompt", "prompt_tokens")
        }
        for name, group in sorted(groups.items())
        if name
    }


def baselines(runs: Iterable[Run]) -> list[Undrafted]:
    """By target and kind of prompt; then each target's kinds together, where it has several."""
    groups: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        if not run.speculated:
            groups[run.target][run.prompt].append(run.speed)
    rows = []
    for target, kinds in sorted(groups.items()):
        rows += [_baseline(target, prompt, speeds) for prompt, speeds in sorted(kinds.items())]
        if len(kinds) > 1:
            rows.append(_baseline(target, "", [speed for speeds in kinds.values() for speed in speeds]))
    return rows


def _baseline(target: str, prompt: str, speeds: Sequence[float]) -> Undrafted:
    return Undrafted(target, prompt, len(speeds), statistics.fmean(speeds), spread(speeds))


def spread(values: Sequence[float]) -> float | None:
    """Standard deviation; None of fewer than two."""
    return statistics.stdev(values) if len(values) > 1 else None


def speculation(runs: Sequence[Run]) -> list[Speculation]:
    """By target, draft and length."""
    groups: dict[tuple[str, str, int], list[Run]] = defaultdict(list)
    plain: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        if run.speculated:
            groups[run.target, run.draft, run.gamma].append(run)
        else:
            plain[run.target].append(run)
    return [_speculation(group, plain[target]) for (target, _, _), group in sorted(groups.items())]


def _sum(values: Iterable[float | None]) -> float | None:
    """None where one of them is unknown."""
    known = list(values)
    return None if None in known else math.fsum(value or 0.0 for value in known)


def _speculation(group: Sequence[Run], plain: Sequence[Run]) -> Speculation:
    first = group[0]
    speeds = [run.speed for run in group]
    accepted, drafted = _sum(run.accepted for run in group), _sum(run.drafted for run in group)
    tokens, rounds = _sum(run.tokens for run in group), _sum(run.rounds for run in group)
    if rounds is None and tokens is not None and accepted is not None:
        rounds = tokens - accepted  # every round adds one token of the target's own
    stated = [run.rate for run in group if run.rate is not None]
    rate = statistics.fmean(stated) if stated else None
    shares = _shares(group, rounds)
    low, high = None, None
    if accepted is not None and drafted:
        rate = accepted / drafted
        low, high = _interval(rate, accepted, drafted, rounds, shares)
    per_round = None if rate is None else 1 + first.gamma * rate
    round_ms = None if per_round is None else 1000 * per_round / statistics.fmean(speeds)
    if rounds and accepted is not None:
        per_round = 1 + accepted / rounds
        if tokens is not None:
            round_ms = 1000 * math.fsum((run.tokens or 0) / run.speed for run in group) / rounds
    return Speculation(
        target=first.target,
        draft=first.draft,
        gamma=first.gamma,
        n=len(group),
        blocks=len({run.block for run in group}),
        speed=statistics.fmean(speeds),
        sd=spread(speeds),
        speedup=statistics.fmean(speeds) / statistics.fmean(run.speed for run in plain) if plain else None,
        rate=rate,
        rate_low=low,
        rate_high=high,
        alpha=None if rate is None else alpha_from_rate(rate, first.gamma),
        tokens_per_round=per_round,
        round_ms=round_ms,
        step_ms=1000 * statistics.fmean(1 / run.speed for run in plain) if plain else None,
        positions=shares,
        same_text=_same_text(group, plain),
        lines=tuple(run.line for run in group),
    )


def _same_text(group: Sequence[Run], plain: Sequence[Run]) -> Share:
    written: Mapping[tuple[str, float | None], set[str]] = defaultdict(set)
    for run in plain:
        if run.output:
            written[run.prompt, run.prompt_tokens].add(run.output)
    pairs = [(run.output, written[run.prompt, run.prompt_tokens]) for run in group if run.output]
    known = [output in texts for output, texts in pairs if texts]
    return share(sum(known), len(known))


def _interval(
    rate: float, accepted: float, drafted: float, rounds: float | None, shares: Sequence[float]
) -> tuple[float, float]:
    if not (shares and rounds):
        return wilson(int(accepted), int(drafted))
    mean = math.fsum(shares)
    square = math.fsum((2 * place - 1) * share for place, share in enumerate(shares, 1))
    half = Z_95 * math.sqrt(max(0.0, square - mean**2) / rounds) * rounds / drafted
    return max(0.0, rate - half), min(1.0, rate + half)


def _shares(group: Sequence[Run], rounds: float | None) -> tuple[float, ...]:
    if not rounds:
        return ()
    totals: list[int] = []
    for run in group:
        totals += [0] * (len(run.positions) - len(totals))
        for place, count in enumerate(run.positions):
            totals[place] += count
    return tuple(total / rounds for total in totals)


# What cannot be true of a table of speculation runs, and which of its figures do not measure the same thing. Pure.
#
# Every finding carries its arithmetic in words, so that a reader can redo it. Severities:
#
# - impossible: no engine can do this; a counter, a clock or a label is wrong;
# - mismatch: figures are compared that were not measured alike.

Severity = Literal["impossible", "mismatch"]


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
    for row in speculation(runs):
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
    alone = {
        row.target: row.mean for row in baselines(runs)
    }  # the last row of a target is of all its prompts
    for row in speculation(runs):
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
    """Speculated runs without a baseline, or with one of other prompts."""
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


CHECKS: tuple[Callable[[Sequence[Run]], Iterable[TableFault]], ...] = (
    more_than_its_tokens,
    drafts_too_fast,
    counters_disagree,
    measured_differently,
)
"""Every check; one more is one function and one line."""


def findings(runs: Sequence[Run]) -> list[TableFault]:
    """Everything that the checks find, the impossible first."""
    found = [finding for check in CHECKS for finding in check(runs)]
    return sorted(found, key=lambda finding: finding.severity)
