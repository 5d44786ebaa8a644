"""A state folder full of reviewed proposals, made without a model: what a test of landing, and of dying in it, begins with."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from navigator.actions.registry import perform
from navigator.cli.session import locked_dependencies
from navigator.git.private import FileChange
from navigator.journey.dependencies import Dependencies
from navigator.journey.recovery import recover
from navigator.model.models import AppliedEdit, Project, Proposal, Review
from navigator.model.states import ProposalState, Role, Rung, TaskState, Verdict
from tests.journey.support import Desk, commits_of_proposals, git, make_repository

BATCH = "2026-01-01-a"
BEFORE = b"one\ntwo\nthree\n"
AFTER = b"one\n2\nthree\n"
TO_THE_REVIEW = (TaskState.GENERATING, TaskState.CHECKING)


class LandingBench:
    """One repository with a file a proposal; proposals change, add or delete one file each, and none is in another's way."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, *, landing: str, proposals: int
    ) -> None:
        self.desk = Desk.make(folder / "desk", '[swap]\nstrategy = "rehearsal"\n')
        monkeypatch.setenv("NAVIGATOR_CONFIG", str(self.desk.config))
        monkeypatch.setenv("NAVIGATOR_STATE", str(self.desk.root))
        self.landing = landing
        files = {f"d{number}/f.txt": BEFORE for number in range(proposals)}
        self.repository = make_repository(folder / "code", files | {"README.md": b"# Code\n"})
        with self.world() as world:
            asyncio.run(
                perform(
                    world, "project.add", {"path": str(self.repository), "name": "code", "landing": landing}
                )
            )
            project = world.reader.project("code")
            self.waiting = [ready_proposal(world, project, number) for number in range(proposals)]

    def world(self) -> Any:
        return locked_dependencies(self.desk.paths)

    def act(self, op: str, **args: Any) -> dict[str, Any]:
        """One command in this process, as `navigator` does it where no conductor runs."""
        with self.world() as world:
            return asyncio.run(perform(world, op, args))

    def approve(self, identifier: str) -> dict[str, Any]:
        return dict(self.act("approve", proposals=[{"id": identifier}])["decisions"][0])

    def undo(self, identifier: str) -> dict[str, Any]:
        return dict(self.act("undo", ids=[identifier])["undone"][0])

    def recover(self) -> None:
        """What the next conductor does first."""
        with self.world() as world:
            asyncio.run(recover(world))

    def proposal(self, identifier: str) -> Proposal:
        with self.desk.reading() as store:
            return store.proposal(identifier)

    def left_behind(self) -> list[str]:
        """Locks and temporary files, in the developer's repository and in the private one."""
        found = [path for root in (self.repository, self.desk.paths.private) for path in root.rglob("*")]
        return [
            str(path)
            for path in found
            if (
                path.name.endswith(".lock") and ".git/navigator/" not in str(path)
            )  # there: temporary folders
            or ".navigator-new" in path.name
            or path.name in ("index.navigator", "index.lock.navigator")
        ]

    def assert_sound(self) -> None:
        """The developer's next git command works, nothing of it is damaged, and nothing of theirs was changed."""
        assert self.left_behind() == []
        git(self.repository, "fsck", "--strict", "--no-dangling")
        assert git(self.repository, "status", "--porcelain") == ""
        git(self.repository, "branch", "probe")
        git(self.repository, "branch", "--delete", "--force", "probe")
        git(self.repository, "update-index", "--refresh")
        with self.desk.reading() as store:
            assert store.journal_pending() == []

    def landed(self, identifier: str) -> int:
        """How many commits on any branch carry the proposal."""
        return commits_of_proposals(self.repository).count(identifier)


def ready_proposal(world: Dependencies, project: Project, number: int) -> str:
    """A proposal that was written, read with APPROVE, and waits for the developer. Returns its id."""
    path = f"d{number}/f.txt"
    new, rung, changes = path, Rung.EXACT, {path: FileChange(AFTER)}
    if number % 4 == 1:
        new = f"n{number}/made/new.txt"
        rung, changes = Rung.NEW_FILE, {new: FileChange(AFTER)}
    elif number % 4 == 2:
        rung, changes = Rung.DELETE, {path: FileChange(None)}
    elif number % 4 == 3:
        changes = {path: FileChange(AFTER), f"n{number}.txt": FileChange(BEFORE)}
    private = world.private(project)
    base = private.facts.head_commit
    private.pin_base(base)
    tree = private.write_tree(base, changes)
    with world.store.transaction() as tx:
        task = tx.add_task(project.id, f"Change {path}")
        for state in TO_THE_REVIEW:
            tx.set_task_state(task.id, state)
        proposal = tx.add_proposal(
            Proposal(
                id="",
                task_id=task.id,
                project_id=project.id,
                project=project.name,
                attempt=0,
                round=0,
                base_commit=base,
                tree=tree,
                batch=BATCH,
                title=f"Change {path}",
                edits=(AppliedEdit(path=new, rung=rung),),
                model="scripted/writer",
            )
        )
        private.keep(f"{task.id}-0-0", tree, base)
        for state in (TaskState.AWAITING_REVIEW, TaskState.REVIEWING):
            tx.set_task_state(task.id, state)
        tx.add_review(
            proposal.id, Review(role=Role.REVIEWER, verdict=Verdict.APPROVE, model="scripted/reader")
        )
        tx.set_task_state(task.id, TaskState.AWAITING_APPROVAL)
    assert proposal.state is ProposalState.OPEN
    return proposal.id
