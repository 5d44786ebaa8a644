"""The conductor's hold on the reviewer's exam: which items are left, what they may cost, which are being asked, and that
more are prepared.

In memory only. What was answered is in the store; an item that a crash or real work cut off has no answer, and is asked again.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any

from pydantic import BaseModel

from navigator.client.body import same_model
from navigator.client.errors import ServingError
from navigator.config.file import is_rehearsal
from navigator.figures.caught import names_place
from navigator.journey.dependencies import Dependencies
from navigator.journey.recovery import Storage
from navigator.journey.review import prompt_dependencies, read_change
from navigator.journey.reviewing.precedents import ChangeWords
from navigator.journey.reviewing.prompt import shown_precedents
from navigator.journey.subject import Change, read_subject
from navigator.model.errors import NavigatorError
from navigator.model.models import CheckResult, Project, Proposal, Review, Task, utc_now
from navigator.model.records import ExamAnswer, ExamItem
from navigator.model.snapshot import ExamView
from navigator.model.states import PAST, CheckOutcome, ExamSource, Role
from navigator.schedule.swap_rule import items_with_room
from navigator.store.database import is_low
from navigator.store.errors import StoreError
from navigator.store.reads.exam import Precedent
from navigator.store.reads.reader import Reader

# Asks the reviewer about one item of the exam, by the very path of a normal review; only the answer is kept.

_ALONE = (*PAST, ExamSource.SYNTHETIC)
"""Sources of items that no precedent of the project is about."""

AT_ONCE = 4
"""Items that the writer's model is asked at once."""

_KEPT = ExamAnswer.model_fields.keys() & Review.model_fields.keys()
"""What an answer has of the review."""

_GATES = ("edits apply", "files parse", "path policy")


async def ask_item(
    deps: Dependencies, item_id: int, *, plain: bool = False, role: Role = Role.REVIEWER
) -> None:
    """Have the loaded reviewer read one item, and keep its answer.

    Args:
        plain: without the project's precedents, to compare.
        role: the generator's model is asked the same way.

    Raises:
        ServingError: it did not answer; the item is asked again.
    """
    item = deps.reader.exam_item(item_id)
    subject = await exam_subject(deps, item)
    if plain:
        subject = replace(subject, precedents=())
    review, _ = await read_change(deps, subject, role)
    held = shown_precedents(
        prompt_dependencies(deps, role), subject.precedents, ChangeWords.of(subject.files)
    )
    answer = review.model_dump(include=_KEPT) | {
        "item_id": item.id,
        "named": names_place(item, review.findings, subject.files),
        "precedents": tuple(sorted(one.id for one in held)),
        "role": role,
    }
    with deps.store.transaction() as tx:
        tx.add_exam_answer(ExamAnswer.model_validate(deps.redact.data(answer)))


def _asked(reader: Reader) -> list[ExamItem]:
    """The items of projects that were not removed."""
    projects = {project.id for project in reader.projects()}
    return [item for item in reader.exam_items() if item.project_id in projects]


async def ask_writer(deps: Dependencies, most: int) -> int:
    """Ask the writer's model items that it has no answer to, those that the reviewer answered first; returns how many.

    Raises:
        ServingError: it did not answer; what it answered before is kept.
    """
    version, model = deps.prompts.get("review").version, deps.settings.generator.model
    given = deps.reader.exam_given(version)
    done = {
        one.item_id
        for one in given
        if one.role is Role.GENERATOR and (same_model(model, one.model) or is_rehearsal(one.model))
    }
    shared = {one.item_id for one in given if one.role is Role.REVIEWER}
    left = [item for item in _asked(deps.reader) if item.id not in done]
    halves = [[item for item in left if (item.id in shared) is known] for known in (True, False)]
    order = [one for half in halves for one in in_order(((item.id, item.faulty) for item in half), version)]
    for start in range(0, min(most, len(order)), AT_ONCE):
        chunk = order[start : min(most, start + AT_ONCE)]
        await asyncio.gather(*(ask_item(deps, one, role=Role.GENERATOR) for one in chunk))
    return min(most, len(order))


async def exam_subject(deps: Dependencies, item: ExamItem) -> Change:
    """The item as a review sees a proposal: a task and a proposal that are in no table, and the diff from git."""
    project = deps.reader.project(item.project_id)
    private = await asyncio.to_thread(deps.repositories.private, project)
    task = unstored_task(project, item)
    checks = usual_checks(deps.reader, project)
    proposal = unstored_proposal(
        project, item.base_commit, item.tree, round=0, checks=checks, title=item.title
    )
    subject = await deps.repositories.locked(
        project.id, read_subject, private, project, task, proposal, exam_item=item.id
    )
    held = () if item.source in _ALONE else tuple(deps.reader.precedents(project.id))
    return replace(subject, precedents=held)


def unstored_task(project: Project, words: BaseModel) -> Task:
    """A task that is in no table."""
    now = utc_now()
    said = words.model_dump(include={"text", "kind"})
    return Task(id="", project_id=project.id, project=project.name, created=now, updated=now, **said)


def unstored_proposal(project: Project, base: str, tree: str, **fields: Any) -> Proposal:
    """A proposal that is in no table."""
    place = {"project_id": project.id, "project": project.name, "base_commit": base, "tree": tree}
    return Proposal.model_validate({"id": "", "task_id": "", "attempt": 0} | place | fields)


def usual_checks(reader: Reader, project: Project) -> tuple[CheckResult, ...]:
    """What the checks say of a proposal of this project in which nothing failed: the same for every item.

    Those of the newest reviewed proposal, word for word; before there is one, what it would say.
    """
    if found := reader.usual_checks(project.id):
        return found
    tests = CheckResult(name="tests", outcome=CheckOutcome.UNTESTED, detail="no test command")
    if project.check.strip():
        passed = reader.passed_baseline(project.id)
        tests = CheckResult(name="tests", outcome=CheckOutcome.PASSED, detail=passed)
    return (*(CheckResult(name=name, outcome=CheckOutcome.PASSED) for name in _GATES), tests)


PAUSE = 600.0
"""Seconds without the exam after the reviewer did not answer: whether a server is well is for real work to find out."""

_READS = 10
"""Changes of items that are read from git in one step: the conductor does nothing else meanwhile."""

log = logging.getLogger(__name__)


class ExamQueue:
    """One session's exam."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._running: dict[int, asyncio.Task[None]] = {}
        self._asked = 0
        self._since = 0
        self._resident = False
        self._marker: tuple[object, ...] = ()
        self._open: tuple[int, ...] = ()
        self._plain: set[int] = set()
        self._broken: set[int] = set()
        self._changes: dict[int, ChangeWords] = {}
        self._reads, self._later = 0, False
        self._not_before = 0.0

    @property
    def running(self) -> int:
        """How many items are being asked."""
        return len(self._running)

    @property
    def asked(self) -> int:
        """How many more the developer asked for."""
        return self._asked

    def ask_for(self, items: int) -> int:
        """Ask so many items whatever their share; returns how many there are to ask."""
        there = self.left()
        while self._later:
            there = self.left()
        self._asked = min(items, len(there))
        return self._asked

    def left(self) -> tuple[int, ...]:
        """Items to ask of the present reviewer under the present prompt, in their order."""
        deps = self._deps
        version = deps.prompts.get("review").version
        marker = (*deps.reader.exam_marker(), version)
        if marker != self._marker or self._later:
            self._open, self._marker = self._find(version), marker
        out = self._running.keys() | self._broken
        return tuple(item for item in self._open if item not in out)

    def _find(self, version: str) -> tuple[int, ...]:
        """What the store says is left to ask, in order; those of `_plain` without precedents."""
        deps = self._deps
        items = _asked(deps.reader)
        if not items:
            return ()
        given: defaultdict[int, list[ExamAnswer]] = defaultdict(list)
        for answer in deps.reader.exam_given(version):
            if answer.role is Role.REVIEWER:
                given[answer.item_id].append(answer)
        model = deps.settings.reviewer.model
        new: list[ExamItem] = []
        self._plain, self._later, self._reads = set(), False, _READS
        held = {item.project_id: deps.reader.precedents(item.project_id) for item in items}
        for item in items:
            # A rehearsal's reviewer has a name of its own, whatever the settings call it.
            mine = [one for one in given[item.id] if same_model(model, one.model) or is_rehearsal(one.model)]
            shown = self._shown(item, held[item.project_id])
            if shown is None:
                self._later = True
                continue
            with_them = [one for one in mine if one.precedents == shown]
            if not with_them or (shown and not any(not one.precedents for one in mine)):
                new.append(item)
                if with_them:
                    self._plain.add(item.id)
        return in_order(((item.id, item.faulty) for item in new), version)

    def _shown(self, item: ExamItem, held: Sequence[Precedent]) -> tuple[int, ...] | None:
        """The numbers of the precedents that an item is asked with now; None where its change is still to be read."""
        if not held or item.source in _ALONE or item.id in self._broken:
            return ()
        try:
            if item.id not in self._changes:
                if not self._reads:
                    return None
                self._reads -= 1
                private = self._deps.repositories.private(self._deps.reader.project(item.project_id))
                self._changes[item.id] = ChangeWords.of(private.diff(item.base_commit, item.tree))
        except NavigatorError:
            log.exception("exam item %d cannot be read", item.id)
            self._broken.add(item.id)
            return ()
        rules = prompt_dependencies(self._deps, Role.REVIEWER)
        return tuple(sorted(one.id for one in shown_precedents(rules, held, self._changes[item.id])))

    def view(self, *, loaded: bool) -> ExamView:
        """What the scheduler is told. `loaded`: the reviewer answers now."""
        deps, settings = self._deps, self._deps.settings.exam
        if loaded and not self._resident:
            self._since = deps.reader.last_number("calls")
        self._resident = loaded
        if not loaded:
            return ExamView(running=self.running, asked=self._asked)
        left = self.left()
        if not left and not self._later:
            self._asked = 0
        if not left or monotonic() < self._not_before:
            return ExamView(running=self.running)
        room = 0
        if settings.share:
            spent = deps.reader.reviewer_tokens(self._since)
            room = items_with_room(settings.share, spent.reviews, spent.calls, spent.exam, spent.before)
        return ExamView(
            waiting=left,
            running=self.running,
            room=max(0, room - self.running),
            asked=self._asked,
        )

    async def ask(self, item_id: int) -> None:
        """Ask about one item. Whatever becomes of it, no work and no server is judged by it.

        An item whose answer does not come stays to be asked, after a pause; one that cannot be asked at all, because its
        repository or its commits are gone, is left out for this session.
        """
        try:
            await ask_item(self._deps, item_id, plain=item_id in self._plain)
        except (ServingError, StoreError) as error:
            log.warning("exam item %d was not answered: %s", item_id, error)
            self._not_before, self._asked = monotonic() + PAUSE, 0
        except Exception:
            log.exception("exam item %d cannot be asked", item_id)
            self._broken.add(item_id)

    def begin(self, item_id: int, task: asyncio.Task[None]) -> None:
        """Note that `task` asks about an item: it is among `running` until it ends."""
        self._running[item_id] = task
        self._asked = max(0, self._asked - 1)
        task.add_done_callback(lambda _: self._running.pop(item_id, None))

    def make_room(self, slots: int) -> None:
        """Cut off items, the latest first, until no more than `slots` are being asked: real work goes first."""
        surplus = max(0, len(self._running) - max(0, slots))
        for task in list(self._running.values())[::-1][:surplus]:
            task.cancel()


def in_order(items: Iterable[tuple[int, bool]], seed: str) -> tuple[int, ...]:
    """Faulty and clean items by turns, each kind in a random order that the seed gives; which kind comes first, too."""

    def drawn(number: int) -> bytes:
        return hashlib.sha256(f"{seed} {number}".encode()).digest()

    kinds: dict[bool, list[int]] = {True: [], False: []}
    for number, faulty in items:
        kinds[faulty].append(number)
    for numbers in kinds.values():
        numbers.sort(key=drawn)
    first = drawn(0)[0] % 2 == 0
    pairs: list[int] = []
    for place in range(max(len(kinds[True]), len(kinds[False]))):
        pairs += [number for kind in (first, not first) for number in kinds[kind][place : place + 1]]
    return tuple(pairs)


# Prepares items beside the work.

ACCEPTED = "exam_accepted"
"""The key under which it is kept that the user wants an exam."""

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
            from navigator.exam.making import prepare_project

            began = monotonic()
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
            left[project.id] -= monotonic() - began
        swapped.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(swapped.wait(), _BETWEEN)
