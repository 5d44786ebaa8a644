"""Real repositories for the tests, and a fingerprint of everything that must not change in them."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from navigator.git.facts import RepoFacts, read_facts
from navigator.git.private import FileChange, PrivateRepo
from navigator.landing.land import execute_landing
from navigator.landing.plan import LandingPlan
from navigator.landing.undo import UndoResult, prepare_undo, undo_result
from navigator.model.models import Project, Proposal

FILES = {
    "README.md": b"# thing\n",
    "src/app.py": b"def one():\n    return 1\n\n\ndef two():\n    return 2\n",
    "src/util.py": b"LIMIT = 10\n",
    "docs/guide.txt": b"first\nsecond\n",
}


def git(repo: Path, *args: str, input: bytes | None = None, ok: bool = True) -> str:
    """Plain git as the developer runs it."""
    done = subprocess.run(["git", *args], cwd=repo, input=input, capture_output=True, check=False)
    if ok and done.returncode != 0:
        raise AssertionError(f"git {args}: {done.stderr.decode()}")
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def write(repo: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        place = repo / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def commit(repo: Path, files: Mapping[str, bytes | None], message: str = "change") -> str:
    """Write or delete files, commit everything, return the commit."""
    write(repo, {name: content for name, content in files.items() if content is not None})
    for name, content in files.items():
        if content is None:
            (repo / name).unlink()
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "--allow-empty", "-m", message)
    return git(repo, "rev-parse", "HEAD")


def make_repo(path: Path, files: Mapping[str, bytes] | None = None, *init: str) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    git(path, "init", "-q", "-b", "main", *init)
    git(path, "config", "navigator.sample", "true")
    commit(path, FILES if files is None else files, "first")
    return path


@cache
def shared_private() -> PrivateRepo:
    """One private repository for all examples of a property: only objects are added to it."""
    folder = Path(tempfile.mkdtemp(prefix="navigator-shared-"))
    return World(make_repo(folder / "repo", {"keep": b"x\n"}), folder / "state").private


def fingerprint(repo: Path) -> dict[str, str]:
    """Every file below a folder, git's own included: kind, mode and content. Times of reading are left out."""
    seen: dict[str, str] = {}
    for folder, names, files in os.walk(repo):
        for name in (*names, *files):
            place = Path(folder) / name
            info = place.lstat()
            if stat.S_ISLNK(info.st_mode):
                what = f"link {place.readlink()}"
            elif stat.S_ISREG(info.st_mode):
                digest = hashlib.sha256(place.read_bytes()).hexdigest()
                what = f"{info.st_mode:o} {info.st_mtime_ns} {digest}"
            else:
                what = f"{info.st_mode:o}"
            seen[str(place.relative_to(repo))] = what
    return seen


def undo_landing(plan: LandingPlan, facts: RepoFacts, private: PrivateRepo) -> UndoResult:
    """Prepare an undo and execute it at once."""
    back = prepare_undo(plan, facts, private)
    execute_landing(back)
    return undo_result(back)


class World:
    """A project with its repository and its private repository."""

    def __init__(self, repo: Path, state: Path, **settings: object) -> None:
        self.repo = repo
        self.state = state
        self.project = Project.model_validate({"id": 1, "name": "thing", "path": str(repo), **settings})
        self.private = PrivateRepo.open(state / "private", self.project)
        self.landed: set[str] = set()

    @property
    def facts(self) -> RepoFacts:
        return read_facts(self.repo)

    def propose(
        self, changes: Mapping[str, bytes | FileChange | None], number: int = 1, base: str = ""
    ) -> Proposal:
        """A kept proposal on `base` (HEAD when not given)."""
        on = base or self.facts.head_commit
        self.private.pin_base(on)
        tree = self.private.write_tree(
            on, {p: c if isinstance(c, FileChange) else FileChange(c) for p, c in changes.items()}
        )
        self.private.keep(f"P{number}", tree, on)
        made = {"id": f"P{number}", "task_id": f"T{number}", "project_id": 1, "project": "thing"}
        return Proposal(**made, attempt=0, round=0, base_commit=on, tree=tree)
