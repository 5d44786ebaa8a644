"""Where the trees of exam items lie: in the project's private repository, or, for imported ones, in the exam's own."""

from __future__ import annotations

from pathlib import Path

from navigator.cascade.dependencies import Dependencies
from navigator.domain.exam import ExamItem
from navigator.domain.models import Project
from navigator.workspace.git.facts import RepoFacts
from navigator.workspace.git.private import PrivateRepo
from navigator.workspace.git.private_layout import create

_FOLDER = "exam.git"

IMPORTED = "imported"
"""The name of the project that imported items are given, since they have none."""


def repository_of(deps: Dependencies, item: ExamItem) -> tuple[PrivateRepo, Project]:
    """The repository that holds an item's trees, and the project whose rules on files apply. Runs git: call it in a thread.

    Raises:
        NavigatorError: the project's repository is gone, or cannot be worked on.
    """
    if item.project_id is None:
        return exam_repository(deps.paths.private)
    project = deps.project(item.project_id)
    return deps.private(project), project


def exam_repository(root: Path) -> tuple[PrivateRepo, Project]:
    """The exam's own repository, made if absent, and a project made for it: no scope, no test command."""
    git_dir = root.resolve() / _FOLDER
    facts = RepoFacts(
        path=git_dir,
        git_dir=git_dir,
        common_dir=git_dir,
        work_tree=None,
        head_commit="",
        branch=None,
        object_format="sha1",
        root_commit="",
        bare=True,
        partial=False,
        operation="",
        hooks=(),
        branches=(),
        checked_out=frozenset(),
    )
    if not (git_dir / "HEAD").exists():
        create(git_dir, facts)
    return PrivateRepo(git_dir, facts), Project(id=0, name=IMPORTED, path=str(git_dir))
