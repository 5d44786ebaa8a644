"""How far off the forecast is in rehearsed sessions: real processes, real swaps between them, simulated answers and times.

    python -m benchmarks.forecast_rehearsal [--tiny | --full] [SESSIONS] [SEED] [TIME_SCALE]

Each session has 3 to 20 tasks of drawn kinds; sizes, verdicts and revisions follow from what is written. The first two sessions
are only measured. What else the computer does is noise, too. Simulated: nothing here is a GPU's time.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import tempfile
from pathlib import Path

from benchmarks.size import sized
from navigator.actions.registry import perform
from navigator.cli.session import locked_dependencies
from navigator.config.paths import CONFIG_VARIABLE, StatePaths
from navigator.engine.conductor import Conductor, RunOptions
from navigator.model.records import ForecastRecord
from navigator.rehearsal.samples import sample_projects
from tests.journey.support import REHEARSAL, make_repository
from tests.scripted.tasks import notes

PROJECTS = sized(1, 12, 12)
TASKS = sized((3,), (3, 5, 8, 12, 20), (3, 5, 8, 12, 20))


def sessions(folder: Path, count: int, seed: int, scale: float) -> list[ForecastRecord]:
    """So many sessions on one state folder, and their forecasts."""
    config = folder / "config.toml"
    config.write_text(REHEARSAL + "[exam]\nshare = 0.0\n", encoding="utf-8")
    os.environ.update({CONFIG_VARIABLE: str(config), "NAVIGATOR_REHEARSAL": "tests.scripted"})
    paths, rng = StatePaths(folder / "state").ensure(), random.Random(seed)
    samples = sample_projects()[:PROJECTS]
    queue = notes(count * 20, samples)
    for number in range(count):
        with locked_dependencies(paths, time_scale=scale, seed=seed + number) as deps:

            async def session() -> None:
                if not deps.reader.projects():
                    for sample in samples:
                        path = make_repository(folder / "code" / sample.name, sample.files)
                        await perform(deps, "project.add", {"path": str(path), "name": sample.name})
                await perform(deps, "task.add", {"tasks": rng.sample(queue, rng.choice(TASKS))})
                await Conductor(deps, RunOptions(until="idle")).run()

            asyncio.run(session())
            found = deps.reader.forecasts()
            for made in found[-1:]:
                print(
                    f"{made.tasks} tasks: {made.seconds:.1f} s expected, {made.actual_seconds:.1f} s, {made.outcome}",
                    flush=True,
                )
    return found


def main() -> None:
    """One line a session; `navigator stats forecast` counts them in the same way."""
    given = sys.argv[1:] + [sized("3", "5", "30"), "1", sized("0.01", "0.05", "0.2")][len(sys.argv) - 1 :]
    with tempfile.TemporaryDirectory() as folder:
        found = sessions(Path(folder), int(given[0]), int(given[1]), float(given[2]))
    print(f"{len(found)} forecasts in {given[0]} sessions")


if __name__ == "__main__":
    main()
