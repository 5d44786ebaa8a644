"""A state folder with proposals of several hunks that wait for the developer, made without a model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from navigator.checks.policy import check_policy
from navigator.git.private import FileChange
from navigator.journey.change import check
from navigator.journey.dependencies import Dependencies
from navigator.model.models import AppliedEdit, Project, Proposal, Review, Task
from navigator.model.states import Role, Rung, TaskState, Verdict
from tests.journey.answers import grounded
from tests.journey.room import Bench
from tests.journey.support import git

BATCH = "2026-01-01-a"
NUMBERS = "".join(f"{n}\n" for n in range(1, 61)).encode()
CODE = b"def one():\n    return 1\n" + b"\n# filler\n" * 8 + b"def two():\n    return 2\n"
FILES = {"n.txt": NUMBERS, "code.py": CODE, "README.md": b"# Code\n", "other.txt": b"other\n"}

CHANGED = {
    "code.py": CODE.replace(b"return 1", b"return helper()").replace(
        b"def two():\n    return 2\n", b"def two():\n    return 2\n\n\ndef helper():\n    return 1\n"
    ),
    "n.txt": NUMBERS.replace(b"\n5\n", b"\nfive\n").replace(b"\n30\n", b"\nthirty\n"),
}
"""Four hunks: H1 and H2 of code.py, H3 and H4 of n.txt."""

THIRTY = NUMBERS.replace(b"\n30\n", b"\nthirty\n")
FIVE = NUMBERS.replace(b"\n5\n", b"\nfive\n")


class SplitBench(Bench):
    """One project, and words for what a test does with its proposals."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, *, landing: str = "branch", check: str = ""
    ) -> None:
        super().__init__(folder, monkeypatch, '[swap]\nstrategy = "rehearsal"\n')
        self.add(FILES, check, landing=landing)

    def waiting(self, changes: Mapping[str, bytes | None] = CHANGED, **more: Any) -> str:
        """A new task with a reviewed proposal on the base branch's tip. Returns the proposal's id."""
        with self.world() as world:
            project = world.reader.project("code")
            with world.store.transaction() as tx:
                task = tx.add_task(project.id, "Change the numbers\n\nAnd the code.", files=("n.txt",))
            return propose(world, project, task, changes, **more)

    def answer(self, task: str, changes: Mapping[str, bytes | None], **more: Any) -> str:
        """What the loop makes of a queued task: a reviewed proposal on the base it was given, else on the tip."""
        with self.world() as world:
            return propose(world, world.reader.project("code"), world.reader.task(task), changes, **more)

    def split(self, identifier: str, *hunks: str, **more: Any) -> dict[str, Any]:
        done = self.act("split", proposal=identifier, hunks=list(hunks), **more)
        return {"part": done["proposals"][0], "rest": done["rest"]}

    def recover(self) -> None:
        """What the next conductor does first, and the checks it then takes up."""
        super().recover()
        with self.world() as world:
            for task in world.reader.tasks({TaskState.CHECKING}):
                asyncio.run(check(world, task.id))

    def content(self, tree: str, path: str) -> bytes:
        with self.world() as world:
            private = world.repositories.private(world.reader.project("code"))
            return bytes(private.read_blob(private.tree_entries(tree)[path].sha))

    def on_branch(self, path: str, branch: str = "navigator/2026-01-01") -> str:
        return git(self.repository, "show", f"{branch}:{path}")


def propose(
    world: Dependencies,
    project: Project,
    task: Task,
    changes: Mapping[str, bytes | None],
    *,
    verdict: Verdict = Verdict.REVISE,
    batch: str = BATCH,
    policed: bool = False,
    edited: Mapping[str, Rung] | None = None,
) -> str:
    """Take a queued task to where its proposal waits for the developer."""
    private = world.repositories.private(project)
    base = task.base_commit or private.facts.head_commit
    private.pin_base(base)
    tree = private.write_tree(base, {path: FileChange(content) for path, content in changes.items()})
    files = private.diff(base, tree)
    paths = private.tree_entries(base).keys()
    raw = private.raw_diff(base, tree)
    policy = check_policy(raw, paths, private.read_blob, project=project) if policed else ()
    with world.store.transaction() as tx:
        tx.set_task_base(task.id, base)
        for state in (TaskState.GENERATING, TaskState.CHECKING):
            tx.set_task_state(task.id, state)
        made = tx.add_proposal(
            Proposal(
                id="",
                task_id=task.id,
                project_id=project.id,
                project=project.name,
                attempt=task.attempt,
                round=0,
                base_commit=base,
                tree=tree,
                batch=batch,
                title=task.text.partition("\n")[0],
                policy=policy,
                edits=tuple(
                    AppliedEdit(path=path, rung=rung)
                    for path, rung in (edited or dict.fromkeys(changes, Rung.INDENT)).items()
                ),
                added=sum(file.added for file in files),
                removed=sum(file.removed for file in files),
                model="scripted/writer",
                prompt_version="generate@1",
            )
        )
        private.keep(f"{task.id}-{task.attempt}-0", tree, base)
        for state in (TaskState.AWAITING_REVIEW, TaskState.REVIEWING):
            tx.set_task_state(task.id, state)
        five = grounded(hunk="H3", message="five is no number")
        findings = () if verdict is Verdict.APPROVE else (five,)
        said = Review(role=Role.REVIEWER, verdict=verdict, model="scripted/reader", findings=findings)
        tx.add_review(made.id, said)
        tx.end_call(tx.begin_call(Role.GENERATOR, task.id, task.attempt, 0, "generate"))
        tx.set_task_state(task.id, TaskState.AWAITING_APPROVAL)
    return made.id
