"""Cascade's rule (arXiv 2506.20675) replayed on measured windows: which length it settles on, and what it costs. Pure.

Utility is the tokens of an iteration ÷ its time, both relative to plain decoding. The rule alternates a *test*, a few iterations
at each of a few lengths, uphill, and a *set* phase at the best of them. Each time that is plain decoding, the next set phase is
twice as long. Every length was measured on the same prompts, so what the rule would have met is known.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass

from navigator.figures.intervals import mean_interval
from navigator.lab.speculation.runs import Run, by_start

BASE, RENEW, TEST, TRIALS, HOLD, SAME = 4, 100, 4, 4, 16, 0.10
"""As published. Iterations that teach a plain step, and after which it is learnt again; of a trial; trials of a test; iterations
of a set phase; the change of utility that ends a test."""

Interval = tuple[float, float]
Steps = Sequence[tuple[float, float, float]]
"""Windows of one answer: tokens, rounds, seconds."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One method, over the start blocks that have every length. Times are relative to plain decoding; below 1 is faster.

    Attributes:
        iterations: that were replayed.
        fixed: by length: the time with that length throughout.
        controlled: the time under the rule, and `interval` over blocks.
        settled: the length that it held longest; 0 is plain decoding.
        worst: what the rule costs where plain decoding is best: the same rounds with every draft rejected.
    """

    target: str
    draft: str
    blocks: int
    iterations: int
    fixed: dict[int, float]
    controlled: float
    interval: Interval | None
    settled: int
    worst: float

    @property
    def sentence(self) -> str:
        """For people."""
        fixed = ", ".join(f"γ = {gamma}: {time - 1:+.1%}" for gamma, time in self.fixed.items())
        ends = self.interval
        between = "" if ends is None else f" (95 %: {ends[0] - 1:+.1%} to {ends[1] - 1:+.1%})"
        return (
            f"Cascade's rule settles on {f'γ = {self.settled}' if self.settled else 'no speculation'} for {self.draft}, and takes"
            f" {self.controlled - 1:+.1%} time{between} against plain decoding, over {self.iterations:,} iterations. One length"
            f" throughout takes {fixed}. Where plain decoding is best, the rule costs {self.worst:+.1%} (published: at most"
            " 5%)."
        )


def rules(runs: Sequence[Run]) -> list[Rule]:
    """The rule for each target and method whose windows were recorded."""
    starts = by_start(runs)
    found = []
    for (target, draft), blocks in starts.items():
        if not draft:
            continue
        plain = starts.get((target, ""), {})
        drafted = {block: _answers(arms) for block, arms in blocks.items()}
        lengths = {gamma for answers in drafted.values() for each in answers.values() for gamma in each}
        whole = []
        for block, answers in drafted.items():
            both = _answers(plain.get(block, {}))
            session = [both[key] | answers[key] for key in both if set(answers.get(key, ())) == lengths]
            if session:
                whole.append(session)
        if whole:
            found.append(_rule(target, draft, sorted(lengths), whole))
    return found


def _answers(arms: Mapping[int, Sequence[Run]]) -> dict[object, dict[int, Steps]]:
    """One start's windows by answer and length."""
    found: dict[object, dict[int, Steps]] = {}
    for gamma, runs in arms.items():
        for run in runs:
            if run.windows:
                steps = [(made, max(0.1, made - kept), seconds) for made, kept, seconds in run.windows]
                found.setdefault((run.prompt, run.prompt_tokens), {})[gamma] = steps
    return found


def _rule(
    target: str, draft: str, lengths: Sequence[int], blocks: Sequence[Sequence[Mapping[int, Steps]]]
) -> Rule:
    phases: Counter[tuple[int, str]] = Counter()
    spent: dict[int, float] = defaultdict(float)
    logs, worst = [], []
    for block in blocks:
        for answer in block:
            for gamma, steps in answer.items():
                spent[gamma] += sum(each for *_, each in steps) / sum(tokens for tokens, *_ in steps)
        time, met = _replay(lengths, block)
        logs.append(math.log(time))
        phases += met
        rejected = [
            {gamma: [(each[1], each[1], each[2]) for each in steps] for gamma, steps in answer.items()}
            for answer in block
        ]
        worst.append(_replay(lengths, rejected)[0])
    between = mean_interval(logs)
    held = {gamma: count for (gamma, phase), count in phases.items() if phase == "set"}
    return Rule(
        target=target,
        draft=draft,
        blocks=len(blocks),
        iterations=phases.total(),
        fixed={gamma: spent[gamma] / spent[0] for gamma in lengths},
        controlled=math.exp(statistics.fmean(logs)),
        interval=None if between is None else (math.exp(between[0]), math.exp(between[1])),
        settled=max(held, key=held.__getitem__) if held else 0,
        worst=statistics.fmean(worst) - 1,
    )


def _replay(
    lengths: Sequence[int], block: Sequence[Mapping[int, Steps]]
) -> tuple[float, Counter[tuple[int, str]]]:
    """Time of a block's answers under the rule ÷ plain decoding, and the iterations by length and phase."""
    met: Counter[tuple[int, str]] = Counter()
    loop = _loop(lengths)
    gamma, phase = next(loop)
    seconds = plain = 0.0
    for answer in block:
        total = sum(tokens for tokens, *_ in answer[0])
        plain += sum(each for *_, each in answer[0])
        position = 0.0
        while position < total:
            tokens, rounds, took = _at(answer[gamma], position / total)
            made = min(tokens / rounds, total - position)
            position += made
            seconds += made * took / tokens
            met[gamma, phase] += 1
            gamma, phase = loop.send((tokens / rounds, took / rounds))
    return seconds / plain, met


def _at(steps: Steps, share: float) -> tuple[float, float, float]:
    """The window in which this share of an answer's tokens is reached."""
    left = share * sum(tokens for tokens, *_ in steps)
    for step in steps:
        left -= step[0]
        if left < 0:
            return step
    return steps[-1]


def _loop(lengths: Sequence[int]) -> Generator[tuple[int, str], tuple[float, float], None]:
    """The length and the phase of each iteration; what it yielded is sent back as tokens and seconds.

    Written as a generator, the rule reads as it runs.
    """
    start, hold, since, step = lengths[0], HOLD, RENEW, 0.0
    while True:
        if since >= RENEW:
            step = (yield from _iterations(0, BASE, "base"))[1] / BASE
            since = 0
        utilities = yield from _test(lengths, start, step)
        best = max(utilities, key=utilities.__getitem__)
        start = max((gamma for gamma in utilities if gamma), key=utilities.__getitem__)
        hold = HOLD if best else hold
        yield from _iterations(best, hold, "set")
        since += TEST * (len(utilities) - 1) + hold
        hold = hold if best else 2 * hold


def _test(
    lengths: Sequence[int], start: int, step: float
) -> Generator[tuple[int, str], tuple[float, float], dict[int, float]]:
    """Utility by tried length; plain decoding has 1. It goes uphill, and to the other side of its start where that falls."""
    found = {0: 1.0}
    at, direction, last = lengths.index(start), 0, 0.0
    for trial in range(TRIALS):
        tokens, seconds = yield from _iterations(lengths[at], TEST, "test")
        utility = found[lengths[at]] = tokens * step / seconds
        if trial and abs(utility - last) <= SAME * last:
            break
        if not trial:
            direction = 1 if utility >= 1 else -1
        elif utility < last:
            direction, at = -direction, at - direction
        last, at = utility, at + direction
        if not 0 <= at < len(lengths) or lengths[at] in found:
            break
    return found


def _iterations(
    gamma: int, count: int, phase: str
) -> Generator[tuple[int, str], tuple[float, float], tuple[float, float]]:
    """So many iterations at one length: their tokens and seconds."""
    tokens = seconds = 0.0
    for _ in range(count):
        more, took = yield gamma, phase
        tokens, seconds = tokens + more, seconds + took
    return tokens, seconds
