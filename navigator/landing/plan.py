"""A landing as plain data, decided before anything is done, and the reasons why one does not happen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Literal

from navigator.git.ref_locks import clear
from navigator.git.runner import Git
from navigator.model.errors import NavigatorError

Mode = Literal["branch", "current"]


class LandingRefused(NavigatorError):
    """An approved change that does not reach its branch; nothing of the user's was changed."""

    code: ClassVar[str] = "landing_refused"


class SignatureFailed(LandingRefused):
    """`commit.gpgsign` is set and no signature could be made."""

    code = "signature"


class StaleBase(LandingRefused):
    """Touched paths are no longer what the proposal was made on. `paths` names them."""

    code: ClassVar[str] = "stale"

    def __init__(self, message: str, *, paths: tuple[str, ...], hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.paths = paths


class RefMoved(LandingRefused):
    """The branch moved between the plan and its execution; nothing was changed."""

    code = "moved"


class UndoRefused(LandingRefused):
    """A landing that can neither be moved back nor reverted; the message names the paths that changed
    since."""

    code = "undo_refused"


@dataclass(frozen=True, slots=True)
class PathMove:
    """What becomes of one path: mode and blob before and after. The mode is `000000` where the path is
    absent."""

    path: str
    old_mode: str
    old_sha: str
    new_mode: str
    new_sha: str

    def reversed(self) -> PathMove:
        """The way back."""
        return PathMove(self.path, self.new_mode, self.new_sha, self.old_mode, self.old_sha)


@dataclass(frozen=True, slots=True)
class LandingPlan:
    """Everything that executing, inspecting and undoing a landing needs. JSON-able through
    `dataclasses.asdict`.

    Attributes:
        mode: "branch" moves a branch that is not checked out; "current" also writes files and index of the checkout.
        ref: the full reference that moves.
        old: what it must point at before; "" when it must not exist.
        commit: what it points at afterwards; "" when it is deleted (undo of a branch that the landing made).
        parent: the new commit's parent.
        paths: what becomes of each touched path, against `parent`.
        transplanted: the tip was not the base; the touched paths were the same there.
        hooks: hooks of the repository that did not run.
        committer: name and address for the reflog.
    """

    mode: Mode
    proposal: str
    batch: str
    path: str
    git_dir: str
    common_dir: str
    work_tree: str
    private: str
    ref: str
    old: str
    commit: str
    parent: str
    tree: str
    base_commit: str
    transplanted: bool
    signed: bool
    hooks: tuple[str, ...]
    committer: tuple[str, str]
    paths: tuple[PathMove, ...]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> LandingPlan:
        """A plan as it comes back from the journal's JSON."""
        known = {field.name for field in fields(cls)}
        values = {key: value for key, value in data.items() if key in known}
        values["hooks"] = tuple(values["hooks"])
        values["committer"] = tuple(values["committer"])
        values["paths"] = tuple(PathMove(**move) for move in values["paths"])
        return cls(**values)

    @property
    def branch(self) -> str:
        """Short name of the branch that moves."""
        return self.ref.removeprefix("refs/heads/")

    def git(self) -> Git:
        """A hardened runner on the user's repository."""
        work_tree = (Path(self.work_tree),) if self.work_tree else ()
        outside = (Path(self.common_dir), *work_tree)
        return Git(Path(self.git_dir), outside=outside)


def clear_plan_locks(plan: LandingPlan, *, since: float | None = None) -> list[Path]:
    """Take away the reference locks that executing a journaled plan left; returns which.

    A lock is the plan's own when its content is the commit that only this plan brings to that reference; or when it is
    empty, as git leaves it before it writes or where it deletes, no living process has it open, and it is not older
    than `since`.

    Args:
        since: seconds since the epoch when the plan was journaled; None: just now, by this process.
    """
    common, own = Path(plan.common_dir), Path(plan.git_dir)
    places = [common / f"{plan.ref}.lock", own / "HEAD.lock"]
    if not plan.commit:
        places += [common / "packed-refs.lock", common / "packed-refs.new"]

    def ours(path: Path) -> bool:
        content = path.read_bytes()
        if path.name == "packed-refs.new":
            return True  # written under packed-refs.lock, which went before it
        if content:
            # The line break is a write of its own.
            return bool(plan.commit) and content in (plan.commit.encode(), f"{plan.commit}\n".encode())
        return since is None or path.stat().st_mtime >= since - 1

    return clear(places, ours)
