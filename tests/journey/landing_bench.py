"""A state folder full of reviewed proposals, made without a model: what a test of landing, and of dying in it, begins with."""

from __future__ import annotations

from pathlib import Path

import pytest

from navigator.journey.dependencies import Dependencies
from navigator.model.models import Project
from navigator.model.states import LandingState, Rung, Verdict
from tests.journey.room import Bench
from tests.journey.splitting import propose
from tests.journey.support import commits_of_proposals, git

BEFORE = b"one\ntwo\nthree\n"
AFTER = b"one\n2\nthree\n"


class LandingBench(Bench):
    """A repository with a file a proposal; proposals change, add or delete one file each, and none is in another's way."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, *, landing: str, proposals: int
    ) -> None:
        super().__init__(folder, monkeypatch, '[swap]\nstrategy = "rehearsal"\n')
        self.landing = landing
        files = {f"d{number}/f.txt": BEFORE for number in range(proposals)}
        self.add(files | {"README.md": b"# Code\n"}, check="", landing=landing)
        with self.world() as world:
            project = world.reader.project("code")
            self.waiting = [ready_proposal(world, project, number) for number in range(proposals)]

    def left_behind(self) -> list[str]:
        """Locks and temporary files, in the developer's repository and in the private one."""
        found = [path for root in (self.repository, self.desk.paths.private) for path in root.rglob("*")]
        ours = [
            path for path in found if ".navigator-new" in path.name or path.name.endswith("index.navigator")
        ]
        locks = [path for path in found if path.name.endswith((".lock", ".lock.navigator"))]
        # In .git/navigator are temporary folders.
        return [str(path) for path in (*ours, *locks) if ".git/navigator/" not in str(path)]

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

    def landing_of(self, identifier: str) -> LandingState | None:
        landing = self.proposal(identifier).landing
        return landing and landing.state

    def landed(self, identifier: str) -> int:
        """How many commits on any branch carry the proposal."""
        return commits_of_proposals(self.repository).count(identifier)


def ready_proposal(world: Dependencies, project: Project, number: int) -> str:
    """A proposal that was written, read with APPROVE, and waits for the developer. Returns its id."""
    path = f"d{number}/f.txt"
    changes: dict[str, bytes | None]
    new, rung, changes = path, Rung.EXACT, {path: AFTER}
    if number % 4 == 1:
        new = f"n{number}/made/new.txt"
        rung, changes = Rung.NEW_FILE, {new: AFTER}
    elif number % 4 == 2:
        rung, changes = Rung.DELETE, {path: None}
    elif number % 4 == 3:
        changes = {path: AFTER, f"n{number}.txt": BEFORE}
    with world.store.transaction() as tx:
        task = tx.add_task(project.id, f"Change {path}")
    return propose(world, project, task, changes, verdict=Verdict.APPROVE, edited={new: rung})
