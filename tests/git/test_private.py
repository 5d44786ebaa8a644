"""The private repository: it holds what it needs itself, and touches nothing of the user's."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from navigator.git.facts import NotARepository, read_facts
from navigator.git.private import FileChange, PathRefused, PrivateRepo
from navigator.git.runner import Git, GitOutputTooLarge, GitTimeout, find_git
from navigator.git.snapshot import uncommitted_paths
from navigator.landing.land import prepare_landing
from navigator.landing.plan import SignatureFailed
from tests.git.world import FILES, World, commit, fingerprint, git


def test_what_is_no_repository_is_refused(tmp_path: Path) -> None:
    (tmp_path / "broken" / ".git").mkdir(parents=True)
    for name in ("nowhere", "broken"):
        with pytest.raises(NotARepository):
            read_facts(tmp_path / name)


def test_the_private_repository_is_self_contained_after_collecting(world: World) -> None:
    proposal = world.propose({"src/util.py": b"LIMIT = 12\n"})
    world.private.collect()
    shutil.rmtree(world.repo / ".git" / "objects")
    (world.repo / ".git" / "objects").mkdir()
    alone = PrivateRepo(world.private.git_dir, world.private.facts)
    assert [d.path for d in alone.diff(proposal.base_commit, proposal.tree)] == ["src/util.py"]
    assert len(alone.tree_entries(proposal.tree)) == len(FILES)
    alone.read_blobs(e.sha for e in alone.tree_entries(proposal.base_commit).values())


def test_keep_drop_and_collect(world: World) -> None:
    first = world.propose({"a": b"a\n"}, 1)
    base = commit(world.repo, {"b": b"b\n"})
    second = world.propose({"c": b"c\n"}, 2)
    assert world.private.kept() == {"P1": (first.tree, first.base_commit), "P2": (second.tree, base)}
    world.private.drop("P1")
    world.private.drop("P1")
    world.private.collect()
    assert list(world.private.kept()) == ["P2"]
    pinned = world.private.git.run("for-each-ref", "--format=%(objectname)", "refs/navigator/base/").text
    assert pinned == base
    with pytest.raises(ValueError):
        world.private.keep("../P3", first.tree, base)


def test_what_only_reads_finds_the_same_repository(world: World) -> None:
    proposal = world.propose({"a": b"a\n"})
    project = world.project.model_copy(update={"root_commit": world.facts.root_commit})
    private = PrivateRepo.to_read(world.state / "private", project)
    assert private.git_dir == world.private.git_dir
    assert private.diff(proposal.base_commit, proposal.tree)[0].path == "a"


def test_the_repository_may_move(world: World) -> None:
    proposal = world.propose({"a": b"a\n"})
    moved = world.repo.rename(world.repo.with_name("elsewhere"))
    project = world.project.model_copy(update={"path": str(moved)})
    private = PrivateRepo.open(world.state / "private", project)
    assert private.git_dir == world.private.git_dir
    later = commit(moved, {"later": b"later\n"})
    private.pin_base(later)
    assert private.raw_diff(proposal.base_commit, proposal.tree)[0].path == "a"


def test_bytes_modes_and_endings_survive(world: World) -> None:
    base = commit(world.repo, {"run.sh": b"#!/bin/sh\n"})
    (world.repo / "run.sh").chmod(0o755)
    base = commit(world.repo, {})
    contents = {
        "crlf.txt": b"a\r\nb\r\n",
        "latin.txt": "größe".encode("latin-1"),
        "empty": b"",
        "run.sh": b"#!/bin/sh\necho\n",
    }
    git(world.repo, "config", "core.autocrlf", "true")
    commit(world.repo, {".gitattributes": b"* text=auto eol=crlf\n"})
    proposal = world.propose(contents, base=base)
    entries = world.private.tree_entries(proposal.tree)
    assert {p: world.private.read_blob(entries[p].sha) for p in contents} == contents
    assert entries["run.sh"].mode == "100755" and entries["empty"].mode == "100644"


def test_paths_that_cannot_stand_in_a_tree_are_refused(world: World) -> None:
    base = world.facts.head_commit
    hidden = (
        ".git/config",
        ".GIT/config",
        "git~1/config",
        "sub/.git/hooks/x",
        ".git /config",
        ".git\u200c/config",
    )
    for path in (*hidden, "../out", "/etc/passwd", "a//b", "./a", "", "src", "README.md/below"):
        with pytest.raises(PathRefused) as refusal:
            world.private.write_tree(base, {path: FileChange(b"x")})
        assert refusal.value.hint, path
    # A file may become a folder when it is deleted.
    proposal = world.propose({"README.md": None, "README.md/index.md": b"x\n"})
    assert "README.md/index.md" in world.private.tree_entries(proposal.tree)
    with pytest.raises(PathRefused):
        world.propose({"not there": None})


def test_runner_limits(world: World) -> None:
    runner = Git(world.private.git_dir)
    with pytest.raises(GitOutputTooLarge):
        runner.run("help", "-a", max_output=10)
    with pytest.raises(GitTimeout):
        runner.run("-c", "alias.wait=!sleep 30", "wait", timeout=0.2)
    failed = runner.run("rev-parse", "--verify", "nothing\x1b[31m", check=False)
    assert failed.status != 0 and "\x1b" not in failed.stderr
    big = b"x" * (1 << 21)
    sha = runner.run("hash-object", "-w", "--stdin", input=big).text
    assert runner.run("cat-file", "blob", sha).stdout == big


def test_no_program_is_taken_from_the_repository(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "ran"
    git(world.repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    real = find_git()
    for folder in (world.repo / "bin", tmp_path / "linked" / "bin"):
        folder.mkdir()
        for name in ("git", "gpg"):
            (folder / name).write_text(f"#!/bin/sh\necho $0 >> {ran}\nexit 1\n")
            (folder / name).chmod(0o755)
    (tmp_path / "aliased").symlink_to(world.repo / "bin")
    git(world.repo, "config", "commit.gpgsign", "true")
    planted = f"{tmp_path}/aliased:{world.repo}/bin:.:bin"
    rest = f"{real.parent}:{os.environ['PATH']}"
    monkeypatch.chdir(world.repo)
    for repo in (world.repo, tmp_path / "linked"):
        # A linked worktree belongs to the same repository: the main checkout's programs are barred there too.
        own = planted if repo == world.repo else f"{tmp_path}/linked/bin:{planted}"
        monkeypatch.setenv("PATH", f"{own}:{rest}")
        one = World(repo, tmp_path / f"state-{repo.name}")
        assert one.facts.git().environment()["PATH"].split(":")[0] == str(real.parent)
        proposal = one.propose({"a": b"a\n"})
        uncommitted_paths(one.facts)
        with pytest.raises(SignatureFailed):
            prepare_landing(one.project, one.facts, one.private, proposal, "B1", "x")
    assert not ran.exists(), ran.read_text()


def test_many_threads_on_many_bases(world: World) -> None:
    bases = [commit(world.repo, {"n.txt": b"%d\n" % n}) for n in range(7)]

    def one(number: int) -> tuple[int, list[str]]:
        base = bases[number % len(bases)]
        world.private.pin_base(base)
        tree = world.private.write_tree(base, {f"t{number}.txt": FileChange(b"t%d\n" % number)})
        world.private.keep(f"P{number}", tree, base)
        return number, [change.path for change in world.private.raw_diff(base, tree)]

    with ThreadPoolExecutor(8) as pool:
        assert all(paths == [f"t{number}.txt"] for number, paths in pool.map(one, range(14)))
    assert len(world.private.kept()) == 14
    world.private.collect()
    git(world.private.git_dir, "fsck", "--strict")


def test_what_the_user_has_already_is_written_without_touching_theirs(world: World) -> None:
    """git renews the time of an object that it finds instead of writing it; the user's keep theirs."""
    commit(world.repo, {"src/util.py": b"LIMIT = 11\n", "src/more.py": b"m = 1\n"})
    for packed in (False, True):
        if packed:
            git(world.repo, "gc", "-q")
        for file in (world.repo / ".git" / "objects").rglob("*"):
            os.utime(file, (1e9, 1e9))
        before = fingerprint(world.repo)
        # The first commit's content and tree again.
        proposal = world.propose({"src/util.py": FILES["src/util.py"], "src/more.py": None}, 1 + packed)
        assert fingerprint(world.repo) == before
        assert proposal.tree == git(world.repo, "rev-parse", "HEAD~1^{tree}")
        world.private.collect()
