"""Makes the items of one candidate: the faulty change, proved by the tests, and the clean one that goes with it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import Any

from navigator.exam.candidates import OutOfTime, Picked, Rejected, Trials, harmless, neutral_words
from navigator.exam.faults import Fault
from navigator.exam.mining import (
    Commit,
    NotReversible,
    commit_of,
    corrected,
    planted,
    taken_back,
    why_withheld,
)
from navigator.git.private import FileChange, PrivateRepo
from navigator.journey.dependencies import Dependencies
from navigator.model.diff import FileDiff
from navigator.model.errors import NavigatorError
from navigator.model.models import Project, utc_now
from navigator.model.records import ExamItem, ExamTrial
from navigator.model.states import Complexity, ExamSource, TaskKind

_FAULTS_TRIED = 4
"""Faults of one change that are tried before the next change is."""

_CONTROLS_TRIED = 3


@dataclass(frozen=True)
class Pair:
    """A faulty item and its clean control, ready to be stored."""

    faulty: ExamItem
    clean: ExamItem


@dataclass
class Maker:
    """What making items of one project needs.

    Attributes:
        head: the commit that today's tests are taken from; `passed` is how many tests pass on it.
        against: digest of test command, sandbox and its mounts: what every result depends on.
        commits: the newest ones of the history.
        known: trials by (source, change); those of an earlier state of the project count as not made.
        used: changes that are items already, or may be no control for another reason.
    """

    deps: Dependencies
    project: Project
    private: PrivateRepo
    trials: Trials
    head: str
    passed: int | None
    against: str
    commits: Sequence[Commit]
    known: dict[tuple[ExamSource, str], ExamTrial] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def tried(self, source: ExamSource, change: str, *, kept: bool | None = None) -> bool:
        """Whether the result of a trial is known and would be the same today; with `kept` only such a result."""
        held = self.known.get((source, change))
        fits = held is not None and held.against == self._against(source)
        return fits and (kept is None or (held is not None and held.kept is kept))

    def note(
        self, source: ExamSource, change: str, *, kept: bool, reason: str, runs: int, seconds: float
    ) -> ExamTrial:
        """A trial's result, to be stored."""
        trial = ExamTrial(
            project_id=self.project.id,
            source=source,
            change=change,
            against=self._against(source),
            kept=kept,
            reason=reason,
            runs=runs,
            seconds=round(seconds, 3),
            at=utc_now(),
        )
        self.known[source, change] = trial
        return trial

    def _against(self, source: ExamSource) -> str:
        """What is taken back on today's tree depends on that, too."""
        today = self.head if source in (ExamSource.REVERSED_FIX, ExamSource.CLEAN) else ""
        return hashlib.sha256(f"{self.against}\n{today}".encode()).hexdigest()[:24]

    # Fixes taken back

    async def reversed_fix(self, commit: Commit) -> Pair:
        """Today's tree with a fix taken back, and a control of the same form.

        Raises:
            Rejected: no item comes of it. OutOfTime: the bound on test runs is reached.
        """
        tree = await self.take_back(commit)
        failing = await self.trials.failing(tree, self.passed)
        files = await asyncio.to_thread(self.private.diff, self.head, tree, 0)
        path, line, end_line = _largest_change(files)
        faulty = self._item(
            ExamSource.REVERSED_FIX,
            commit.sha,
            faulty=True,
            base=self.head,
            tree=tree,
            files=files,
            evidence={"made_from": f"commit {commit.sha[:12]} {commit.subject}", "failing": list(failing)}
            | {"form": "taken back", "places": places(files)},
        ).model_copy(update={"path": path, "line": line, "end_line": end_line})
        return Pair(faulty, await self._control(commit, tree, files))

    async def take_back(self, commit: Commit) -> str:
        """Today's tree without a commit.

        Raises:
            Rejected: it cannot be taken back, or the change may be shown to no model.
        """
        async with self.deps.project_lock(self.project.id):
            return await asyncio.to_thread(self._taken_back, commit)

    def _taken_back(self, commit: Commit) -> str:
        try:
            tree = taken_back(self.private, commit, self.head)
        except NotReversible as error:
            raise Rejected(str(error)) from error
        if why := why_withheld(self.private, self.project, self.head, tree, ""):
            raise Rejected(why)
        return tree

    async def _control(self, commit: Commit, tree: str, files: Sequence[FileDiff]) -> ExamItem:
        """A harmless commit taken back in the same way; where there is none, the same lines put back."""
        lines = sum(file.added + file.removed for file in files)
        near = [one for one in harmless(self.commits, lines) if one.sha not in self.used]
        # One that was found before a crash is found again: only its item was lost.
        untried = [one for one in near if not self.tried(ExamSource.CLEAN, one.sha, kept=False)]
        for other in untried[:_CONTROLS_TRIED]:
            runs, spent = self.trials.runs, self.trials.spent
            reason = ""
            try:
                found = await self._harmless(other)
            except OutOfTime:
                break
            except Rejected as error:
                reason = str(error)
            trial = self.note(
                ExamSource.CLEAN,
                other.sha,
                kept=not reason,
                reason=reason,
                runs=self.trials.runs - runs,
                seconds=self.trials.spent - spent,
            )
            with self.deps.store.transaction() as tx:
                tx.set_exam_trial(trial)
            if not reason:
                self.used.add(other.sha)
                return found
        async with self.deps.project_lock(self.project.id):
            base = await asyncio.to_thread(commit_of, self.private, tree)
            back = await asyncio.to_thread(self.private.diff, base, self.head, 0)
        return self._item(
            ExamSource.CLEAN,
            f"{commit.sha}:put-back",
            faulty=False,
            base=base,
            tree=self.private.tree_of(self.head),
            files=back,
            evidence={"made_from": f"commit {commit.sha[:12]} {commit.subject}", "form": "put back"},
        )

    async def _harmless(self, commit: Commit) -> ExamItem:
        tree = await self.take_back(commit)
        await self.trials.sound(tree)
        files = await asyncio.to_thread(self.private.diff, self.head, tree, 0)
        return self._item(
            ExamSource.CLEAN,
            commit.sha,
            faulty=False,
            base=self.head,
            tree=tree,
            files=files,
            evidence={"made_from": f"commit {commit.sha[:12]} {commit.subject}", "form": "taken back"},
        )

    # Faults in accepted changes

    async def in_change(self, change: Picked) -> Pair:
        """An accepted change with one fault that the tests find, and the change as it is.

        Raises:
            Rejected: no item comes of it. OutOfTime: the bound on test runs is reached.
        """
        async with self.deps.project_lock(self.project.id):
            tree, faults = await asyncio.to_thread(self._faults, change)
        passed = await self.trials.sound(tree)
        why = Rejected("no test fails")
        for fault in faults:
            content = FileChange(fault.text.encode("utf-8"))
            async with self.deps.project_lock(self.project.id):
                faulty = await asyncio.to_thread(self.private.write_tree, tree, {fault.path: content})
            try:
                failing = await self.trials.failing(faulty, passed)
            except Rejected as error:
                why = error
                continue
            return self._pair(change, (tree, faulty), fault, failing, passed)
        raise why

    def _faults(self, change: Picked) -> tuple[str, list[Fault]]:
        """The change's tree, pinned like its base, and the faults to be tried. Runs git: called in a thread."""
        words = "\n".join((change.text, change.title, change.summary))
        try:
            tree = self.private.tree_of(change.tree)
            if why := why_withheld(self.private, self.project, change.base, tree, words):
                raise Rejected(why)
            if not change.accepted and corrected(self.private, change.base, tree, self._later_fixes(change)):
                raise Rejected("a later fix changed what it added")
            faults = list(islice(planted(self.private, change.base, tree, change.key), _FAULTS_TRIED))
            if not faults:
                raise Rejected("no fault can be planted")
            self.private.pin_base(change.base)
            if not change.accepted:
                self.private.pin_base(change.tree)
        except NavigatorError as error:
            raise Rejected("its files are no longer there") from error
        return tree, faults

    def _later_fixes(self, change: Picked) -> list[Commit]:
        """The fixes that were made after a commit of the history."""
        later = takewhile(lambda commit: commit.sha != change.key, self.commits)
        return [commit for commit in later if commit.fixes]

    def _pair(
        self,
        change: Picked,
        trees: tuple[str, str],
        fault: Fault,
        failing: Sequence[str],
        passed: int | None,
    ) -> Pair:
        """The two items of a change: `trees` are the sound and the faulty one."""
        made_from = {"made_from": change.origin, "accepted": change.accepted}
        words = {
            "text": change.text,
            "kind": change.kind,
            "complexity": change.complexity,
            "title": change.title,
            "summary": change.summary,
        }
        made = []
        for kind, wrong, at in ((ExamSource.MUTANT, True, trees[1]), (ExamSource.CLEAN, False, trees[0])):
            files = self.private.diff(change.base, at, 0)
            more = {"fault": fault.kind, "failing": list(failing)} if wrong else {"form": "as it is"}
            item = self._item(
                kind,
                change.key,
                faulty=wrong,
                base=change.base,
                tree=at,
                files=files,
                evidence=made_from | more | {"passed": passed},
            )
            seeded = {"path": fault.path, "line": fault.line, "end_line": fault.line} if wrong else {}
            made.append(item.model_copy(update=words | seeded))
        return Pair(*made)

    def _item(
        self,
        source: ExamSource,
        change: str,
        *,
        faulty: bool,
        base: str,
        tree: str,
        files: Sequence[FileDiff],
        evidence: dict[str, Any],
    ) -> ExamItem:
        text, title = neutral_words(files)
        proof = {"command": self.project.check, "head": self.head, "passed": self.passed} | evidence
        return ExamItem(
            project_id=self.project.id,
            source=source,
            faulty=faulty,
            origin=f"{self.project.id}:{source.value}:{change}",
            text=text,
            kind=TaskKind.REFACTOR,
            complexity=Complexity.MEDIUM,
            base_commit=base,
            tree=tree,
            title=title,
            changed_lines=sum(file.added + file.removed for file in files),
            evidence=self.deps.redact.data(proof),
            created=utc_now(),
        )


def places(files: Sequence[FileDiff]) -> list[list[Any]]:
    """Every changed place as [path, first line, last line] of the new file; what was only removed lies between two lines."""
    return [
        [file.path, max(1, hunk.new_start), max(1, hunk.new_start) + max(hunk.new_count, 1)]
        for file in files
        for hunk in file.hunks
    ]


def _largest_change(files: Sequence[FileDiff]) -> tuple[str, int, int]:
    """The file with the most changed lines, and the lines from its first change to its last."""
    largest = max(files, key=lambda file: file.added + file.removed)
    found = places([largest])
    return largest.path, min(first for _, first, _ in found), max(last for _, _, last in found)


def keep_name(origin: str) -> str:
    """The name under which the private repository keeps an item's tree and base."""
    return f"{KEPT}{hashlib.sha256(origin.encode()).hexdigest()[:24]}"


KEPT = "exam-"
