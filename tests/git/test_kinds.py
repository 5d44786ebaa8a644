"""Every kind of repository in one table: what a proposal, a landing on a branch and one on the current branch come to.

`docs/repositories.md` tells the same to people; a test here holds it to this table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from navigator.git.facts import AbsentBlobs, NoCommit, NotARepository
from navigator.landing.land import LandingRefused, execute_landing, inspect_landing, prepare_landing
from navigator.model.errors import NavigatorError
from navigator.model.models import Proposal
from tests.git.world import World, commit, fingerprint, git, make_repo

CHANGE = {"src/util.py": b"LIMIT = 11\n"}
_ROOT = Path(__file__).parents[2]
_PAGE = _ROOT / "docs" / "repositories.md"

Make = Callable[[Path, Path], Path]
"""From an ordinary repository and an empty folder to the repository of a kind."""


@dataclass(frozen=True)
class Kind:
    """One row: what refuses it outright, or how each way of landing ends (None: it lands; else words of the refusal)."""

    name: str
    make: Make
    refused: type[NavigatorError] | None = None
    current: str | None = None
    facts: Mapping[str, object] = field(default_factory=dict)


def _linked(repo: Path, room: Path) -> Path:
    git(repo, "worktree", "add", "-q", "-b", "side", str(room / "linked"))
    return room / "linked"


PARTIAL = "--filter=blob:none"


def _clone(repo: Path, room: Path, *words: str) -> Path:
    git(repo, "config", "uploadpack.allowFilter", "true")
    made = room / f"clone-{len(list(room.iterdir()))}"
    git(room, "clone", "-q", *words, f"file://{repo}", str(made))
    return made


def _shallow(repo: Path, room: Path) -> Path:
    commit(repo, {"more": b"m\n"})
    return _clone(repo, room, "--depth=1")


def _sha256(repo: Path, room: Path) -> Path:
    return make_repo(room / "wide", None, "--object-format=sha256")


def _reftable(repo: Path, room: Path) -> Path:
    made = room / "reftable"
    made.mkdir()
    if "ref-format" not in git(made, "init", "-h", ok=False) and _git_version() < (2, 45):
        pytest.skip("reftable: needs git 2.45 or newer")
    return make_repo(made, None, "--ref-format=reftable")


def _git_version() -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", git(Path("/"), "version"))[:2])


def _alternates(repo: Path, room: Path) -> Path:
    git(room, "clone", "-q", "--shared", str(repo), "borrower")
    git(room, "clone", "-q", "--shared", str(room / "borrower"), "second")
    return room / "second"


def _sparse_elsewhere(repo: Path, room: Path) -> Path:
    git(repo, "sparse-checkout", "set", "--cone", "docs")
    return repo


def _no_commit(repo: Path, room: Path) -> Path:
    (room / "empty").mkdir()
    git(room / "empty", "init", "-q")
    return room / "empty"


def _no_repository(repo: Path, room: Path) -> Path:
    (room / "plain").mkdir()
    return room / "plain"


def _lfs(repo: Path, room: Path) -> Path:
    commit(repo, {".gitattributes": b"src/util.py filter=lfs diff=lfs merge=lfs -text\n"})
    return repo


def _two_sides(repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "other")
    commit(repo, {"README.md": b"# theirs\n"})
    git(repo, "checkout", "-q", "main")
    commit(repo, {"README.md": b"# ours\n"})


def _rebasing(repo: Path, room: Path) -> Path:
    _two_sides(repo)
    git(repo, "rebase", "-q", "other", ok=False)
    return repo


def _submodule(repo: Path, room: Path) -> Path:
    inner = make_repo(room / "inner", {"x": b"x\n"})
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    git(repo, "commit", "-qm", "sub")
    return repo


def _hooks(repo: Path, room: Path) -> Path:
    folder = repo / ".git" / "hooks"
    folder.mkdir(exist_ok=True)
    for name in ("pre-commit", "post-commit", "reference-transaction", "post-checkout", "post-index-change"):
        (folder / name).write_text(f"#!/bin/sh\ntouch {room}/it-ran\nexit 1\n")
        (folder / name).chmod(0o755)
    return repo


KINDS = (
    Kind("ordinary", lambda repo, room: repo, facts={"branch": "main", "operation": "", "hooks": ()}),
    Kind("linked worktree", _linked, facts={"branch": "side", "checked_out": {"main", "side"}}),
    Kind("shallow", _shallow, facts={"root_commit": ""}),
    Kind("SHA-256", _sha256, facts={"object_format": "sha256", "branch": "main"}),
    Kind("reftable", _reftable),
    Kind(
        "bare",
        lambda repo, room: _clone(repo, room, "--bare"),
        current="bare repository",
        facts={"work_tree": None, "checked_out": frozenset()},
    ),
    Kind("own alternates", _alternates),
    Kind("sparse, outside the cone", _sparse_elsewhere, current="outside of the sparse checkout"),
    Kind(
        "partial clone with its files",
        lambda repo, room: _clone(repo, room, PARTIAL),
        facts={"partial": True},
    ),
    Kind(
        "partial clone without its files",
        lambda repo, room: _clone(repo, room, PARTIAL, "-n"),
        refused=AbsentBlobs,
    ),
    Kind("no commit", _no_commit, refused=NoCommit),
    Kind("not a repository", _no_repository, refused=NotARepository),
    Kind("filters and LFS", _lfs, current="git attribute filter=lfs"),
    Kind(
        "rebase in progress",
        _rebasing,
        current="A rebase is in progress",
        facts={"operation": "rebase", "branch": None, "checked_out": {"main"}},
    ),
    Kind("submodules", _submodule),
    Kind("hooks", _hooks),
)


@pytest.fixture
def room(tmp_path: Path) -> Path:
    (tmp_path / "room").mkdir()
    return tmp_path / "room"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.refused], ids=lambda kind: kind.name)
def test_refused_with_the_reason(kind: Kind, repo: Path, room: Path) -> None:
    path = kind.make(repo, room)
    before = fingerprint(path)
    assert kind.refused is not None
    with pytest.raises(kind.refused) as refusal:
        World(path, room / "state").propose(dict(CHANGE))
    assert str(path) in str(refusal.value) and refusal.value.hint
    assert fingerprint(path) == before


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.refused], ids=lambda kind: kind.name)
def test_a_proposal_lands_on_a_branch_and_on_the_current_one(kind: Kind, repo: Path, room: Path) -> None:
    path = kind.make(repo, room)
    before = fingerprint(path)
    world = World(path, room / "state")
    more = {} if "sparse" in kind.name else {"new/file.py": b"x = 1\n", "docs/guide.txt": None}
    proposal = world.propose({**CHANGE, **more})
    facts, files = world.facts, _checked_out(world)
    assert {name: getattr(facts, name) for name in kind.facts} == kind.facts
    plan = prepare_landing(world.project, facts, world.private, proposal, "B1", "Raise the limit")
    assert fingerprint(path) == before
    execute_landing(plan)
    assert inspect_landing(plan) == "done"
    assert git(path, "show", "navigator/B1:src/util.py") == "LIMIT = 11"
    git(path, "-c", "core.hooksPath=/dev/null", "fsck", "--strict")
    assert world.facts.head_commit == facts.head_commit and _checked_out(world) == files
    _land_on_the_current_branch(kind, world, proposal)
    assert not (room / "it-ran").exists()


def _checked_out(world: World) -> dict[str, str]:
    if world.facts.work_tree is None:
        return {}
    return {name: what for name, what in fingerprint(world.repo).items() if not name.startswith(".git")}


def _land_on_the_current_branch(kind: Kind, world: World, proposal: Proposal) -> None:
    before = fingerprint(world.repo)
    if kind.current is not None:
        with pytest.raises(LandingRefused, match=kind.current) as refusal:
            prepare_landing(world.project, world.facts, world.private, proposal, "B1", "x", mode="current")
        assert refusal.value.hint
        assert fingerprint(world.repo) == before
        return
    plan = prepare_landing(world.project, world.facts, world.private, proposal, "B1", "x", mode="current")
    assert fingerprint(world.repo) == before
    execute_landing(plan)
    assert (world.repo / "src/util.py").read_bytes() == b"LIMIT = 11\n"
    # No hook of this git's own calls either: only Navigator's are told apart below.
    assert git(world.repo, "-c", "core.hooksPath=/dev/null", "status", "--porcelain") == ""
    assert git(world.repo, "rev-parse", "HEAD") == plan.commit
    assert bool(world.facts.hooks) == (kind.name == "hooks")


def _said() -> dict[str, list[str]]:
    """What the page says of each kind: of proposals and branches, and of the current branch."""
    lines = [line for line in _PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]
    return {name: cells for names, *cells in rows for name in names.split("; ")}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_page_says_what_happens(kind: Kind) -> None:
    branch, current = _said()[kind.name]
    assert branch.startswith("refused") is bool(kind.refused)
    assert current.startswith("refused") is bool(kind.current)
    assert current.startswith("yes") is not bool(kind.refused or kind.current)
