"""The share of prompts that a server's prefix cache holds, with tasks written in the order they came and project by project.

    python -m benchmarks.prefix_order [--tiny | --full] [--projects N] [--tasks N]

The prompts are those that Navigator sends for the demo's sample tasks; the order is that of the scheduler with eight requests in
flight, of which the oldest ends next. The cache is the rehearsal's: shared pages of 64 tokens, four characters to a token.
Simulated.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from collections import deque
from pathlib import Path

from benchmarks.size import sized
from navigator.cli.demo import _CONFIG, prepare
from navigator.cli.session import locked_dependencies
from navigator.config.paths import StatePaths
from navigator.git.source import TreeSource
from navigator.journey.prompts.assemble import prompt_for
from navigator.journey.prompts.material import new_base
from navigator.model.snapshot import Generate, SchedulerSnapshot, TaskView
from navigator.model.states import Role, TaskState
from navigator.rehearsal.server.engine import PrefixCache, estimate_tokens
from navigator.schedule import next_actions as rules

SLOTS = 8


def prompts_of(state: Path, projects: int, tasks: int) -> dict[TaskView, str]:
    """A prompt for each task, as it would be sent."""
    config = state / "config.toml"
    config.write_text(_CONFIG, encoding="utf-8")
    os.environ.update(NAVIGATOR_STATE=str(state), NAVIGATOR_CONFIG=str(config))
    prepare(StatePaths(state), projects=projects, tasks=tasks, seed=0)
    made: dict[TaskView, str] = {}
    with locked_dependencies(StatePaths(state)) as deps:
        found = deps.reader.tasks()
        random.Random(0).shuffle(found)
        for order, task in enumerate(found):
            project = deps.project(task.project_id)
            private = deps.private(project)
            source = TreeSource(private, new_base(project, private), project)
            prompt = prompt_for(deps, source, task, project, Role.GENERATOR)
            text = "".join(message["content"] for message in prompt.messages)
            made[TaskView(task.id, project.id, TaskState.QUEUED, 0, order, 0, 0, 0.0)] = text
    return made


def order_of(tasks: list[TaskView]) -> list[str]:
    """The order in which the scheduler starts them."""
    left, running, begun = {task.id: task for task in tasks}, deque[str](), list[str]()
    while len(begun) < len(tasks):
        snapshot = SchedulerSnapshot(
            tasks=tuple(left.values()),
            busy=frozenset(running),
            resident=Role.GENERATOR,
            capacity={Role.GENERATOR: SLOTS},
            until="idle",
        )
        for action in rules.next_actions(snapshot, 0.0):
            if isinstance(action, Generate):
                begun.append(action.task_id)
                running.append(action.task_id)
        del left[running.popleft()]
    return begun


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--projects", type=int, default=sized(1, 24, 24))
    parser.add_argument("--tasks", type=int, default=sized(4, 120, 120))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prompts = prompts_of(Path(folder), options.projects, options.tasks)
    texts = {task.id: text for task, text in prompts.items()}
    orders = {"grouped": order_of(list(prompts))}
    rules.MAY_OVERTAKE = 0
    orders["as they came"] = order_of(list(prompts))
    sizes = [estimate_tokens(text) for text in texts.values()]
    print(
        f"{len(texts)} prompts of {options.projects} projects, {sum(sizes) / len(sizes):,.0f} tokens each. SIMULATED."
    )
    print(f"{'cache':>9} {'as they came':>13} {'grouped':>9}")
    for capacity in (20_000, 50_000, 100_000, 200_000, 600_000):
        shares = {}
        for name, order in orders.items():
            cache = PrefixCache(capacity)
            for key in order:
                cache.admit(texts[key], estimate_tokens(texts[key]))
            shares[name] = cache.hit_rate
        print(f"{capacity:9,} {shares['as they came']:13.1%} {shares['grouped']:9.1%}")


if __name__ == "__main__":
    main()
