"""`navigator lab bench`: twenty small functions, written and executed."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from navigator.cli import output
from navigator.cli.lab.compare import share_words, tell
from navigator.cli.session import locked_dependencies, state_paths
from navigator.config.paths import private_folder, state_dir
from navigator.figures.intervals import share
from navigator.lab.comparing.journal import ARMS

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies
    from navigator.lab.comparing.journal import Journal
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
    """Have twenty small Python functions written, and run their tests.

    Twenty tasks tell working from broken; they cannot tell two good models apart. `navigator lab compare` is for that.
    """
    from navigator.lab.comparing.journal import Journal

    names = arms or ("generator", "self-review")
    journal = Journal(private_folder(private_folder(state_dir() / "lab") / "bench") / name)
    with locked_dependencies(state_paths()) as deps:

        async def whole() -> Finished:
            try:
                return await _run_bench(deps, journal, names, name)
            finally:
                await deps.close()

        done = asyncio.run(whole())
    tiers = {tier: [task.key for task in journal.tasks if task.complexity == tier] for tier in _TIERS}
    rows = [
        (arm, tier, share(sum(done.passed[arm][key] for key in keys), len(keys)))
        for arm in names
        for tier, keys in tiers.items()
    ]
    if as_json:
        found = [{"arm": arm, "tier": tier} | asdict(passed) for arm, tier, passed in rows]
        output.print_json({"name": name, "rows": found} | done.document())
        return
    tell(done)
    output.say()
    shown = [(arm, tier, share_words(passed)) for arm, tier, passed in rows]
    output.emit(output.table(("arm", "tier", "tests pass"), shown))


async def _run_bench(deps: Dependencies, journal: Journal, names: tuple[str, ...], name: str) -> Finished:
    from navigator.lab.comparing.journal import Tried
    from navigator.lab.comparing.session import compare
    from navigator.lab.comparing.tasks import as_task, bench_functions

    if not journal.chosen:
        known = {task.key for task in journal.tasks}
        for function in bench_functions():
            if function.key not in known:
                journal.add(await asyncio.to_thread(as_task, deps, function))
        journal.add(Tried(key=""))
    words = ["lab", "bench", "--name", name, *(word for arm in names for word in ("--arm", arm))]
    return await compare(deps, journal, journal.tasks, names, 1, None, "bench", words, output.note)
