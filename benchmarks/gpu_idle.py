"""How long the simulated GPU has nothing to do, with and without the work that Navigator moves under swaps.

    python -m benchmarks.gpu_idle [--tiny | --full] [--sessions N] [--scale X] [--slow S]

Sessions of the rehearsal on sample projects, `run --until idle`. Idle is what is left of the time from the first load to the last
answer after all swaps and all times in which some request was under way: the share of that time without the swaps, in which a
model could have worked, and what it consists of. Models and swaps run at `--scale` of their own time, and this machine's own work
does not: its share of the time is larger by 1 / scale than beside a real GPU, so the seconds before the first request after a
swap are printed too, which no scale changes. `--slow` has every test run take so many seconds more.
Without: prompts and baselines are made when they are needed, as before.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import unittest.mock
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from benchmarks.size import sized
from navigator.cli.session import locked_dependencies
from navigator.config.paths import StatePaths
from navigator.engine.conductor import Conductor, RunOptions
from navigator.engine.swapping import Ahead
from navigator.rehearsal import samples
from navigator.setup.demo import CONFIG, prepare

PROJECTS, TASKS = sized((1, 1), (6, 10), (6, 10))
Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Session:
    """Seconds: the whole session, its swaps, idle ones by what they lie between, and those from a swap to the first request."""

    whole: float
    swaps: float
    gaps: dict[str, float]
    first: float

    @property
    def idle(self) -> float:
        """The share of the time outside of swaps in which no request was under way."""
        return sum(self.gaps.values()) / (self.whole - self.swaps)


def _second(stamp: str) -> float:
    return datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


def _gaps(calls: Iterable[Span], loads: Iterable[Span]) -> dict[str, float]:
    """Seconds that no span covers, by what comes before and after."""
    found: dict[str, float] = defaultdict(float)
    spans = sorted([(*span, "request") for span in calls] + [(*span, "swap") for span in loads])
    _, reached, last = spans[0]
    for began, ended, kind in spans:
        if began > reached:
            found[f"{last} to {kind}"] += began - reached
        if ended > reached:
            reached, last = ended, kind
    return found


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
        (state / "config.toml").write_text(CONFIG, encoding="utf-8")
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
        swaps=sum(ended - began for began, ended in loads),
        gaps=_gaps(calls, loads),
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
        print(
            f"{'under swaps' if ahead else 'when needed':12} idle {statistics.fmean(s.idle for s in sessions):6.1%}"
            f"  session {statistics.fmean(s.whole for s in sessions):6.1f} s"
            f"  swaps {statistics.fmean(s.swaps for s in sessions):5.1f} s"
            f"  first request after {statistics.fmean(s.first for s in sessions):5.2f} s"
        )
        for name in sorted({name for session in sessions for name in session.gaps}):
            print(f"  {name:18} {statistics.fmean(s.gaps.get(name, 0.0) for s in sessions):5.2f} s idle")
    gains = [before.idle - after.idle for before, after in zip(found[False], found[True], strict=True)]
    error = statistics.stdev(gains) / len(gains) ** 0.5 if len(gains) > 1 else float("nan")
    print(f"idle share less by {statistics.fmean(gains):.1%} ± {1.96 * error:.1%} (95 %, normal, paired)")


if __name__ == "__main__":
    main()
