"""Makes the exam's items from a project's history and from accepted changes. Each needs proof by the project's own tests."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from navigator.exam.candidates import (
    MOST_CHANGED,
    OutOfTime,
    Picked,
    Rejected,
    Trials,
    fixes,
    of_commits,
    of_proposals,
)
from navigator.exam.making import Maker, Pair, keep_name
from navigator.exam.mining import Commit, named_faulty, read_history
from navigator.git.facts import WORKTREE, read_base
from navigator.journey.checking import CheckSetup, baseline_of, check_setup
from navigator.journey.dependencies import Dependencies
from navigator.journey.storage_faults import Storage
from navigator.model.errors import NavigatorError
from navigator.model.models import Baseline, Project
from navigator.model.records import ExamItem, PreparedProject, SourceCount
from navigator.model.states import PAST, CheckOutcome, ExamSource
from navigator.sandbox.suite import passed_before
from navigator.store.database import is_low

ACCEPTED = "exam_accepted"
"""The key under which it is kept that the user wants an exam."""

_SOURCES = (ExamSource.REVERSED_FIX, ExamSource.MUTANT)


_PATIENCE, _TIMES = 20.0, 10.0
"""A trial's tests may take this many seconds, or as many times what they take on today's tree."""


class NoExam(NavigatorError):
    """Why a project can have no exam; the hint says what to do."""

    code = "exam_not_ready"


@dataclass
class _Progress:
    """One project's preparation: what is left to try, and what came of the rest."""

    limit: int
    found: dict[ExamSource, int]
    left: dict[ExamSource, deque[Commit | Picked]]
    known: dict[ExamSource, int]
    items: list[ExamItem]
    tried: Counter[ExamSource] = field(default_factory=Counter)
    kept: Counter[ExamSource] = field(default_factory=Counter)
    rejected: defaultdict[ExamSource, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    ended: str = ""

    def faulty(self, source: ExamSource | None = None) -> int:
        return sum(item.faulty and source in (None, item.source) for item in self.items)

    def next_source(self) -> ExamSource | None:
        """The source with the fewest items that has candidates left; None where nothing is left to do."""
        open_ = [source for source, ones in self.left.items() if ones]
        if self.faulty() >= self.limit or not open_:
            self.ended = "there are enough items" if open_ else "no candidates are left"
            return None
        return min(open_, key=self.faulty)

    def count(self, source: ExamSource) -> SourceCount:
        return SourceCount(
            found=self.found[source],
            known=self.known[source],
            tried=self.tried[source],
            kept=self.kept[source],
            rejected=dict(self.rejected[source]),
        )


async def prepare_project(
    deps: Dependencies,
    project: Project,
    *,
    limit: int | None = None,
    sources: Sequence[ExamSource] = (),
    seconds: float | None = None,
    behind: bool = False,
) -> PreparedProject:
    """Make items of one project.

    What keeps a project from having any is said in the result, not raised. It may be cancelled at any time: every result is
    stored before the next candidate is tried.

    Args:
        limit: faulty items the project is to have; by default that of the settings, like `seconds`, which test runs may take.
        sources: what to make; all where none is given.
        behind: end after the candidate under way when somebody else wants to prepare items.
    """
    deps.exams_wanted += 1
    try:
        async with deps.exam_lock:
            return await _prepare(
                deps,
                project,
                limit or deps.settings.exam.items,
                sources or _SOURCES,
                deps.settings.exam.prepare_seconds if seconds is None else seconds,
                behind=behind,
            )
    finally:
        deps.exams_wanted -= 1


async def _prepare(
    deps: Dependencies,
    project: Project,
    limit: int,
    sources: Sequence[ExamSource],
    seconds: float,
    *,
    behind: bool,
) -> PreparedProject:
    began = time.monotonic()
    try:
        maker = await maker_of(deps, project, seconds)
    except NavigatorError as error:
        return PreparedProject(project=project.name, problem=error.message, hint=error.hint)
    progress = _begin(deps, maker, limit, sources)
    while (source := progress.next_source()) is not None:
        if behind and deps.exams_wanted > 1:
            progress.ended = "another run takes over"
            break
        candidate = progress.left[source].popleft()
        try:
            await _try(maker, progress, source, candidate)
        except OutOfTime:
            progress.ended = "the time is used up; the next run continues"
            break
    return PreparedProject(
        project=project.name,
        sources={source.value: progress.count(source) for source in progress.left},
        faulty=progress.faulty(),
        clean=sum(not item.faulty for item in progress.items),
        runs=maker.trials.runs,
        seconds=round(time.monotonic() - began, 1),
        ended=progress.ended,
    )


async def maker_of(deps: Dependencies, project: Project, seconds: float) -> Maker:
    """What the trials need, once the project's tests pass on the commit that its work starts from.

    Raises:
        NavigatorError: there is no test command, no sandbox, or the tests fail already.
    """
    setup = await ready_setup(deps, project)
    facts = setup.private.facts
    async with deps.project_lock(project.id):
        base = "" if project.base == WORKTREE else project.base
        head = await asyncio.to_thread(read_base, project.path, base)
        tree = await asyncio.to_thread(setup.private.pin_base, head)
        commits = await asyncio.to_thread(read_history, facts, head, deps.settings.exam.history)
    doubted = named_faulty(commits)
    _tell_progress(deps, project, f"runs the tests on {head[:12]}")
    found = await baseline_of(deps, setup, tree)
    _require_passing(project, head, found)
    return Maker(
        deps=deps,
        project=project,
        private=setup.private,
        trials=Trials(deps, setup, seconds, max(_PATIENCE, _TIMES * found.seconds)),
        head=head,
        passed=passed_before(found) or None,
        against=f"{project.check}\n{found.environment}",
        commits=[commit for commit in commits if commit.sha not in doubted],
        known={(trial.source, trial.change): trial for trial in deps.reader.exam_trials(project.id)},
    )


async def ready_setup(deps: Dependencies, project: Project) -> CheckSetup:
    """A project's tests and sandbox, where both are there.

    Raises:
        NotReady: what is missing.
    """
    if not project.check.strip():
        raise NoExam(
            "It has no test command, and only a test proves a fault.",
            hint=f"`navigator project check {project.name}` proposes one.",
        )
    setup = await check_setup(deps, project)
    if setup.without:
        raise NoExam(
            "The sandbox is switched off, and code with planted faults runs nowhere else.",
            hint="Set `unsandboxed = false` under [checks].",
        )
    if not setup.sandbox.works:
        raise NoExam(f"There is no sandbox: {setup.sandbox.reason}.", hint=setup.sandbox.hint)
    return setup


def _require_passing(project: Project, head: str, found: Baseline) -> None:
    if found.outcome is not CheckOutcome.PASSED:
        line = found.detail.partition("\n")[0]
        raise NoExam(
            f"Its tests do not pass on {head[:12]} ({found.outcome.value}: {line}).",
            hint=f"Repair them first: `navigator project check {project.name}` shows the output.",
        )


def _begin(deps: Dependencies, maker: Maker, limit: int, sources: Sequence[ExamSource]) -> _Progress:
    """Everything that may become an item, less what is one and what was tried before with a result that still holds."""
    project = maker.project
    items = [
        item
        for item in deps.reader.exam_items(retired=True)
        if item.project_id == project.id and item.source not in (*PAST, ExamSource.SYNTHETIC)
    ]
    maker.used.update(item.origin.split(":")[2] for item in items)
    accepted = [
        deps.reader.proposal(number)
        for number in deps.reader.accepted_changes(
            project.id, most_lines=MOST_CHANGED, limit=deps.settings.exam.history
        )
    ]
    known = [(proposal, deps.reader.task(proposal.task_id)) for proposal in accepted]
    changes = [*of_proposals(known), *of_commits(maker.commits)]
    found: dict[ExamSource, list[Commit | Picked]] = {
        source: [*fixes(maker.commits)] if source is ExamSource.REVERSED_FIX else [*changes]
        for source in sources
    }
    left = {
        source: deque(
            one for one in ones if _key(one) not in maker.used and not maker.tried(source, _key(one))
        )
        for source, ones in found.items()
    }
    return _Progress(
        limit=limit,
        found={source: len(ones) for source, ones in found.items()},
        left=left,
        known={source: len(ones) - len(left[source]) for source, ones in found.items()},
        items=[item for item in items if not item.retired],
    )


def _key(candidate: Commit | Picked) -> str:
    return candidate.sha if isinstance(candidate, Commit) else candidate.key


async def _try(maker: Maker, progress: _Progress, source: ExamSource, candidate: Commit | Picked) -> None:
    """Try one candidate, and store what came of it with its items in one transaction.

    Raises:
        OutOfTime: nothing is stored.
    """
    key = _key(candidate)
    if key in maker.used:
        progress.known[source] += 1
        return
    runs, spent = maker.trials.runs, maker.trials.spent
    pair, reason = None, ""
    try:
        if isinstance(candidate, Commit):
            pair = await maker.reversed_fix(candidate)
        else:
            pair = await maker.in_change(candidate)
        await _keep(maker, pair)
    except Rejected as error:
        pair, reason = None, str(error)
    trial = maker.note(
        source,
        key,
        kept=pair is not None,
        reason=reason,
        runs=maker.trials.runs - runs,
        seconds=maker.trials.spent - spent,
    )
    with maker.deps.store.transaction() as tx:
        tx.set_exam_trial(trial)
        if pair is not None:
            number = tx.add_exam_item(pair.faulty)
            tx.add_exam_item(pair.clean.model_copy(update={"control_of": number}))
    progress.tried[source] += 1
    if pair is None:
        progress.rejected[source][reason] += 1
    else:
        progress.kept[source] += 1
        progress.items += [pair.faulty, pair.clean]
        maker.used.add(key)
    what = source.value.replace("_", " ")
    _tell_progress(
        maker.deps,
        maker.project,
        f"{what} of {key[:12]}: {'kept' if pair else reason} ({progress.faulty()} of {progress.limit})",
    )


async def _keep(maker: Maker, pair: Pair) -> None:
    """Hold the trees and bases before the rows name them: a crash between leaves only what `navigator gc` removes."""

    def hold() -> None:
        for item in (pair.faulty, pair.clean):
            maker.private.pin_base(item.base_commit)
            maker.private.keep(keep_name(item.origin), item.tree, item.base_commit)

    async with maker.deps.project_lock(maker.project.id):
        await asyncio.to_thread(hold)


def _tell_progress(deps: Dependencies, project: Project, said: str) -> None:
    deps.on_live({"exam": {"project": project.name, "said": said}})


log = logging.getLogger(__name__)

_FIRST = 60.0
"""Seconds until it begins: a session that is over by then prepares nothing."""

_BETWEEN = 600.0
"""Seconds between two rounds through the projects, unless a swap begins before."""


async def keep_preparing(deps: Dependencies, storage: Storage, swapped: asyncio.Event) -> None:
    """Make items of every project that can have some, until the session ends or its time for that is used up.

    Nobody has an exam who never asked for one: nothing is made before the first `navigator exam prepare`.

    Args:
        swapped: set when a swap begins, in which the CPU has the least to do: the next round begins at once then.
    """
    if not deps.settings.exam.share:
        return
    left: defaultdict[int, float] = defaultdict(lambda: float(deps.settings.exam.prepare_seconds))
    await asyncio.sleep(_FIRST)
    while True:
        for project in deps.reader.projects() if deps.reader.meta(ACCEPTED, bool) else ():
            if left[project.id] <= 0 or not project.check.strip() or is_low(deps.paths.root):
                continue
            began = time.monotonic()
            try:
                with storage.writing(f"the exam items of {project.name}"):
                    making = partial(prepare_project, deps, project, seconds=left[project.id], behind=True)
                    made = await deps.cpu_work.during("exam items", making)
                    if made.problem:
                        log.info("no exam items of %s: %s", project.name, made.problem)
            except Exception:
                # A defect here must not end the session that goes well without an exam.
                log.exception("preparing the exam of %s broke", project.name)
                left[project.id] = 0
            left[project.id] -= time.monotonic() - began
        swapped.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(swapped.wait(), _BETWEEN)
