"""Where the trees of single functions lie: they belong to no project."""

from __future__ import annotations

from pathlib import Path

from navigator.git.facts import RepoFacts
from navigator.git.private import PrivateRepo
from navigator.git.private_layout import create
from navigator.model.models import Project

_FOLDER = "functions.git"


def function_repository(root: Path) -> tuple[PrivateRepo, Project]:
    """The repository of single functions, made if absent, and a project made for it: no scope, no test command."""
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
    return PrivateRepo(git_dir, facts), Project(id=0, name="functions", path=str(git_dir))
