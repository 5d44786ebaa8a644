"""`navigator lab bench`: twenty small functions, by structure and by execution."""

from __future__ import annotations

import asyncio
from statistics import fmean
from typing import TYPE_CHECKING, Any

import click

from navigator.cli import output
from navigator.cli.lab.compare import noted, share_words
from navigator.cli.session import locked_dependencies, state_paths
from navigator.config.paths import private_folder, state_dir
from navigator.figures.intervals import share
from navigator.lab.comparing.journal import ARMS

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies
    from navigator.lab.comparing.session import Finished

_TIERS = ("simple", "medium", "complex")


@click.command()
@click.option(
    "--arm",
    "arms",
    multiple=True,
    type=click.Choice([name for name in ARMS if name != "adapters"]),
    help="Repeatable. Default: generator and self-review, which take no swap.",
)
@click.option("--name", default="bench", show_default=True, help="Its folder; the same name goes on with it.")
@output.JSON
def bench(arms: tuple[str, ...], name: str, as_json: bool) -> None:
    """Have twenty small Python functions written, and check them by structure, as published, and by running them.

    Twenty tasks tell working from broken; they cannot tell two good models apart. `navigator lab compare` is for that.
    """
    names = arms or ("generator", "self-review")
    with locked_dependencies(state_paths()) as deps:

        async def whole() -> tuple[Finished, list[dict[str, Any]]]:
            try:
                return await _run_bench(deps, names, name)
            finally:
                await deps.close()

        done, rows = asyncio.run(whole())
    if as_json:
        output.print_json({"name": name, "heuristic_ceiling": 80, "rows": rows} | done.document())
        return
    if done.simulated:
        output.say("SIMULATED: no model answered. The figures say nothing about a real one.", bold=True)
    output.emit(
        output.table(
            ("arm", "tier", "structure", "tests pass", "heuristic"),
            [
                (
                    row["arm"],
                    row["tier"],
                    row["structure_words"],
                    row["tests_words"],
                    f"{row['heuristic']:.0f}",
                )
                for row in rows
            ],
            right=(4,),
        )
    )
    output.say(
        "\nstructure: name, return, parameters and keywords, without running anything. heuristic: surface of the answer; it can"
        " reach 80 at most, though its scale was published as 0-100. Both are no measure of correctness."
    )


async def _run_bench(
    deps: Dependencies, names: tuple[str, ...], name: str
) -> tuple[Finished, list[dict[str, Any]]]:
    from navigator.git.source import TreeSource
    from navigator.lab.bench import bench_tasks, heuristic, structural
    from navigator.lab.comparing.functions import SOLUTION, as_task, function_repository
    from navigator.lab.comparing.journal import Journal, Tried

    journal = Journal(private_folder(private_folder(state_dir() / "lab") / "bench") / name)
    tasks = {task.key: task for task in bench_tasks()}
    if not journal.chosen:
        known = {task.key for task in journal.tasks}
        for task in tasks.values():
            if task.key not in known:
                journal.add(await asyncio.to_thread(as_task, deps, task.function()))
        journal.add(Tried(key=""))
    words = ["lab", "bench", "--name", name, *(word for arm in names for word in ("--arm", arm))]
    done = await noted("bench", deps, journal, journal.tasks, names, 1, None, words)
    private, project = function_repository(deps.paths.private)
    rows = []
    for arm in names:
        sound = {
            key: all(
                structural(
                    tasks[key],
                    (TreeSource(private, tree, project).read(SOLUTION) or b"").decode(errors="replace"),
                ).values()
            )
            for key, tree in done.results[arm].items()
        }
        for tier in ("all", *_TIERS):
            keys = [key for key in tasks if tier in ("all", tasks[key].tier)]
            structure = share(sum(sound[key] for key in keys), len(keys))
            tested = share(sum(done.passed[arm][key] for key in keys), len(keys))
            rows.append(
                {
                    "arm": arm,
                    "tier": tier,
                    "n": len(keys),
                    "structure": [structure.k, structure.low, structure.high],
                    "tests": [tested.k, tested.low, tested.high],
                    "structure_words": share_words(structure),
                    "tests_words": share_words(tested),
                    "heuristic": fmean(heuristic(done.answers[arm][key]) for key in keys),
                }
            )
    return done, rows
