"""How long the simulated GPU has nothing to do, with and without the work that Navigator moves under swaps.

    python -m benchmarks.gpu_idle [--tiny | --full] [--sessions N] [--scale X] [--slow S]

Sessions of the rehearsal on sample projects, `run --until idle`. Idle is what is left of the time from the first load to the last
answer after all swaps and all times in which some request was under way. Models and swaps run at `--scale` of their own time,
and this machine's own work does not: its share of the time is larger by 1 / scale than beside a real GPU, so the seconds before
the first request after a swap are printed too, which no scale changes. `--slow` has every test run take so many seconds more.
Without: prompts and baselines are made when they are needed, as before.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import unittest.mock
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from benchmarks.size import sized
from navigator.cli.demo import _CONFIG, prepare
from navigator.cli.session import locked_dependencies
from navigator.config.paths import StatePaths
from navigator.engine.conductor import Conductor, RunOptions
from navigator.engine.swapping import Ahead
from navigator.rehearsal import samples

PROJECTS, TASKS = sized((1, 1), (6, 10), (6, 10))
Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Session:
    """Seconds: the whole session, idle ones in it, and those from the end of each swap to the first request."""

    whole: float
    idle: float
    first: float


def _second(stamp: str) -> float:
    return datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


def _covered(spans: Iterable[Span]) -> float:
    total, reached = 0.0, 0.0
    for began, ended in sorted(spans):
        total += max(0.0, ended - max(began, reached))
        reached = max(reached, ended)
    return total


def run(scale: float, slow: float, *, ahead: bool) -> Session:
    """One session in a folder of its own."""
    made = samples.sample_projects

    def slower() -> tuple[samples.SampleProject, ...]:
        return tuple(replace(one, check=f"sleep {slow:g}; {one.check}") for one in made())

    async def nothing(*_: object) -> None:
        """Prepare nothing."""

    with (
        tempfile.TemporaryDirectory() as folder,
        unittest.mock.patch.object(samples, "sample_projects", slower if slow else made),
    ):
        state = Path(folder)
        (state / "config.toml").write_text(_CONFIG, encoding="utf-8")
        os.environ.update(NAVIGATOR_STATE=folder, NAVIGATOR_CONFIG=str(state / "config.toml"))
        prepare(StatePaths(state), projects=PROJECTS, tasks=TASKS)
        with (
            locked_dependencies(StatePaths(state), time_scale=scale) as deps,
            unittest.mock.patch.object(Ahead, "fill", Ahead.fill if ahead else nothing),
        ):
            asyncio.run(Conductor(deps, RunOptions(until="idle")).run())
            swaps = deps.reader.swaps(1000)
            rows = deps.reader._all("SELECT started, ended FROM calls WHERE ended IS NOT NULL")
    calls = [(_second(row["started"]), _second(row["ended"])) for row in rows]
    loads = [(_second(swap.started), _second(swap.started) + swap.seconds) for swap in swaps]
    whole = max(ended for _, ended in calls) - min(began for began, _ in loads)
    first = [
        min((began for began, _ in calls if began >= ended), default=ended) - ended for _, ended in loads
    ]
    return Session(
        whole=whole,
        idle=whole - _covered([*calls, *loads]),
        first=statistics.fmean(first),
    )


def main() -> None:
    """Print one line for each way, and the mean difference with its standard error."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=sized(1, 2, 20))
    parser.add_argument("--scale", type=float, default=sized(0.001, 0.05, 0.1))
    parser.add_argument("--slow", type=float, default=0.0)
    options = parser.parse_args()
    found: dict[bool, list[Session]] = {False: [], True: []}
    for number in range(options.sessions):
        for ahead in (False, True) if number % 2 else (True, False):
            found[ahead].append(run(options.scale, options.slow, ahead=ahead))
    print(f"SIMULATED: {options.sessions} sessions of {TASKS} tasks each way, time scale {options.scale:g}")
    for ahead, sessions in found.items():
        shares = [session.idle / session.whole for session in sessions]
        print(
            f"{'under swaps' if ahead else 'when needed':12} idle {statistics.fmean(shares):6.1%}"
            f"  session {statistics.fmean(s.whole for s in sessions):6.1f} s"
            f"  first request after {statistics.fmean(s.first for s in sessions):5.2f} s"
        )
    gains = [a.idle / a.whole - b.idle / b.whole for a, b in zip(found[False], found[True], strict=True)]
    error = statistics.stdev(gains) / len(gains) ** 0.5 if len(gains) > 1 else float("nan")
    print(f"idle share less by {statistics.fmean(gains):.1%} ± {1.96 * error:.1%} (95 %, normal, paired)")


if __name__ == "__main__":
    main()
