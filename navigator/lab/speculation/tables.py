"""The tables of a speculation experiment: speeds, speed-ups and acceptance by model, draft and length. Pure."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from navigator.lab.speculation.formulas import alpha_from_rate
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
        speed: mean tok/s, `sd` between runs.
        speedup: speed ÷ the target's mean; None without a baseline.
        rate: mean of accepted ÷ drafted, `rate_n` runs that state it.
        alpha: of independent acceptance, for this rate.
        tokens_per_round, round_ms: of the mean rate and speed.
        rounds: passes that the median number of tokens took.
        lines: of the file.
    """

    target: str
    draft: str
    gamma: int
    n: int
    speed: float
    sd: float | None
    speedup: float | None
    rate: float | None
    rate_n: int
    alpha: float | None
    tokens_per_round: float | None
    round_ms: float | None
    rounds: float | None
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Length:
    """Speeds at one prompt length, with speculation and without."""

    target: str
    draft: str
    gamma: int
    prompt_tokens: float
    n: int
    speed: float
    sd: float | None
    speedup: float | None


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
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for run in runs:
        if not run.speculated:
            groups[run.target, run.prompt].append(run.speed)
    rows = [_baseline(target, prompt, speeds) for (target, prompt), speeds in groups.items()]
    for target in dict.fromkeys(target for target, _ in groups):
        parts = [speeds for (name, _), speeds in groups.items() if name == target]
        if len(parts) > 1:
            rows.append(_baseline(target, "", [speed for part in parts for speed in part]))
    return sorted(rows, key=lambda row: (row.target, not row.prompt, row.prompt))


def _baseline(target: str, prompt: str, speeds: Sequence[float]) -> Undrafted:
    return Undrafted(target, prompt, len(speeds), statistics.fmean(speeds), spread(speeds))


def spread(values: Sequence[float]) -> float | None:
    """Standard deviation; None of fewer than two."""
    return statistics.stdev(values) if len(values) > 1 else None


def means(runs: Iterable[Run]) -> dict[str, float]:
    """Mean speed without speculation of each target, over all its runs."""
    groups: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        if not run.speculated:
            groups[run.target].append(run.speed)
    return {target: statistics.fmean(speeds) for target, speeds in groups.items()}


def swept(runs: Iterable[Run]) -> set[str]:
    """Kinds of prompt that drafting runs use at several lengths: these are a table of their own."""
    lengths: dict[str, set[float | None]] = defaultdict(set)
    for run in runs:
        if run.speculated:
            lengths[run.prompt].add(run.prompt_tokens)
    return {prompt for prompt, found in lengths.items() if len(found) > 2}


def speculation(runs: Sequence[Run]) -> list[Speculation]:
    """By target, draft and length, without the runs of a sweep over prompt lengths."""
    apart, base = swept(runs), means(runs)
    groups: dict[tuple[str, str, int], list[Run]] = defaultdict(list)
    for run in runs:
        if run.speculated and (run.prompt not in apart or not run.prompt):
            groups[run.target, run.draft, run.gamma].append(run)
    return [_speculation(*key, group, base.get(key[0])) for key, group in sorted(groups.items())]


def _speculation(target: str, draft: str, gamma: int, group: list[Run], base: float | None) -> Speculation:
    speeds = [run.speed for run in group]
    speed = statistics.fmean(speeds)
    rates = [run.rate for run in group if run.rate is not None]
    rate = statistics.fmean(rates) if rates else None
    per_round = None if rate is None else 1 + gamma * rate
    tokens = [run.tokens for run in group if run.tokens]
    return Speculation(
        target=target,
        draft=draft,
        gamma=gamma,
        n=len(group),
        speed=speed,
        sd=spread(speeds),
        speedup=None if base is None else speed / base,
        rate=rate,
        rate_n=len(rates),
        alpha=None if rate is None else alpha_from_rate(rate, gamma),
        tokens_per_round=per_round,
        round_ms=None if per_round is None else 1000 * per_round / speed,
        rounds=statistics.median(tokens) / per_round if tokens and per_round else None,
        lines=tuple(run.line for run in group),
    )


def lengths(runs: Sequence[Run]) -> list[Length]:
    """Speeds by prompt length, of the kinds of prompt that were swept, against the same kind without speculation."""
    apart = swept(runs)
    groups: dict[tuple[str, str, int, float], list[float]] = defaultdict(list)
    base: dict[tuple[str, float], list[float]] = defaultdict(list)
    for run in runs:
        if run.prompt not in apart or run.prompt_tokens is None:
            continue
        if run.speculated:
            groups[run.target, run.draft, run.gamma, run.prompt_tokens].append(run.speed)
        else:
            base[run.target, run.prompt_tokens].append(run.speed)
    rows = []
    for (target, draft, gamma, tokens), speeds in sorted(groups.items()):
        plain = base.get((target, tokens))
        speed = statistics.fmean(speeds)
        gain = speed / statistics.fmean(plain) if plain else None
        rows.append(Length(target, draft, gamma, tokens, len(speeds), speed, spread(speeds), gain))
    return rows
