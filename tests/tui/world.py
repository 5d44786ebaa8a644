"""A state folder with a day's work in it, made by the store's own writer. Deterministic to the byte of what is shown."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from navigator.config.paths import StatePaths
from navigator.model.models import (
    AppliedEdit,
    CheckResult,
    Decision,
    Finding,
    Landing,
    PolicyItem,
    Project,
    Proposal,
    Review,
    Swap,
    SwapPhase,
    Task,
    Usage,
)
from navigator.model.states import (
    CheckOutcome,
    Complexity,
    DecisionKind,
    LandingState,
    PolicyAction,
    Role,
    Rung,
    TaskKind,
    TaskState,
    Verdict,
)
from navigator.store.database import open_writer
from navigator.store.writes.writer import Store, Transaction
from tests.records import finding, proposed

NOW = datetime(2026, 11, 20, 14, 30, tzinfo=UTC)
"""When the pictures are drawn."""

_NAMES = """
atlas-web aurora-api billing cartographer dune-loader ember-cli fjord-sync granite-db harbor-proxy inkwell juniper
kestrel-bot lumen-auth meadow-ui nimbus-jobs orchard-search pinyon quill-docs raven-mailer sable-crypto tundra-metrics
umber-theme vesper-queue willow-forms
"""
NAMES = _NAMES.split()

GENERATOR = "Qwen/Qwen3.5-35B-A3B-GPTQ-Int4"
REVIEWER = "Qwen/Qwen3.5-122B-A10B-GPTQ-Int4"

_CLOCKS = (
    "navigator.store.writes.core.utc_now",
    "navigator.store.writes.projects.utc_now",
    "navigator.store.writes.proposals.utc_now",
    "navigator.store.writes.ledger.utc_now",
)


def stamp(moment: datetime) -> str:
    """A moment as the store writes it."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Clock:
    """The store's clock, set by hand; each reading is a millisecond later."""

    def __init__(self) -> None:
        self.moment = NOW - timedelta(days=20)

    def __call__(self) -> str:
        self.moment += timedelta(milliseconds=1)
        return stamp(self.moment)

    def ago(self, **length: float) -> None:
        self.moment = NOW - timedelta(**length)


@contextmanager
def store_clock() -> Iterator[Clock]:
    clock = Clock()
    with ExitStack() as patches:
        for name in _CLOCKS:
            patches.enter_context(patch(name, clock))
        yield clock


class Maker:
    """Short words for long transactions."""

    def __init__(self, tx: Transaction, clock: Clock) -> None:
        self.tx = tx
        self.clock = clock
        self._trees = itertools.count(1)

    def task(
        self,
        project: Project,
        text: str,
        kind: TaskKind = TaskKind.FIX,
        complexity: Complexity = Complexity.MEDIUM,
        files: Sequence[str] = (),
    ) -> Task:
        return self.tx.add_task(project.id, text, kind, complexity, files=files)

    def to(self, task: Task, *states: TaskState, reason: str = "", round: int | None = None) -> None:
        for state in states:
            self.tx.set_task_state(task.id, state, reason=reason if state is states[-1] else "", round=round)

    def propose(
        self,
        task: Task,
        added: int = 8,
        removed: int = 2,
        *,
        round: int = 0,
        paths: Sequence[str] = ("src/app.py",),
        policy: Sequence[tuple[str, str]] = (),
        failed: str = "",
        title: str = "",
        tree: str = "",
        base: str = "b" * 40,
        entropy: float | None = None,
    ) -> Proposal:
        said = {"name": "tests", "outcome": CheckOutcome.PASSED, "seconds": 12.4, "detail": "214 passed"}
        if failed:
            told = {"seconds": 9.1, "detail": "1 failed, 213 passed"}
            said = {"name": failed, "outcome": CheckOutcome.FAILED, **told}
        checks = [CheckResult.model_validate(said)]
        for name, seconds in (("syntax", 0.02), ("apply", 0.01)):
            checks.insert(0, CheckResult(name=name, outcome=CheckOutcome.PASSED, seconds=seconds))
        return self.tx.add_proposal(
            proposed(
                task_id=task.id,
                project_id=task.project_id,
                project=task.project,
                attempt=self.tx.read.task(task.id).attempt,
                round=round,
                base_commit=base,
                tree=tree or f"{next(self._trees):040x}",
                title=title or task.text.partition("\n")[0],
                edits=tuple(AppliedEdit(path=path, rung=Rung.EXACT) for path in paths),
                policy=tuple(
                    PolicyItem(rule=rule, path=path, action=PolicyAction.CONFIRM, detail=f"touches {path}")
                    for rule, path in policy
                ),
                checks=tuple(checks),
                added=added,
                removed=removed,
                prompt_version="generate@7f3c",
                model=GENERATOR,
                usage=Usage(prompt_tokens=14_200, completion_tokens=1_204, cached_tokens=11_000, seconds=8.2),
                entropy_mean=entropy,
            )
        )

    def review(
        self,
        proposal: Proposal,
        verdict: Verdict = Verdict.APPROVE,
        findings: Sequence[Finding] = (),
        *,
        stated: Verdict | None = None,
        self_review: bool = False,
    ) -> None:
        self.tx.add_review(
            proposal.id,
            Review(
                verdict=verdict,
                stated_verdict=stated or (verdict if verdict is not Verdict.UNREVIEWED else None),
                self_review=self_review,
                summary="Does what the task asks." if verdict is Verdict.APPROVE else "Not yet.",
                findings=tuple(findings),
                prompt_version="review@a91e",
                model=REVIEWER,
                usage=Usage(prompt_tokens=9_800, completion_tokens=420, cached_tokens=7_000, seconds=9.0),
                at=self.clock(),
            ),
        )

    def waiting(
        self,
        project: Project,
        text: str,
        verdict: Verdict = Verdict.APPROVE,
        findings: Sequence[Finding] = (),
        *,
        batch: str = "2026-11-20-a",
        self_review: bool = False,
        **proposal: object,
    ) -> Proposal:
        """A task written, checked, reviewed, and before the developer."""
        task = self.task(project, text)
        self.to(task, TaskState.GENERATING, TaskState.CHECKING)
        made = self.propose(task, **proposal)  # type: ignore[arg-type]
        self.to(task, TaskState.AWAITING_REVIEW, TaskState.REVIEWING)
        self.tx.set_batch([made.id], batch)
        self.review(made, verdict, findings, self_review=self_review)
        self.to(task, TaskState.AWAITING_APPROVAL)
        return made

    def decide(self, proposal: Proposal, kind: DecisionKind) -> None:
        self.tx.add_decision(proposal.id, Decision(kind=kind, tree=proposal.tree, at=self.clock()))
        if kind is DecisionKind.APPROVE:
            self.tx.set_task_state(proposal.task_id, TaskState.APPROVED)
            self.tx.set_landing(proposal.id, Landing(state=LandingState.PENDING, at=self.clock()))
        elif kind is DecisionKind.REJECT:
            self.tx.set_task_state(proposal.task_id, TaskState.REJECTED, reason="not now")

    def land(self, proposal: Proposal) -> None:
        self.decide(proposal, DecisionKind.APPROVE)
        landing = Landing(
            state=LandingState.LANDED,
            ref=f"refs/heads/navigator/{(proposal.batch or '2026-11-20-a')[:10]}",
            commit="c" * 40,
            at=self.clock(),
        )
        self.tx.set_landing(proposal.id, landing)
        self.tx.set_task_state(proposal.task_id, TaskState.LANDED)

    def call(self, task: Task, role: Role, tokens: int, seconds: float, purpose: str = "generate") -> None:
        number = self.tx.begin_call(
            role, task.id, purpose=purpose, model=GENERATOR if role is Role.GENERATOR else REVIEWER
        )
        self.clock.moment += timedelta(seconds=seconds)
        usage = Usage(prompt_tokens=12_000, completion_tokens=tokens, cached_tokens=9_000, seconds=seconds)
        self.tx.end_call(number, usage=usage)

    def swap(self, origin: Role | None, to: Role, wobble: float = 0.0) -> None:
        load = (24.8 if to is Role.REVIEWER else 14.4) + wobble
        took = {"drain": 0.4, "stop": 2.1, "start": 6.0, "load": load, "health": 8.9, "verify": 0.5}
        self.tx.add_swap(
            Swap(
                from_role=origin,
                to_role=to,
                strategy="systemd",
                started=self.clock(),
                phases=tuple(SwapPhase(name=name, seconds=seconds) for name, seconds in took.items()),
                seconds=sum(took.values()),
            )
        )


@contextmanager
def written(paths: StatePaths) -> Iterator[Maker]:
    """One transaction in a state folder, by the set clock."""
    with (
        closing(open_writer(paths.database)) as connection,
        store_clock() as clock,
        Store(connection).transaction() as tx,
    ):
        yield Maker(tx, clock)


def fill(paths: StatePaths) -> None:
    """A developer's day: history for the rates, what waits, what is in work, what ended today."""
    paths.database.touch(0o600)
    paths.database.write_bytes(_filled())


@cache
def _filled() -> bytes:
    """Its database, which takes a while."""
    with TemporaryDirectory() as folder:
        paths = StatePaths(Path(folder)).ensure()
        with written(paths) as make:
            _fill(make)
        return paths.database.read_bytes()


def _fill(make: Maker) -> None:
    tx, clock = make.tx, make.clock
    clock.ago(days=20)
    projects = {
        name: tx.add_project(
            name=name, path=f"/home/dev/src/{name}", root_commit=f"{index:040x}", check="pytest -q"
        )
        for index, name in enumerate(NAMES, 1)
    }
    _history(make, projects)
    _today(make, projects)
    tx.set_meta("resident", "generator")
    clock.ago(minutes=41)
    tx.event("resident", data={"role": "generator"})


def _history(make: Maker, projects: dict[str, Project]) -> None:
    """First verdicts of the weeks before, and the swaps they needed."""
    plan = (
        ("aurora-api", 24, 9),
        ("billing", 12, 5),
        ("dune-loader", 24, 7),
        ("granite-db", 40, 10),
        ("lumen-auth", 8, 1),
        ("quill-docs", 17, 2),
        ("vesper-queue", 31, 14),
    )
    kinds = list(TaskKind)
    for place, (name, total, revised) in enumerate(plan):
        for number in range(total):
            make.clock.ago(days=18 - place - number * 0.3 if number * 0.3 < 10 else 4, hours=place)
            task = make.task(projects[name], f"Earlier work {number + 1}", kinds[number % len(kinds)])
            make.to(task, TaskState.GENERATING, TaskState.CHECKING)
            revise = number * revised // total != (number + 1) * revised // total
            told = name == "granite-db"  # only there was it asked for
            proposal = make.propose(task, entropy=0.3 + number % 7 / 20 + revise / 10 if told else None)
            make.to(task, TaskState.AWAITING_REVIEW, TaskState.REVIEWING)
            make.review(proposal, Verdict.REVISE if revise else Verdict.APPROVE)
            make.to(task, TaskState.AWAITING_APPROVAL)
            make.land(proposal)
    for number in range(12):
        make.clock.ago(days=12 - number)
        make.swap(Role.GENERATOR, Role.REVIEWER, (number % 5) * 0.6)
        make.clock.ago(days=12 - number, minutes=-20)
        make.swap(Role.REVIEWER, Role.GENERATOR, (number % 3) * 0.3)


def _today(make: Maker, projects: dict[str, Project]) -> None:
    clock, p = make.clock, projects
    for hours, name, text in (
        (5.5, "granite-db", "Close the cursor when the pool is drained"),
        (5.2, "granite-db", "Name the column in the constraint error"),
        (4.9, "atlas-web", "Keep the query string across the login redirect"),
        (4.4, "tundra-metrics", "Round histogram buckets half up"),
    ):
        clock.ago(hours=hours)
        make.land(make.waiting(p[name], text, batch="2026-11-20-a"))
    clock.ago(hours=4.1)
    make.decide(make.waiting(p["juniper"], "Rewrite the parser with generators"), DecisionKind.REJECT)
    clock.ago(hours=4)
    task = make.task(p["pinyon"], "Port the build to the new toolchain")
    make.to(task, TaskState.GENERATING, TaskState.FAILED, reason="NO_MATCH in build/rules.mk after 2 repairs")
    clock.ago(hours=3.9)
    task = make.task(p["umber-theme"], "Derive the palette from one hue")
    make.to(task, TaskState.CANCELLED, reason="cancelled by the developer")

    def waits(hours: float, name: str, text: str, added: int, removed: int, *paths: str, **more: Any) -> None:
        clock.ago(hours=hours)
        make.waiting(p[name], text, added=added, removed=removed, paths=paths, **more)

    found = [finding(), finding(severity="minor")]
    careful = {"verdict": Verdict.REVISE, "findings": found, "policy": [("packaging", "pyproject.toml")]}
    files = ("billing/totals.py", "pyproject.toml")
    waits(3.2, "billing", "Round half-even in totals", 18, 6, *files, **careful)
    waits(3, "dune-loader", "Drop the dead feature flag", 0, 58, "loader/flags.py", "loader/main.py")
    waits(2.9, "dune-loader", "Type hints for the loader", 77, 70, "loader/main.py", "loader/io.py")
    waits(2.4, "quill-docs", "Fix heading anchors", 4, 4, "docs/anchors.md", verdict=Verdict.UNREVIEWED)
    path = "client/assemble.py"
    found = [finding(severity="nit", path=path)]
    waits(2.1, "aurora-api", "Retry with jitter in the client", 41, 12, path, findings=found)
    waits(1.9, "harbor-proxy", "Time out idle upgrades", 22, 3, "proxy/upgrade.go", failed="tests")
    text = "Constant-time compare in the token check"
    waits(1.5, "sable-crypto", text, 9, 4, "sable/token.py", self_review=True)
    clock.ago(hours=1.2)
    task = make.task(p["orchard-search"], "Which queries scan the whole index?", TaskKind.SCAN)
    make.to(task, TaskState.GENERATING)
    make.tx.set_task_state(task.id, TaskState.AWAITING_APPROVAL, report="Three of them do: …")

    clock.ago(minutes=12)
    for name, text in (
        ("aurora-api", "Cache the discovery document"),
        ("dune-loader", "Stream the manifest instead of reading it whole"),
        ("granite-db", "Explain the lock order in the docs"),
        ("kestrel-bot", "Do not answer one's own messages"),
        ("lumen-auth", "Refuse tokens without an audience"),
    ):
        task = make.task(p[name], text)
        make.to(task, TaskState.GENERATING, TaskState.CHECKING)
        make.propose(task)
        make.to(task, TaskState.AWAITING_REVIEW)
        make.call(task, Role.GENERATOR, 1_850, 10.2)
    clock.ago(minutes=6)
    task = make.task(p["cartographer"], "Project tiles beyond the antimeridian")
    make.to(task, TaskState.GENERATING)
    task = make.task(p["willow-forms"], "Say which field is wrong")
    make.to(task, TaskState.GENERATING, TaskState.CHECKING)
    make.propose(task)
    for name, text in (
        ("cartographer", "Draw labels after lines"),
        ("cartographer", "A test for the legend's order"),
        ("aurora-api", "Document the paging parameters"),
        ("nimbus-jobs", "Back off when the queue is empty"),
    ):
        make.task(p[name], text)


def many(paths: StatePaths, *, projects: int, proposals: int) -> None:
    """As many projects and waiting proposals as are asked for, all alike: for measuring, not for looking at."""
    with written(paths) as make:
        make.clock.ago(hours=2)
        made = [
            make.tx.add_project(name=f"project-{n:04}", path=f"/src/{n}", root_commit=f"{n:040x}")
            for n in range(projects)
        ]
        for n in range(proposals):
            verdict = (Verdict.APPROVE, Verdict.REVISE, Verdict.APPROVE, Verdict.UNREVIEWED)[n % 4]
            make.waiting(made[n % projects], f"Change number {n}", verdict, paths=(f"src/m{n}.py",))
