"""Landing on the branch that is checked out: files, index and reference move together, or not at all.

Order: take git's own `index.lock` with a mark in it, write each file by rename, move the reference by
compare-and-swap, put the new index in place, release the lock. While the lock holds the mark the move
is unfinished; each touched file is then wholly old or wholly new, so continuing and rolling back are both safe.
No filter, hook or checkout command of git is involved: blobs are written as they are, which is why paths
that git would convert are refused.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from navigator.git.diffs import ABSENT, RawChange, path_bytes, path_text
from navigator.git.facts import RepoFacts
from navigator.git.runner import Git
from navigator.landing.plan import LandingPlan, LandingRefused
from navigator.model.text import safe_line

_CONVERTING = ("filter", "ident", "working-tree-encoding", "eol")
_LITERAL = {"GIT_LITERAL_PATHSPECS": "1"}
_TRUE = frozenset({"true", "yes", "on", "1"})
_EXECUTABLE = "100755"

ReadBlobs = Callable[[Iterable[str]], Mapping[str, bytes]]


def require_branch(facts: RepoFacts) -> str:
    """The branch that a landing on the current branch would move.

    Raises:
        LandingRefused: there is no checkout, no branch, or an operation is under way.
    """
    instead = (
        "Check out a branch, or land on a separate one: `navigator project set PROJECT --landing branch`."
    )
    if facts.work_tree is None:
        raise LandingRefused(f"{facts.path} is a bare repository: it has no checkout.", hint=instead)
    if facts.operation:
        raise LandingRefused(
            f"A {facts.operation} is in progress in {facts.work_tree}.",
            hint="Finish or abort it, then approve again.",
        )
    if facts.branch is None:
        raise LandingRefused(f"{facts.work_tree} is not on a branch.", hint=instead)
    return facts.branch


def require_clean(facts: RepoFacts, moves: Sequence[RawChange], read_blobs: ReadBlobs) -> None:
    """Refuse unless every touched path is the same in HEAD, index and checkout, and git would not convert it.

    Raises:
        LandingRefused: naming the first paths that are in the way.
    """
    assert facts.work_tree is not None
    if (facts.git_dir / "index.lock").exists():
        raise LandingRefused(
            f"Another git process is running in {facts.work_tree}.",
            hint="Wait for it to finish. If none is running, remove .git/index.lock and approve again.",
        )
    git = facts.git(work_tree=True)
    _require_unconverted(facts, git, moves)
    index = _index_entries(git, moves)
    blobs = read_blobs(move.old_sha for move in moves if move.old_mode != ABSENT)
    blocked = [
        f"{safe_line(move.path)} ({why})"
        for move in moves
        if (why := _why_not(facts.work_tree, move, index, blobs, either=False)) is not None
    ]
    if blocked:
        raise LandingRefused(
            f"The checkout has uncommitted changes in the way: {', '.join(blocked[:5])}.",
            hint="Commit or stash them, or land on a new branch.",
        )


def _require_unconverted(facts: RepoFacts, git: Git, moves: Sequence[RawChange]) -> None:
    """Refuse paths whose content git changes between repository and checkout (filters, LFS, encodings)."""
    for path, name, value in git.attributes((move.path for move in moves), *_CONVERTING):
        if (name, value) != ("eol", "lf"):
            raise LandingRefused(
                f"{safe_line(path)} is under the git attribute {name}={safe_line(value)}.",
                hint="Such paths land on a branch only.",
            )
    converts = (
        facts.git(user_config=True).run("config", "--get", "core.autocrlf", check=False).text.lower() in _TRUE
    )
    if converts and any(move.old_mode == ABSENT for move in moves):
        raise LandingRefused(
            "core.autocrlf changes line endings in this checkout.", hint="New files land on a branch only."
        )


def _index_entries(git: Git, moves: Sequence[RawChange]) -> dict[str, tuple[str, str]]:
    """What the index holds at the touched paths and below them: path to (mode, id); ("", "") where it is
    special."""
    found: dict[str, tuple[str, str]] = {}
    for start in range(0, len(moves), 500):
        paths = [move.path for move in moves[start : start + 500]]
        out = git.run("ls-files", "-z", "--stage", "-v", "--", *paths, env=_LITERAL).stdout
        for record in out.split(b"\0"):
            if not record:
                continue
            meta, _, path = record.partition(b"\t")
            tag, mode, sha, stage = meta.decode("ascii").split(" ")
            # H is an ordinary entry; S is left out by a sparse checkout, lower case is "assume unchanged".
            plain = tag == "H" and stage == "0"
            found[path_text(path)] = (mode, sha) if plain else ("", "")
    return found


def _why_not(
    work_tree: Path,
    move: RawChange,
    index: Mapping[str, tuple[str, str]],
    blobs: Mapping[str, bytes],
    *,
    either: bool,
) -> str | None:
    """Why a path may not be written, or None. With `either`, the new state is as good as the old one."""
    states = [(move.old_mode, move.old_sha)]
    if either:
        states.append((move.new_mode, move.new_sha))
    held = index.get(move.path)
    if held == ("", ""):
        return "in conflict, outside of the sparse checkout, or marked as unchanged"
    if any(path.startswith(f"{move.path}/") for path in index):
        return "a folder in the index"
    if not any(held == state or (held is None and state[0] == ABSENT) for state in states):
        return "staged"
    for mode, sha in states:
        if _has(work_tree, move.path, mode, blobs.get(sha)):
            return None
    return "changed" if move.old_mode != ABSENT else "exists"


def _has(work_tree: Path, path: str, mode: str, content: bytes | None) -> bool:
    """Whether the checkout has exactly this at a path: nothing, or a plain file with this content and
    mode."""
    place = work_tree
    parts = path.split("/")
    for part in parts[:-1]:
        place = place / part
        try:
            kind = place.lstat().st_mode
        except FileNotFoundError:
            return mode == ABSENT
        if not stat.S_ISDIR(kind):
            return False
    try:
        found = (place / parts[-1]).lstat()
    except FileNotFoundError:
        return mode == ABSENT
    if mode == ABSENT or content is None or not stat.S_ISREG(found.st_mode) or found.st_size != len(content):
        return False
    executable = bool(found.st_mode & stat.S_IXUSR)
    return executable == (mode == _EXECUTABLE) and (place / parts[-1]).read_bytes() == content


def _mark(plan: LandingPlan) -> bytes:
    """The content of `index.lock` while the plan is being executed."""
    return f"navigator {plan.proposal} {plan.old} {plan.commit}\n".encode()


def holds_lock(plan: LandingPlan) -> bool:
    """Whether `index.lock` is this plan's: it was begun and neither ended nor taken back."""
    try:
        return (Path(plan.git_dir) / "index.lock").read_bytes() == _mark(plan)
    except OSError:
        return False


def is_unfinished(plan: LandingPlan, tip: str) -> bool:
    """Whether a plan was cut off: the lock holds its mark, or the reference moved and the index did not."""
    if holds_lock(plan):
        return True
    if tip != plan.commit:
        return False
    index = _index_entries(_git(plan), plan.paths)
    return all(index.get(m.path, (ABSENT, m.old_sha)) == (m.old_mode, m.old_sha) for m in plan.paths)


def _git(plan: LandingPlan, index: Path | None = None) -> Git:
    return Git(Path(plan.git_dir), work_tree=Path(plan.work_tree), index=index)


def move(plan: LandingPlan, move_reference: Callable[[], None]) -> None:
    """Bring files, reference and index from the plan's old side to its new one. May continue after a crash.

    Args:
        move_reference: moves the reference by compare-and-swap, or raises and leaves it.

    Raises:
        LandingRefused: something is in the way; files that were written are put back first.
    """
    git = _git(plan)
    head = git.run("symbolic-ref", "--quiet", "HEAD", check=False).text
    if head != plan.ref:
        raise LandingRefused(
            f"The checkout is no longer on {plan.branch}.",
            hint="Check it out again, or land on a new branch.",
        )
    shas = {
        sha
        for m in plan.paths
        for mode, sha in ((m.old_mode, m.old_sha), (m.new_mode, m.new_sha))
        if mode != ABSENT
    }
    blobs = Git(Path(plan.private), outside=git.outside).contents(sorted(shas))
    with _lock(plan):
        _require_either(plan, git, blobs)
        try:
            for one in plan.paths:
                _write_path(Path(plan.work_tree), one, blobs)
            move_reference()
        except BaseException as error:
            # Also on an interrupt: the lock must not be released while files are half old, half new.
            _put_back(plan, blobs)
            if not isinstance(error, OSError):
                raise
            raise LandingRefused(
                f"The checkout could not be written: {error.strerror}.",
                hint="Nothing was changed. Check the disk.",
            ) from error
        _write_index(plan)


def _require_either(plan: LandingPlan, git: Git, blobs: Mapping[str, bytes]) -> None:
    """Under the lock: every touched path is wholly old or wholly new."""
    index = _index_entries(git, plan.paths)
    work_tree = Path(plan.work_tree)
    blocked = [
        f"{safe_line(one.path)} ({why})"
        for one in plan.paths
        if (why := _why_not(work_tree, one, index, blobs, either=True)) is not None
    ]
    if blocked:
        raise LandingRefused(
            f"The checkout changed in the meantime: {', '.join(blocked[:5])}.",
            hint="Commit or stash the changes, then approve again.",
        )


@contextlib.contextmanager
def _lock(plan: LandingPlan) -> Iterator[None]:
    """Hold git's own lock on the index. A kill leaves it there, with the mark that says whose it is.

    The mark is written beside it and linked: a lock that a kill left without its mark would be nobody's, and in the way
    of every landing and of the developer's git for good.
    """
    path = Path(plan.git_dir) / "index.lock"
    marked = path.with_name("index.lock.navigator")
    if not holds_lock(plan):
        try:
            with marked.open("wb") as file:
                file.write(_mark(plan))
                file.flush()
                os.fsync(file.fileno())
            os.link(marked, path)
        except OSError as error:
            marked.unlink(missing_ok=True)
            if isinstance(error, FileExistsError):
                raise LandingRefused(
                    f"Another git process is running in {plan.work_tree}.",
                    hint="Wait for it to finish, then approve again.",
                ) from None
            raise LandingRefused(
                f"{path} could not be made: {error.strerror}.",
                hint="Is the disk full, or a file system without hard links? Landing on a new branch needs none.",
            ) from error
    try:
        marked.unlink(missing_ok=True)
        yield
    finally:
        path.unlink(missing_ok=True)


def _put_back(plan: LandingPlan, blobs: Mapping[str, bytes]) -> None:
    """Undo what was written; a file that is no longer as it was written belongs to somebody else and stays."""
    work_tree = Path(plan.work_tree)
    for one in plan.paths:
        if _has(work_tree, one.path, one.new_mode, blobs.get(one.new_sha)):
            _write_path(work_tree, one.reversed(), blobs)


def _write_path(work_tree: Path, one: RawChange, blobs: Mapping[str, bytes]) -> None:
    """Bring one path from old to new, by rename, so that it is never half of anything."""
    place = work_tree / one.path
    # A hash: a name may be as long as the file system allows, and is counted in bytes. After a crash it is found again.
    temporary = place.with_name(f".{sha256(os.fsencode(place.name)).hexdigest()[:16]}.navigator-new")
    if _has(work_tree, one.path, one.new_mode, blobs.get(one.new_sha)):
        if one.new_mode != ABSENT:
            temporary.unlink(missing_ok=True)
        return
    if not _has(work_tree, one.path, one.old_mode, blobs.get(one.old_sha)):
        raise LandingRefused(
            f"{safe_line(one.path)} changed in the meantime.", hint="Commit it, then approve again."
        )
    if one.new_mode == ABSENT:
        place.unlink()
        for folder in place.parents:
            if folder == work_tree or not _empty(folder):
                break
            folder.rmdir()
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary.unlink(missing_ok=True)
    fd = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o777 if one.new_mode == _EXECUTABLE else 0o666
    )
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(blobs[one.new_sha])
            file.flush()
            os.fsync(file.fileno())
        if one.old_mode == ABSENT:
            # A link never replaces a file that somebody made meanwhile; a rename would.
            os.link(temporary, place)
        else:
            temporary.replace(place)
    finally:
        temporary.unlink(missing_ok=True)


def _empty(folder: Path) -> bool:
    return next(folder.iterdir(), None) is None


def _write_index(plan: LandingPlan) -> None:
    """Put the new entries into the index: a copy is changed, then takes the index's place in one step."""
    index = Path(plan.git_dir) / "index"
    with tempfile.TemporaryDirectory(prefix="checkout-", dir=Path(plan.private) / "navigator") as folder:
        made = Path(folder) / "index"
        if index.exists():
            shutil.copyfile(index, made)
        lines = b"".join(
            b"%b %b\t%b\0"
            % (
                (b"0" if m.new_mode == ABSENT else m.new_mode.encode()),
                m.new_sha.encode(),
                path_bytes(m.path),
            )
            for m in plan.paths
        )
        _git(plan, made).run("update-index", "-z", "--index-info", input=lines)
        beside = index.with_name("index.navigator")
        shutil.copyfile(made, beside)
        if index.exists():
            shutil.copymode(index, beside)
    with beside.open("rb") as file:
        os.fsync(file.fileno())
    beside.replace(index)
