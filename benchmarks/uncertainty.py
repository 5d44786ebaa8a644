"""Entropy against verdicts in two rehearsals: one whose simulated probabilities know where a fault was planted, one whose do not.

    python -m benchmarks.uncertainty [--tiny | --full] [TASKS]

Prints what `navigator stats uncertainty` says of each. Simulated: it shows that the page tells the two apart, and nothing about
a model.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.size import sized
from navigator.actions.registry import perform
from navigator.cli.session import locked_dependencies
from navigator.config.paths import CONFIG_VARIABLE, StatePaths
from navigator.engine.conductor import Conductor, RunOptions
from navigator.figures.queries import entropy_ranks
from navigator.figures.rates import Relation, relation
from navigator.rehearsal.samples import sample_projects
from tests.journey.support import make_repository
from tests.scripted.tasks import notes

SETTINGS = """[generator]
model = "rehearsal/Qwen3.5-35B-A3B"
logprobs = true
[reviewer]
model = "rehearsal/Qwen3.5-122B-A10B"
[swap]
strategy = "rehearsal"
"""


def rehearsed(folder: Path, *, telling: bool, tasks: int) -> tuple[Relation, ...]:
    """One session to the first verdicts, and what its page has."""
    folder.mkdir()
    config = folder / "config.toml"
    config.write_text(SETTINGS, encoding="utf-8")
    os.environ[CONFIG_VARIABLE] = str(config)
    samples = sample_projects()[: sized(1, 12, 12)]
    with locked_dependencies(StatePaths(folder / "state").ensure(), time_scale=0.0) as deps:
        deps.servers.strategy._command = (sys.executable, "-m", "tests.scripted")  # type: ignore[attr-defined]
        if telling:
            deps.servers.strategy._options += ("--telling",)  # type: ignore[attr-defined]

        async def session() -> None:
            for sample in samples:
                path = make_repository(folder / "code" / sample.name, sample.files)
                await perform(deps, "project.add", {"path": str(path), "name": sample.name})
            await perform(deps, "task.add", {"tasks": notes(tasks, samples)})
            await Conductor(deps, RunOptions(until="reviewed")).run()

        asyncio.run(session())
        return tuple(map(relation, entropy_ranks(deps.reader)))


def main() -> None:
    """Both rehearsals."""
    tasks = int(sys.argv[1]) if len(sys.argv) > 1 else sized(2, 40, 160)
    with tempfile.TemporaryDirectory() as folder:
        for telling in (True, False):
            found = rehearsed(Path(folder) / str(telling), telling=telling, tasks=tasks)
            print(f"probabilities that {'know' if telling else 'do not know'} of faults:")
            for one in found:
                limits = f"[{one.low:.2f}-{one.high:.2f}], {one.revise} REVISE of {one.n}"
                shown = "related" if one.related else "not shown"
                print(f"  {shown}: AUC {'unknown' if one.auc is None else f'{one.auc:.2f}'} {limits}")


if __name__ == "__main__":
    main()
