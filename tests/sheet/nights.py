"""Nights to give an account of, made by the store's own writer: an ordinary one, a large one, one that failed, a hostile one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from navigator.config.paths import StatePaths
from navigator.model.models import Project, Reproduction, Swap
from navigator.model.states import (
    ReproductionOutcome,
    RevisedOutcome,
    Role,
    TaskState,
    Verdict,
)
from tests.records import finding
from tests.tui import world
from tests.tui.world import NAMES, NOW, Maker

EVENING = NOW.replace(hour=23, minute=10)
SINCE = world.stamp(EVENING)

EVIL = '"><script>alert(1)</script>\x1b]0;x\x07\u202e&amp;[link](http://evil.example)\n# ' + "x" * 300


def at(make: Maker, hour: int, minute: int = 0) -> None:
    """The next morning."""
    make.clock.moment = EVENING.replace(hour=hour, minute=minute) + timedelta(days=1)


def made(paths: StatePaths, tell: Callable[[Maker], None]) -> None:
    with world.written(paths) as make:
        make.clock.moment = EVENING
        tell(make)


def projects(make: Maker, names: list[str]) -> list[Project]:
    return [
        make.tx.add_project(name=name, path=f"/src/{number}", root_commit=f"{number:040x}", check="pytest")
        for number, name in enumerate(names)
    ]


def repaired(make: Maker, project: Project, text: str, message: str = "total([]) raises") -> None:
    """A change whose finding a test reproduced, and its revision, on which that test passes."""
    task = make.task(project, text)
    make.to(task, TaskState.GENERATING, TaskState.CHECKING)
    first, found = make.propose(task), finding(message=message)
    make.to(task, TaskState.AWAITING_REVIEW, TaskState.REVIEWING)
    make.review(first, Verdict.REVISE, [found])
    test = Reproduction(finding=0, outcome=ReproductionOutcome.REGRESSION, path="t.py", text="assert 0")
    make.tx.add_reproductions(first.id, 1, [found], [test])
    make.to(task, TaskState.REVISING, round=1)
    make.to(task, TaskState.GENERATING, TaskState.CHECKING)
    second = make.propose(task, round=1)
    make.tx.set_revised([(1, 0, RevisedOutcome.PASSES)], second.id)
    make.to(task, TaskState.AWAITING_REVIEW, TaskState.REVIEWING)
    make.review(second)
    make.to(task, TaskState.AWAITING_APPROVAL)


def ordinary(make: Maker) -> None:
    """Five projects; a finding repaired."""
    first, second, *rest = projects(make, NAMES[:5])
    repaired(make, first, "Round half-even in totals")
    make.waiting(second, "Retry with jitter", Verdict.REVISE, [finding(severity="minor", path="b/c.py")])
    for project in rest:
        make.waiting(project, f"Tidy {project.name}", paths=(f"{project.name}.py",))
    make.land(make.waiting(second, "Name the column"))
    nothing = make.task(first, "Is it there?")
    make.to(nothing, TaskState.GENERATING, TaskState.AWAITING_APPROVAL, reason="No change is needed: it is")
    make.call(nothing, Role.GENERATOR, 1_000, 60.0)
    make.swap(None, Role.REVIEWER)
    make.tx.event("conductor_ended", data={"reason": "7 wait for you"})


def large(make: Maker) -> None:
    """24 projects, 61 tasks."""
    held = projects(make, NAMES)
    for number in range(61):
        verdict = (Verdict.APPROVE, Verdict.APPROVE, Verdict.REVISE)[number % 3]
        make.waiting(
            held[number % len(held)], f"Change number {number} of some", verdict, paths=(f"{number}.py",)
        )


def failed(make: Maker) -> None:
    """At 3 o'clock the reviewer's server dies, then the disk is full; tests are broken and tasks fail."""
    first, second, third, fourth = projects(make, NAMES[:4])
    make.waiting(first, "Retry with jitter")
    at(make, 1)
    for project in (first, second, third):
        make.waiting(project, f"Break {project.name}", failed="tests", paths=(f"{project.name}.py",))
    at(make, 2)
    for number in range(5):
        task = make.task(fourth, f"Port the build, part {number}")
        make.to(task, TaskState.GENERATING, TaskState.FAILED, reason="NO_MATCH in build/rules.mk")
    at(make, 3)
    died = {"role": "reviewer", "failure": "out_of_memory", "detail": "CUDA out of memory", "deaths": 1}
    make.tx.event("server_died", data=died)
    at(make, 3, 2)
    make.tx.event("resident", data={"role": "reviewer"})
    at(make, 3, 10)
    make.tx.event("server_died", data=died | {"failure": "crashed", "detail": "Segmentation fault"})
    reason = "its server died 3 times; Segmentation fault"
    make.tx.event("given_up", data={"role": "reviewer", "reason": reason})
    at(make, 3, 20)
    problem = "http://127.0.0.1:30000 does not answer. Start it."
    for said in (problem, "", problem):
        make.tx.event("server_problem", data={"role": "generator", "problem": said})
    swap = Swap(to_role=Role.REVIEWER, strategy="systemd", started=make.clock(), outcome="failed")
    make.tx.add_swap(swap.model_copy(update={"reason": "load: no answer within 900 s"}))
    at(make, 4)
    make.tx.event("disk_low", data={"free_mb": 12})


def hostile(make: Maker) -> None:
    """Whatever a repository, a model or a server can name is EVIL."""
    (project,) = projects(make, [EVIL])
    repaired(make, project, EVIL, EVIL)
    found = finding(message=EVIL, path=EVIL)
    make.waiting(project, EVIL, Verdict.REVISE, [found], paths=(EVIL,), failed="tests")
    task = make.task(project, EVIL)
    make.to(task, TaskState.GENERATING, TaskState.FAILED, reason=EVIL)
    make.tx.event("server_problem", data={"role": "generator", "problem": EVIL})
    make.tx.event("server_died", data={"role": "reviewer", "failure": EVIL, "detail": EVIL, "deaths": 1})
