"""The sample repositories and their tasks, with what the models answer to each: read from the JSON files in `data`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from navigator.model.json_text import read_json
from navigator.model.states import Complexity, TaskKind

CHECK = "python3 -m unittest discover -s tests -q"
_QUESTIONS = frozenset({TaskKind.SCAN, TaskKind.ARCHITECTURE})


@dataclass(frozen=True, slots=True)
class SampleTask:
    """One task for one sample project, and what is answered.

    Attributes:
        project: the project's name.
        text, kind, complexity, files: as they are queued.
        order: its place in the queue; None for a task that only a scan suggests.
        answers: the writer's answers in order: looks, the first try, its repairs. A scan's is JSON.
        revised: its answers to the findings of each round.
        reviews: the reviewer's answers to the first proposal and to the revised one.
        tests: the reviewer's test for a finding, by the line that the finding quotes.
        cut: how many times its first answer breaks off.
    """

    project: str
    text: str
    kind: TaskKind
    complexity: Complexity
    files: tuple[str, ...]
    order: int | None
    answers: tuple[str, ...]
    revised: tuple[str, ...]
    reviews: tuple[dict[str, Any], ...]
    tests: dict[str, str]
    cut: int


@dataclass(frozen=True, slots=True)
class SampleProject:
    """One repository to be made: its files by path, the paths that get the executable bit, its tasks."""

    name: str
    files: dict[str, bytes]
    executable: frozenset[str]
    tasks: tuple[SampleTask, ...]
    check: str = CHECK


@cache
def sample_projects() -> tuple[SampleProject, ...]:
    """Every sample project, by name."""
    found = (one for one in resources.files("navigator.rehearsal").joinpath("data").iterdir())
    names = sorted((one for one in found if one.name.endswith(".json")), key=lambda one: one.name)
    return tuple(_project(read_json(one.read_bytes())) for one in names)


def sample_tasks(n: int, projects: Sequence[SampleProject]) -> list[SampleTask]:
    """Up to `n` tasks that change something, in their order."""
    return _ordered(projects, questions=False)[:n]


def sample_questions(projects: Sequence[SampleProject]) -> list[SampleTask]:
    """The tasks that change nothing: a scan whose suggestions are to be chosen from, and a report."""
    return _ordered(projects, questions=True)


def _ordered(projects: Sequence[SampleProject], *, questions: bool) -> list[SampleTask]:
    queued = [
        (task.order, task)
        for project in projects
        for task in project.tasks
        if task.order is not None and (task.kind in _QUESTIONS) == questions
    ]
    return [task for _, task in sorted(queued, key=lambda one: one[0])]


def _project(read: dict[str, Any]) -> SampleProject:
    latin = read.get("latin1", ())
    return SampleProject(
        name=read["name"],
        files={
            path: text.encode("latin-1" if path in latin else "utf-8") for path, text in read["files"].items()
        },
        executable=frozenset(read.get("executable", ())),
        tasks=tuple(_task(read["name"], task) for task in read["tasks"]),
    )


def _task(project: str, read: dict[str, Any]) -> SampleTask:
    return SampleTask(
        project=project,
        text=read["text"].strip(),
        kind=TaskKind(read["kind"]),
        complexity=Complexity(read["complexity"]),
        files=tuple(read["files"]),
        order=read.get("order"),
        answers=tuple(read["answers"]),
        revised=tuple(read.get("revised", ())),
        reviews=tuple(read.get("reviews", ())),
        tests=read.get("tests", {}),
        cut=read.get("cut", 0),
    )
