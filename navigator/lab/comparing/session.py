"""A comparison from its folder to its figures: agree on the plan, run what is left, count."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from navigator.engine.swapping import confirmed, resident_now
from navigator.figures.compared import ArmResult, PairResult, arm_result, pairs
from navigator.journey.checking import SCRATCH, CheckSetup, run_tree
from navigator.journey.dependencies import Dependencies
from navigator.journey.servers import ModelServers
from navigator.lab.comparing.journal import (
    ARMS,
    Actor,
    Arm,
    Journal,
    LabTask,
    Setting,
    Swapped,
    TreeTests,
    most_turns,
    next_turn,
    turns_taken,
)
from navigator.lab.comparing.tasks import judged_tree
from navigator.lab.comparing.turns import Turns, simulated
from navigator.lab.runs import recording
from navigator.model.errors import MissingPart
from navigator.model.states import CheckOutcome, Role
from navigator.model.text import plural
from navigator.sandbox.probe import probe
from navigator.sandbox.suite import prepare
from navigator.sandbox.supervise import Limits

_PROMPTS = ("generate", "repair", "review", "review-again", "revise")


@dataclass(frozen=True)
class Finished:
    """A comparison's figures.

    Attributes:
        swaps: of all its runs; `simulated`: what answered was no model.
        passed: by arm, the tasks and whether their tests passed.
        answers: by arm and task, the last answer that was written.
    """

    arms: tuple[ArmResult, ...]
    pairs: tuple[PairResult, ...]
    swaps: int
    swap_seconds: float
    simulated: bool
    passed: Mapping[str, Mapping[str, bool]]
    answers: Mapping[str, Mapping[str, str]]

    def document(self) -> dict[str, object]:
        """As JSON."""
        return {
            "simulated": self.simulated,
            "swaps": self.swaps,
            "swap_seconds": self.swap_seconds,
            "arms": [asdict(arm) for arm in self.arms],
            "pairs": [asdict(pair) for pair in self.pairs],
            "tasks": [
                {"key": key, "passed": {arm: self.passed[arm][key] for arm in self.passed}}
                for key in next(iter(self.passed.values()), {})
            ],
        }


async def compare(
    deps: Dependencies,
    journal: Journal,
    tasks: Sequence[LabTask],
    names: Sequence[str],
    rounds: int,
    adapters: tuple[str, str] | None,
    kind: str,
    command: Sequence[str],
    report: Callable[[str], None],
) -> Finished:
    """Run what is left of a comparison, and count; it is noted as a run of the lab.

    Args:
        adapters: the model names of the writing and of the reading adapter on the generator's server, for the arm of that name.
        kind, command: of the run: "compare" or "bench", and the words after `navigator` that go on with it.

    Raises:
        Conflict: what is kept was begun otherwise.
    """
    arms = [ARMS[name] for name in names]
    actors = actors_of(adapters)
    turns = Turns(deps, journal, actors)
    wanted = sorted({letter for arm in arms for letter in (arm.writer, arm.reader) if letter})
    models = {one: actors[one].model or deps.settings.server(actors[one].role).model for one in wanted}
    prompts = {name: deps.prompts.get(name).version for name in _PROMPTS}
    plan = Setting(
        arms=tuple(names),
        rounds=rounds,
        models=models,
        prompts=prompts,
        simulated=simulated([actors[one] for one in wanted], turns),
    )
    if problem := await deps.servers.strategy.prepare():
        report(problem)
    journal.agree(plan)
    total = len(tasks) * most_turns(arms, rounds)
    about = f"{journal.folder.name}: {', '.join(names)}"
    with recording(kind, journal.folder, command, about=about) as record:
        running = Comparison(
            turns, tasks, arms, rounds, report, lambda: record.progress(len(journal.turns), total)
        )
        try:
            await running.run()
        finally:
            await turns.close()
        done = running.finished(plan)
        record.decided(sentence(done), simulated=SIMULATED if done.simulated else "")
        record.progress(total, total)
    return done


def actors_of(adapters: tuple[str, str] | None) -> dict[str, Actor]:
    """Who takes turns, by letter."""
    found = [Actor("g", Role.GENERATOR), Actor("r", Role.REVIEWER)]
    if adapters is not None:
        found += [Actor("a", Role.GENERATOR, adapters[0]), Actor("b", Role.GENERATOR, adapters[1])]
    return {actor.letter: actor for actor in found}


async def load(servers: ModelServers, to: Role, journal: Journal | None = None) -> None:
    """Swap to a model, and note the swap in `journal`.

    Raises:
        MissingPart: it is not loaded then.
    """
    for role in (Role.GENERATOR, Role.REVIEWER):
        await servers.forget(role)
    result, loaded = await confirmed(
        servers.strategy, to, await servers.strategy.swap(to, lambda event: None)
    )
    if journal is not None:
        journal.add(Swapped(to=to.value, seconds=round(result.seconds, 3), outcome=result.outcome))
    if loaded is not to:
        raise MissingPart(
            f"The {to.value} could not be loaded. {result.reason}",
            hint="`navigator swap status` shows what is loaded. Run the command again: it goes on.",
        )


# Runs a comparison: every turn that the loaded model can take, then one swap, until no turn is left; tests beside the models.


@dataclass
class Comparison:
    """Tasks by arms.

    Attributes:
        taken: called after each turn.
        loaded: the model that is there; None where that is unknown.
    """

    turns: Turns
    tasks: Sequence[LabTask]
    arms: Sequence[Arm]
    rounds: int
    report: Callable[[str], None]
    taken: Callable[[], None]
    loaded: Role | None = None
    final: dict[tuple[str, str], str] = field(default_factory=dict)
    _running: dict[tuple[str, str], asyncio.Task[None]] = field(default_factory=dict)

    async def run(self) -> None:
        """Take every turn, and run the tests on every result.

        Raises:
            ServingError: a model did not answer. MissingPart: it could not be loaded, or there is no sandbox.
        """
        strategy = self.turns.deps.servers.strategy
        sandbox = await asyncio.to_thread(probe)
        if not sandbox.works:
            raise MissingPart(f"There is no sandbox: {sandbox.reason}.", hint=sandbox.hint)
        self.loaded = await resident_now(strategy)
        try:
            while True:
                await self._all()
                wanted = {
                    self.turns.actors[path[-1]].role for task in self.tasks for path in self._next(task)
                }
                if not wanted:
                    break
                await self._swap(Role.GENERATOR if Role.GENERATOR in wanted else Role.REVIEWER)
            await asyncio.gather(*self._running.values())
        finally:
            for running in self._running.values():
                running.cancel()
            await asyncio.gather(*self._running.values(), return_exceptions=True)

    def finished(self, plan: Setting) -> Finished:
        """The figures, once every turn was taken."""
        turns, journal = self.turns, self.turns.journal
        passed: dict[str, dict[str, bool]] = {}
        answers: dict[str, dict[str, str]] = {}
        arms = []
        for arm in self.arms:
            paths = {task.key: turns_taken(arm, turns.revise(task), self.rounds) for task in self.tasks}
            passed[arm.name] = {
                task.key: journal.runs[task.key, self.final[task.key, arm.name]].passed for task in self.tasks
            }
            taken_turns = [journal.turns[key, path] for key, taken in paths.items() for path in taken]
            answers[arm.name] = {
                key: journal.turns[key, _last_draft(taken)].text for key, taken in paths.items()
            }
            arms.append(
                arm_result(
                    arm.name,
                    list(passed[arm.name].values()),
                    [turn.usage for turn in taken_turns],
                    list(paths.values()),
                )
            )
        return Finished(
            arms=tuple(arms),
            pairs=tuple(pairs(passed)),
            swaps=len(journal.swaps),
            swap_seconds=round(sum(swap.seconds for swap in journal.swaps), 1),
            simulated=plan.simulated,
            passed=passed,
            answers=answers,
        )

    def _next(self, task: LabTask) -> set[str]:
        """The turns that a task's arms wait for."""
        revise = self.turns.revise(task)
        paths = (next_turn(arm, revise, self.rounds) for arm in self.arms)
        return {path for path in paths if path is not None}

    def _here(self, path: str) -> bool:
        """Whether a turn can be taken now: its model is loaded."""
        both = self.turns.deps.servers.strategy.both_resident
        return self.loaded is not None and (both or self.loaded is self.turns.actors[path[-1]].role)

    async def _all(self) -> None:
        most = self.turns.deps.settings.server(self.loaded or Role.GENERATOR).max_inflight
        slots = asyncio.Semaphore(max(1, most))

        async def one(task: LabTask) -> None:
            async with slots:
                while paths := sorted(path for path in self._next(task) if self._here(path)):
                    for path in paths:
                        await self.turns.take(task, path)
                        self.taken()
            await self._try(task)

        try:
            async with asyncio.TaskGroup() as group:
                for task in self.tasks:
                    group.create_task(one(task))
        except ExceptionGroup as several:
            raise several.exceptions[0] from None  # the first one has a hint; the others are its like

    async def _swap(self, to: Role) -> None:
        deps = self.turns.deps
        self.report(f"loading the {to.value}")
        counts = self.loaded is not None and not deps.servers.strategy.both_resident
        await load(deps.servers, to, self.turns.journal if counts else None)
        self.loaded = to

    async def _try(self, task: LabTask) -> None:
        """Begin the tests of every arm that is at its end: they run while the models go on."""
        revise, known = self.turns.revise(task), self.turns.journal
        for arm in self.arms:
            if (task.key, arm.name) in self.final or next_turn(arm, revise, self.rounds) is not None:
                continue
            last = _last_draft(turns_taken(arm, revise, self.rounds))
            private, _ = await asyncio.to_thread(self.turns.place, task)
            tree = await asyncio.to_thread(judged_tree, private, task, known.turns[task.key, last].tree)
            self.final[task.key, arm.name] = tree
            if (task.key, tree) not in self._running and (task.key, tree) not in known.runs:
                self._running[task.key, tree] = asyncio.create_task(self._run(task, tree))

    async def _run(self, task: LabTask, tree: str) -> None:
        deps = self.turns.deps
        private, project = await asyncio.to_thread(self.turns.place, task)
        checks = deps.settings.checks
        setup = CheckSetup(
            project=project,
            private=private,
            limits=Limits(seconds=checks.timeout_seconds, memory_mb=checks.memory_mb),
            sandbox=await asyncio.to_thread(probe),
            without=False,
            scratch=deps.paths.root / SCRATCH,
        )
        async with deps.cpu_work.room_for_check():
            spec = await asyncio.to_thread(prepare, project, private, tree)
            done = await run_tree(deps.redact, setup, tree, spec)
        if not done.ran:
            raise MissingPart(f"{task.key}: the tests could not be run: {done.line}.")
        self.turns.journal.add(
            TreeTests(
                task=task.key,
                tree=tree,
                passed=done.outcome is CheckOutcome.PASSED,
                detail=done.line[:300],
            )
        )
        self.report(f"tested {plural(len(self.turns.journal.runs), 'result')}")


SIMULATED = "Simulated: no model answered. The figures say nothing about a real one."
_LEVEL = 0.05


def _last_draft(taken: Sequence[str]) -> str:
    return [path for path in taken if len(path) % 2][-1]


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
