"""What rounds cost and yield, from the counters of measured runs. Pure."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from navigator.figures.intervals import Z_95, Share, mean_interval, share, wilson
from navigator.lab.speculation.formulas import alpha_from_rate
from navigator.lab.speculation.runs import Run


@dataclass(frozen=True, slots=True)
class Guess:
    """One method and length.

    Attributes:
        runs, blocks: it rests on.
        rate, rate_low, rate_high: accepted ÷ drafted by the verifier, with its 95 % interval. Drafts of one round stand and fall
            together, so it is computed between rounds where positions are counted; else it is Wilson's, which is too narrow.
        drafter_rate: the same by the draft's own counter; None where it has none.
        alpha: of independent acceptance, for the rate.
        tokens_per_round: τ from counters.
        positions: share of rounds whose draft was kept up to each position.
        round_ms, step_ms: T_round and T0.
        draft_ms: T_draft of a round, None where the engine does not time drafting.
        draft_cost, verify_cost: c and v, in steps; their intervals are 95 % between starts of the server, None below two.
        same_text: runs that wrote the very tokens that the same prompt gets without speculation. Speculation is meant to keep the
            text at temperature 0; engines differ in whether it does.
    """

    target: str
    draft: str
    gamma: int
    runs: int
    blocks: int
    rate: float | None
    rate_low: float | None
    rate_high: float | None
    drafter_rate: float | None
    alpha: float | None
    tokens_per_round: float | None
    positions: tuple[float, ...]
    round_ms: float | None
    step_ms: float | None
    draft_ms: float | None
    draft_cost: float | None
    verify_cost: float | None
    draft_cost_interval: tuple[float, float] | None
    verify_cost_interval: tuple[float, float] | None
    same_text: Share


def estimates(runs: Sequence[Run]) -> list[Guess]:
    """By target, method and length, of the runs that have counters."""
    steps: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    groups: dict[tuple[str, str, int], list[Run]] = defaultdict(list)
    for run in runs:
        if run.speculated:
            groups[run.target, run.draft, run.gamma].append(run)
        else:
            steps[run.target][run.block].append(1 / run.speed)
    plain = {
        (run.target, run.prompt, run.prompt_tokens, run.output)
        for run in runs
        if run.output and not run.speculated
    }
    return [
        _estimate(group, plain, steps.get(target, {}))
        for (target, _, _), group in sorted(groups.items())
        if any(run.accepted is not None or run.drafter_accepted is not None for run in group)
    ]


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _estimate(
    group: list[Run], plain: set[tuple[str, str, float | None, str]], steps: Mapping[str, Sequence[float]]
) -> Guess:
    first = group[0]
    every = [step for block in steps.values() for step in block]
    step_ms = 1000 * statistics.fmean(every) if every else None
    costs = _costs(group, {block: statistics.fmean(each) for block, each in steps.items()})
    accepted, drafted = _sum([run.accepted for run in group]), _sum([run.drafted for run in group])
    own_accepted = _sum([run.drafter_accepted for run in group])
    own_drafted = _sum([run.drafter_drafted for run in group])
    tokens = _sum([run.tokens for run in group])
    rounds = _sum([run.rounds for run in group])
    counted = accepted if accepted is not None else own_accepted
    if rounds is None and tokens is not None and counted is not None:
        rounds = tokens - counted  # every round adds one token of the target's own
    rate = accepted / drafted if accepted is not None and drafted else None
    shares = _shares(group, rounds)
    interval = _interval(rate, accepted, drafted, rounds, shares)
    per_round = 1 + counted / rounds if rounds and counted is not None else None
    seconds = sum((run.tokens or 0) / run.speed for run in group)
    round_ms = 1000 * seconds / rounds if rounds and tokens is not None else None
    drafting = _sum([run.draft_seconds for run in group])
    draft_ms = 1000 * drafting / rounds if rounds and drafting is not None else None
    verify_ms = (round_ms or 0.0) - (draft_ms or 0.0)
    return Guess(
        target=first.target,
        draft=first.draft,
        gamma=first.gamma,
        runs=len(group),
        blocks=len({run.block for run in group}),
        rate=rate,
        rate_low=interval[0],
        rate_high=interval[1],
        drafter_rate=own_accepted / own_drafted if own_accepted is not None and own_drafted else None,
        alpha=alpha_from_rate(rate, first.gamma) if rate is not None else None,
        tokens_per_round=per_round,
        positions=shares,
        round_ms=round_ms,
        step_ms=step_ms,
        draft_ms=draft_ms,
        draft_cost=draft_ms / first.gamma / step_ms if draft_ms is not None and step_ms else None,
        verify_cost=verify_ms / step_ms if draft_ms is not None and step_ms else None,
        draft_cost_interval=mean_interval([draft for draft, _ in costs]),
        verify_cost_interval=mean_interval([verify for _, verify in costs]),
        same_text=_same_text(group, plain),
    )


def _costs(group: Sequence[Run], steps: Mapping[str, float]) -> list[tuple[float, float]]:
    """c and v of each start of the server, against the plain step of the same block."""
    found = []
    for block in dict.fromkeys(run.block for run in group):
        mine = [run for run in group if run.block == block]
        rounds, drafting = _sum([run.rounds for run in mine]), _sum([run.draft_seconds for run in mine])
        if not rounds or drafting is None or block not in steps:
            continue
        seconds = sum((run.tokens or 0) / run.speed for run in mine)
        step = steps[block]
        found.append((drafting / rounds / mine[0].gamma / step, (seconds - drafting) / rounds / step))
    return found


def _same_text(group: Sequence[Run], plain: set[tuple[str, str, float | None, str]]) -> Share:
    prompts = {key[:3] for key in plain}
    known = [run for run in group if run.output and (run.target, run.prompt, run.prompt_tokens) in prompts]
    same = sum((run.target, run.prompt, run.prompt_tokens, run.output) in plain for run in known)
    return share(same, len(known))


def _interval(
    rate: float | None,
    accepted: float | None,
    drafted: float | None,
    rounds: float | None,
    shares: Sequence[float],
) -> tuple[float | None, float | None]:
    if rate is None or accepted is None or not drafted:
        return None, None
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
