"""Two checks of the lab on rounds whose truth is known: do the intervals of c and v hold it, and what does Cascade's rule cost?

Rounds cost v + γ c steps, every start of the server moves by 2 %. For the rule, drafts are accepted with a chance of α and a
start has 2,000 tokens; where plain decoding is best its cost is to be at most 5 %, as published. No model is real here; the
figures are of the method. A real llama.cpp checks the fit against its own timers: `lab speculation measure`, then `predict
--measured`.

    python benchmarks/speculation.py [--tiny | --full]
"""

from __future__ import annotations

import argparse
import random

from benchmarks.size import sized
from navigator.lab.speculation.fit import fits
from navigator.lab.speculation.predict import expected_tokens
from navigator.lab.speculation.rule import rules
from navigator.lab.speculation.runs import Run

C, V, SCATTER, STARTS, STEP = 0.12, 1.4, 0.02, 6, 0.01
LENGTHS = (1, 2, 4), (1, 3, 7), (2, 4, 8, 16)
TOKENS, WINDOW = sized(320, 2000, 2000), 16


def measured(lengths: tuple[int, ...], c: float, v: float, alpha: float, seed: int) -> list[Run]:
    """One measurement of six starts."""
    dice, found = random.Random(seed), []
    for block in range(STARTS):
        for gamma in (0, *lengths):
            step = STEP * (1 + dice.gauss(0, SCATTER))
            windows = [_window(gamma, step, c, v, alpha, dice) for _ in range(TOKENS // WINDOW)]
            tokens, accepted, seconds = (sum(column) for column in zip(*windows, strict=True))
            found.append(
                Run(
                    line=1,
                    target="target",
                    draft="draft" if gamma else "",
                    gamma=gamma,
                    speed=tokens / seconds,
                    tokens=tokens,
                    rounds=tokens - accepted if gamma else None,
                    accepted=accepted if gamma else None,
                    block=str(block),
                    windows=tuple(windows),
                )
            )
    return found


def _window(
    gamma: int, step: float, c: float, v: float, alpha: float, dice: random.Random
) -> tuple[float, float, float]:
    """Tokens, accepted drafts and seconds of at least so many tokens."""
    tokens = rounds = 0
    while tokens < WINDOW:
        kept = 0
        while kept < gamma and dice.random() < alpha:
            kept += 1
        tokens, rounds = tokens + 1 + kept, rounds + 1
    return float(tokens), float(tokens - rounds), rounds * step * (v + gamma * c if gamma else 1.0)


def coverage(times: int) -> None:
    """How many intervals of 95 % hold the truth."""
    print(f"intervals of 95 % that hold c = {C} and v = {V}, of {times} measurements of {STARTS} starts:")
    for lengths in LENGTHS:
        every = [fits(measured(lengths, C, V, 0.6, seed))[0] for seed in range(times)]
        held = [
            sum(ends[0] <= truth <= ends[1] for ends in each if ends is not None)
            for truth, each in (
                (C, [fit.draft_interval for fit in every]),
                (V, [fit.verify_interval for fit in every]),
            )
        ]
        doubted = sum(bool(fit.doubts) for fit in every)
        print(
            f"  γ = {', '.join(map(str, lengths))}: c {held[0]}, v {held[1]}; {doubted} were called doubtful"
        )


def costs() -> None:
    """The rule beside each fixed length, from drafts that gain to drafts that lose."""
    print(f"time against plain decoding, of {STARTS} starts of {TOKENS} tokens:")
    for alpha, c, v in ((0.8, 0.05, 1.2), (0.5, 0.1, 1.5), (0.2, 0.1, 1.5), (0.1, 0.2, 2.0), (0.0, 0.4, 4.0)):
        (found,) = rules(measured((1, 3, 7), c, v, alpha, seed=1))
        fixed = ", ".join(f"γ = {gamma} {time - 1:+.1%}" for gamma, time in found.fixed.items())
        gain = max(expected_tokens(alpha, gamma) / (v + gamma * c) for gamma in (1, 3, 7))
        best = "plain decoding is best" if gain < 1 else "drafts gain"
        print(
            f"  α = {alpha}, c = {c}, v = {v} ({best}): rule {found.controlled - 1:+.1%}, {fixed};"
            f" with every draft rejected {found.worst:+.1%}"
        )


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    coverage(sized(1, 200, 1000))
    costs()


if __name__ == "__main__":
    main()
