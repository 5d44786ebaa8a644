"""`navigator lab compare` and `navigator lab bench`: ways of working on the same tasks, decided by tests."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from navigator.cli import output
from navigator.cli.command import AtLeast1, File, ProjectNames, Value, command, command_words
from navigator.cli.session import locked_dependencies, state_paths, take_config_projects
from navigator.config.paths import private_folder
from navigator.figures.compared import Duel, Tally, tally
from navigator.figures.intervals import ANECDOTAL_BELOW, Share
from navigator.lab.comparing.journal import ARMS, USUAL, Journal, Tried
from navigator.lab.comparing.tasks import as_task, bench_functions, read_functions, replayed
from navigator.lab.judging import ask, questions
from navigator.lab.runs import lab_folder
from navigator.model import patterns
from navigator.model.errors import UsageError
from navigator.model.states import Role
from navigator.model.text import plural

if TYPE_CHECKING:
    from navigator.config.paths import StatePaths
    from navigator.config.settings import Settings
    from navigator.figures.compared import Outlook
    from navigator.journey.dependencies import Dependencies
    from navigator.lab.comparing.journal import LabTask
    from navigator.lab.comparing.session import Finished
    from navigator.lab.comparing.tasks import Function


# `navigator lab compare --judge`: what blind judges say of the answers that were compared.


def require_judges(settings: Settings, judges: Sequence[str]) -> None:
    """Refuse judges without a server in the settings, and those of a rehearsal.

    Raises:
        UsageError: a judge cannot be used.
    """
    if settings.swap.strategy == "rehearsal" and set(judges) - {"final"}:
        raise UsageError(
            "A rehearsal has no judges.",
            hint="Set a strategy under [swap] and the judge's server in the settings.",
        )
    for role in judges:
        server = getattr(settings, role)
        if not (server.model and server.base_url):
            raise UsageError(
                f"The settings name no server for {role}.", hint="`navigator config show` prints them."
            )


async def judged(
    deps: Dependencies, judges: Sequence[str], tasks: Sequence[LabTask], done: Finished, journal: Journal
) -> Tally:
    """Ask the judges what they have not answered yet, the loaded one first, and count all votes.

    Raises:
        ServingError: a judge's server cannot be reached or refuses.
        MissingPart: its model could not be loaded.
    """
    from navigator.client.client import ModelClient
    from navigator.engine.swapping import resident_now
    from navigator.lab.comparing.session import load

    unreadable = 0
    swaps = not deps.servers.strategy.both_resident
    here = await resident_now(deps.servers.strategy) if swaps else None
    for role in sorted(dict.fromkeys(judges), key=lambda each: each != here):
        server = getattr(deps.settings, role)
        name = f"{role}: {server.model}"
        if not questions(tasks, done.answers, name, journal.votes):
            continue
        if swaps and role not in ("final", here):
            await load(deps.servers, Role(role))
            here = Role(role)
        async with ModelClient(server) as client:
            await client.require_model()
            unreadable += await ask(client, name, tasks, done.answers, journal, output.note)
    return tally(journal.votes, unreadable)


def tell_votes(found: Tally) -> None:
    """The tables, for people."""
    output.say()
    output.table(
        found.judges,
        ("judge", lambda each: each.name),
        ("pairs", lambda each: each.pairs),
        ("flips", lambda each: share_words(each.flips)),
        ("ties", lambda each: share_words(each.ties)),
        ("named the first", lambda each: share_words(each.first)),
        ("", lambda each: f"unusable: {each.unusable}" if each.unusable else ""),
    )
    output.say()
    for each in found.duels:
        _tell_duel(each)
    if found.agreement.n:
        output.say(f"All judges agreed on {share_words(found.agreement)} of the pairs that several saw.")
    if found.incomplete:
        output.say(f"{plural(found.incomplete, 'pair')} left out: seen in one order only.")
    if found.unreadable:
        output.say(
            f"{plural(found.unreadable, 'answer')} without a verdict, not counted; the same command asks again."
        )


def _tell_duel(found: Duel) -> None:
    output.say(
        f"{found.one} against {found.other}: {found.wins} won, {found.losses} lost, {found.ties} ties; won"
        f" {share_words(found.rate)}, sign test p = {found.p:.4g}.",
        bold=True,
    )
    if found.reason:
        output.say(f"  Unusable: {found.reason}.")


_NAME = patterns.compile(r"[A-Za-z0-9][\w.-]{0,60}")


_Judges = Annotated[tuple[str, ...], Value(type=click.Choice(["generator", "reviewer", "final"]))]


@command()
def compare(
    projects: ProjectNames = (),
    *,
    file: tuple[File, ...] = (),
    arm: Annotated[tuple[str, ...], Value(type=click.Choice(list(ARMS)))] = (),
    tasks: AtLeast1 = 60,
    rounds: Annotated[int, Value(type=click.IntRange(0, 2))] = 2,
    adapter: Annotated[tuple[str, str] | None, Value("WRITER READER")] = None,
    judge: _Judges = (),
    name: str = "",
    seconds: Annotated[float, Value(type=click.FloatRange(min=1))] = 3600.0,
    dry_run: bool = False,
) -> None:
    """Compare ways of working on the same tasks of PROJECTs, all if none is named. Tests in the sandbox decide.

    A task is a change that you landed, or a commit of the history, whose own tests fail without it. The whole comparison takes
    four swaps at most, five where the reviewer is loaded as it begins. Nothing lands. You can interrupt it: the same command
    continues, and asks nothing twice. It needs the models: stop a running conductor first.

    Args:
        file: Tasks of a JSONL file in the form of HumanEval or MBPP, alone or besides PROJECTs; repeatable.
        arm: What to compare; repeatable.
        tasks: Tasks of each project, or of the file.
        rounds: Revisions of a change at most.
        adapter: For the arm adapters: the names under which the generator's server has them.
        judge: Also have this role's model compare the answers in pairs, blind; repeatable.
        name: The comparison's name; use it again to continue.
        seconds: Time for the test runs that prove a project's tasks.
        dry_run: Choose the tasks and say what they can show, without asking a model.
    """
    from navigator.figures.compared import outlook
    from navigator.lab.comparing.session import compare as run

    names = arm or USUAL
    if ("adapters" in names) != (adapter is not None):
        raise UsageError(
            "The arm adapters and --adapter go together.", hint="E.g. --arm adapters --adapter write read."
        )
    called = name or "-".join([*projects, *(each.stem for each in file)]) or "all"
    if not _NAME.fullmatch(called):
        raise UsageError(
            f"{called} is not a valid folder name.",
            hint="Give a short one with --name: letters, digits, dots and dashes.",
        )
    take_config_projects()
    with locked_dependencies(state_paths()) as deps:
        require_judges(deps.settings, judge)
        journal = Journal(private_folder(lab_folder() / "compare") / called)

        async def whole() -> tuple[list[LabTask], Outlook, Finished | None, Tally | None]:
            try:
                chosen = await _tasks(deps, journal, projects, file, tasks, seconds)
                can = outlook(len(chosen))
                if chosen:
                    output.note(can.words())
                    if can.chance < 0.8:
                        output.note(_more_tasks(journal))
                if dry_run or not chosen:
                    return chosen, can, None, None
                words = command_words(arm=names, name=called)
                done = await run(deps, journal, chosen, names, rounds, adapter, "compare", words, output.note)
                return chosen, can, done, await judged(deps, judge, chosen, done, journal) if judge else None
            finally:
                await deps.servers.close()

        chosen, can, done, said = asyncio.run(whole())
    document: dict[str, Any] = {"name": called, "n": len(chosen), "power": can}
    document |= done.document() if done else {"tasks": chosen}
    document |= {"judging": said} if said else {}
    output.show(document, lambda _: _tell_all(chosen, done, said))
    if not chosen:
        raise UsageError(
            "There is no task with tests that fail without its change.",
            hint="Raise --seconds, or give a --file.",
        )


def _tell_all(chosen: list[LabTask], done: Finished | None, said: Tally | None) -> None:
    if done:
        tell(done)
    elif chosen:
        output.table(
            chosen,
            ("task", lambda task: task.key),
            ("kind", lambda task: task.kind.value),
            ("what", lambda task: task.text.partition("\n")[0][:80]),
        )
    if said:
        tell_votes(said)


async def _tasks(
    deps: Dependencies,
    journal: Journal,
    projects: tuple[str, ...],
    files: tuple[Path, ...],
    limit: int,
    seconds: float,
) -> list[LabTask]:
    """The tasks that were chosen before, else those that are chosen now."""
    if journal.chosen:
        return journal.tasks
    functions = [function for file in files for function in read_functions(file)[:limit]]
    await asyncio.to_thread(_add_functions, deps.paths, journal, functions)
    if projects or not files:
        held = deps.reader.projects()
        if not held:
            raise UsageError(
                "There is no project to take tasks from.",
                hint="`navigator project add PATH`, or give a --file.",
            )
        for project in [deps.reader.project(name) for name in projects] or held:
            await replayed(deps, project, limit, journal, seconds=seconds, report=output.note)
    if journal.tasks:
        journal.add(Tried(key=""))
    return journal.tasks


def _add_functions(paths: StatePaths, journal: Journal, functions: Iterable[Function]) -> None:
    """Add those that the journal does not have yet. Runs git."""
    known = {task.key for task in journal.tasks}
    for function in functions:
        if function.key not in known:
            journal.add(as_task(paths, function))


def _more_tasks(journal: Journal) -> str:
    """Where more tasks come from, and why there are no more."""
    reasons = Counter(reason for key, reason in journal.tried.items() if key).most_common(3)
    why = "; ".join(f"{count} × {reason}" for reason, count in reasons)
    return (
        (f"Left out: {why}. " if why else "")
        + "More tasks, under another --name: several PROJECTs at once; also --file HumanEval.jsonl (164) or mbpp.jsonl (974);"
        " a higher --tasks; more --seconds, which proving the tasks of a history takes."
    )


def tell(done: Finished) -> None:
    """The tables of a comparison, for people."""
    if done.simulated:
        output.say("SIMULATED: no model answered. The figures say nothing about a real one.", bold=True)
    output.table(
        done.arms,
        ("arm", lambda arm: arm.name),
        ("tests pass", lambda arm: share_words(arm.passed)),
        ("tokens", lambda arm: f"{arm.tokens:,}"),
        ("model time", lambda arm: output.duration(arm.seconds)),
        ("revised", lambda arm: arm.revised),
    )
    output.say()
    output.table(
        done.pairs,
        ("pair", lambda pair: f"{pair.first} – {pair.second}"),
        ("only the first", lambda pair: pair.first_only),
        ("only the second", lambda pair: pair.second_only),
        ("difference", lambda pair: f"{100 * pair.difference:+.1f}"),
        ("95 %", lambda pair: f"{100 * pair.low:+.1f} to {100 * pair.high:+.1f}"),
        ("p", lambda pair: f"{pair.p:.3g}"),
        ("p, all pairs", lambda pair: f"{pair.p_adjusted:.3g}"),
    )
    output.say()
    output.say(
        f"{plural(done.swaps, 'swap')} for the whole comparison ({output.duration(done.swap_seconds)}). p: exact"
        " McNemar test; the last column allows for the number of pairs (Holm)."
    )


def share_words(found: Share) -> str:
    """A rate with its interval and n."""
    if found.rate is None:
        return "–"
    note = ", anecdotal" if found.n < ANECDOTAL_BELOW else ""
    return f"{100 * found.rate:.1f}% [{100 * found.low:.1f}–{100 * found.high:.1f}], n = {found.n}{note}"


# `navigator lab bench`: twenty small functions, written and executed

_BenchArms = Annotated[
    tuple[str, ...], Value(type=click.Choice([name for name in ARMS if name != "adapters"]))
]


@command()
def bench(*, arm: _BenchArms = ()) -> None:
    """Have twenty small Python functions written, and run their tests.

    Twenty tasks tell working from broken; they cannot tell two good models apart. `navigator lab compare` is for that.

    Args:
        arm: Repeatable. Default: generator and self-review, which take no swap.
    """
    names = arm or ("generator", "self-review")
    journal = Journal(private_folder(lab_folder() / "bench") / "-".join(names))
    with locked_dependencies(state_paths()) as deps:
        done = asyncio.run(_run_bench(deps, journal, names))
    output.show(done.document(), lambda _: tell(done))


async def _run_bench(deps: Dependencies, journal: Journal, names: tuple[str, ...]) -> Finished:
    from navigator.lab.comparing.session import compare as run

    try:
        if not journal.chosen:
            await asyncio.to_thread(_add_functions, deps.paths, journal, bench_functions())
            journal.add(Tried(key=""))
        words = command_words(arm=names)
        return await run(deps, journal, journal.tasks, names, 1, None, "bench", words, output.note)
    finally:
        await deps.servers.close()
