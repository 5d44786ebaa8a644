"""What a comparison says of itself while it runs, and its result in a sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from navigator.lab.comparing.journal import ARMS, Journal
from navigator.lab.runs import Recorder
from navigator.model.text import plural

if TYPE_CHECKING:
    from navigator.lab.comparing.result import PairResult
    from navigator.lab.comparing.session import Finished

SIMULATED = "Simulated: no model answered. The figures say nothing about a real one."
_EVERY = 2.0
_LEVEL = 0.05


def most_turns(names: Sequence[str], rounds: int) -> int:
    """Turns that a task takes at most; arms that begin alike share them."""
    chains = [
        arm.writer + (arm.reader + arm.writer) * rounds if arm.reader else arm.writer
        for arm in (ARMS[name] for name in names)
    ]
    return len({chain[:end] for chain in chains for end in range(1, len(chain) + 1)})


async def follow(record: Recorder, journal: Journal, total: int) -> None:
    """Note the turns that were taken, every two seconds, until it is cancelled."""
    while True:
        record.progress(len(journal.turns), total, "turns at most")
        await asyncio.sleep(_EVERY)


def note_result(record: Recorder, done: Finished, total: int) -> None:
    """The comparison is complete: its sentence."""
    simulated = SIMULATED if done.simulated else ""
    record.decided(sentence(done), simulated=simulated)
    record.progress(total, total)


def sentence(done: Finished) -> str:
    """Which arms are shown to differ, after allowing for the number of pairs."""
    if not done.pairs:
        return "One arm alone is compared with nothing."
    shown = [pair for pair in done.pairs if pair.p_adjusted < _LEVEL]
    if not shown:
        widest = max(done.pairs, key=lambda pair: abs(pair.difference))
        return (
            f"No two arms are shown to differ on {plural(widest.n, 'task')}; the largest difference is {_points(widest)},"
            f" {widest.first} against {widest.second}."
        )
    words = [f"{pair.first} against {pair.second} {_points(pair)}" for pair in shown]
    return f"Shown to differ on {plural(shown[0].n, 'task')}: {'; '.join(words)}."


def _points(pair: PairResult) -> str:
    return f"{100 * pair.difference:+.1f} points (95 %: {100 * pair.low:+.1f} to {100 * pair.high:+.1f})"
