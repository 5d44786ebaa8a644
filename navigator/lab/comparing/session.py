"""A comparison from its folder to its figures: agree on the plan, run what is left, count."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from navigator.cascade.dependencies import Dependencies
from navigator.cascade.swapping import resident_now
from navigator.lab.comparing.arms import ARMS, Actor, Arm, swaps_expected, turns_taken
from navigator.lab.comparing.journal import Journal, LabTask, Plan
from navigator.lab.comparing.result import ArmResult, PairResult, arm_result, pairs
from navigator.lab.comparing.running import Comparison
from navigator.lab.comparing.turns import Turns, simulated
from navigator.model.errors import UsageError
from navigator.model.states import Role
from navigator.model.text import plural

MOST_SWAPS = 4
"""Of a whole comparison."""

_PROMPTS = ("generate", "repair", "review", "review-again", "revise")


@dataclass(frozen=True)
class Finished:
    """A comparison's figures.

    Attributes:
        swaps: of all its runs; `simulated`: what answered was no model.
        passed: by arm, the tasks and whether their tests passed.
        answers: by arm and task, the last answer that was written.
        results: by arm and task, the tree that was tested.
    """

    arms: tuple[ArmResult, ...]
    pairs: tuple[PairResult, ...]
    swaps: int
    swap_seconds: float
    simulated: bool
    passed: Mapping[str, Mapping[str, bool]]
    answers: Mapping[str, Mapping[str, str]]
    results: Mapping[str, Mapping[str, str]]

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
    *,
    rounds: int,
    adapters: tuple[str, str] | None,
    report: Callable[[str], None],
) -> Finished:
    """Run what is left of a comparison, and count.

    Args:
        adapters: the model names of the writing and of the reading adapter on the generator's server, for the arm of that name.

    Raises:
        UsageError: it would take more than four swaps.
        Conflict: what is kept was begun otherwise.
    """
    arms = [ARMS[name] for name in names]
    actors = actors_of(adapters)
    turns = Turns(deps, journal, actors)
    wanted = sorted({letter for arm in arms for letter in (arm.writer, arm.reader) if letter})
    models = {one: actors[one].model or deps.settings.server(actors[one].role).model for one in wanted}
    prompts = {name: deps.prompts.get(name).version for name in _PROMPTS}
    plan = Plan(
        arms=tuple(names),
        rounds=rounds,
        models=models,
        prompts=prompts,
        simulated=simulated([actors[one] for one in wanted], turns),
    )
    if problem := await deps.strategy.prepare():
        report(problem)
    most = (
        0
        if deps.strategy.both_resident
        else await _swaps(deps, arms, actors, rounds, begun=bool(journal.turns))
    )
    journal.agree(plan)
    report(f"at most {plural(most, 'swap')}")
    running = Comparison(turns, tasks, arms, rounds, most, report)
    try:
        await running.run()
    finally:
        await turns.close()
    return _counted(running, plan)


def actors_of(adapters: tuple[str, str] | None) -> dict[str, Actor]:
    """Who takes turns, by letter."""
    found = [Actor("g", Role.GENERATOR), Actor("r", Role.REVIEWER)]
    if adapters is not None:
        found += [Actor("a", Role.GENERATOR, adapters[0]), Actor("b", Role.GENERATOR, adapters[1])]
    return {actor.letter: actor for actor in found}


async def _swaps(
    deps: Dependencies, arms: Sequence[Arm], actors: Mapping[str, Actor], rounds: int, *, begun: bool
) -> int:
    loaded = await resident_now(deps.strategy)
    most = swaps_expected(arms, actors, rounds, loaded)
    # What was begun goes on whatever is loaded now: the swaps of all its runs are told.
    if most > MOST_SWAPS and not begun:
        raise UsageError(
            f"This comparison would take {most} swaps, and may take {MOST_SWAPS}.",
            hint="Lower --rounds, or load the generator first: `navigator swap to generator`.",
        )
    return most


def _counted(done: Comparison, plan: Plan) -> Finished:
    turns, journal = done.turns, done.turns.journal
    passed: dict[str, dict[str, bool]] = {}
    answers: dict[str, dict[str, str]] = {}
    results: dict[str, dict[str, str]] = {}
    arms = []
    for arm in done.arms:
        paths = {task.key: turns_taken(arm, turns.revise(task), done.rounds) for task in done.tasks}
        results[arm.name] = {task.key: done.final[task.key, arm.name] for task in done.tasks}
        passed[arm.name] = {key: journal.runs[key, tree].passed for key, tree in results[arm.name].items()}
        answers[arm.name] = {
            key: turns.made[key, [path for path in taken if len(path) % 2][-1]].text
            for key, taken in paths.items()
        }
        usages = [
            answer.usage
            for (key, path, _), answer in journal.answers.items()
            if path in set(paths.get(key, ()))
        ]
        alone = 0
        if not turns.deps.strategy.both_resident:
            longest = max((len(taken) for taken in paths.values()), default=1) - 1
            two = arm.reader and turns.actors[arm.writer].role is not turns.actors[arm.reader].role
            alone = longest if two else 0
        arms.append(
            arm_result(arm.name, list(passed[arm.name].values()), usages, list(paths.values()), alone)
        )
    return Finished(
        arms=tuple(arms),
        pairs=tuple(pairs(passed)),
        swaps=len(journal.swaps),
        swap_seconds=round(sum(swap.seconds for swap in journal.swaps), 1),
        simulated=plan.simulated,
        passed=passed,
        answers=answers,
        results=results,
    )
