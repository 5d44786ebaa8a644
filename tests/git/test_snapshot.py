"""The checkout with its uncommitted work, in the private repository alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from navigator.context.scope import is_secret
from navigator.git import snapshot as snapshots
from navigator.git.facts import read_facts
from navigator.git.snapshot import NoWorktree, WorktreeSnapshot, take_snapshot
from tests.git.test_hostile import hostile as hostile
from tests.git.test_hostile import mark as mark
from tests.git.world import FILES, World, commit, fingerprint, git, make_repo


def take(world: World) -> WorktreeSnapshot:
    """A snapshot, with everything of the user's compared before and after."""
    before = fingerprint(world.repo)
    made = take_snapshot(world.private, world.facts, is_secret)
    assert fingerprint(world.repo) == before
    return made


def files(world: World, treeish: str) -> dict[str, bytes]:
    entries = world.private.tree_entries(treeish)
    held = world.private.read_blobs(e.sha for e in entries.values() if e.mode != "160000")
    return {path: held[entry.sha] for path, entry in entries.items() if entry.mode != "160000"}


def spoil(repo: Path) -> None:
    """Uncommitted work of every kind."""
    (repo / "src/util.py").write_bytes(b"LIMIT = 12\n")
    (repo / "docs/guide.txt").unlink()
    (repo / "staged.py").write_bytes(b"s = 1\n")
    git(repo, "add", "staged.py")
    (repo / "staged.py").write_bytes(b"s = 2\n")
    (repo / "new folder").mkdir()
    (repo / "new folder" / "ü.py").write_bytes(b"u = 1\n")
    (repo / "run.sh").write_bytes(b"#!/bin/sh\n")
    (repo / "run.sh").chmod(0o755)
    (repo / "link").symlink_to("README.md")
    (repo / ".gitignore").write_bytes(b"*.log\n")
    (repo / "noise.log").write_bytes(b"n\n")


def test_the_checkout_as_it_is(world: World) -> None:
    spoil(world.repo)
    made = take(world)
    held = files(world, made.commit)
    assert held == {
        **{name: FILES[name] for name in ("README.md", "src/app.py")},
        "src/util.py": b"LIMIT = 12\n",
        "staged.py": b"s = 2\n",
        "new folder/ü.py": b"u = 1\n",
        "run.sh": b"#!/bin/sh\n",
        "link": b"README.md",
        ".gitignore": b"*.log\n",
    }
    modes = {path: entry.mode for path, entry in world.private.tree_entries(made.commit).items()}
    assert (modes["run.sh"], modes["link"], modes["src/util.py"]) == ("100755", "120000", "100644")
    assert "docs/guide.txt" in made.taken and made.left_out == ()
    assert made.head == world.facts.head_commit
    # Its objects are nowhere but in the private repository.
    own = world.private.tree_entries(made.commit)["src/util.py"].sha
    assert git(world.repo, "cat-file", "-e", own, ok=False) == ""
    assert not (world.repo / ".git" / "objects" / own[:2] / own[2:]).exists()


def test_the_same_work_is_the_same_commit_and_none_is_head(world: World) -> None:
    assert take(world).commit == world.facts.head_commit
    (world.repo / "README.md").touch()
    assert take(world).commit == world.facts.head_commit
    spoil(world.repo)
    first = take(world).commit
    assert take(world).commit == first
    (world.repo / "src/util.py").write_bytes(b"LIMIT = 13\n")
    assert take(world).commit != first


def test_folders_for_files_and_links_for_folders(world: World, tmp_path: Path) -> None:
    (world.repo / "README.md").unlink()
    (world.repo / "README.md").mkdir()
    (world.repo / "README.md" / "x").write_bytes(b"x\n")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "guide.txt").write_bytes(b"not of this repository\n")
    (world.repo / "docs/guide.txt").unlink()
    (world.repo / "docs").rmdir()
    (world.repo / "docs").symlink_to(tmp_path / "secret")
    os.mkfifo(world.repo / "pipe")
    held = files(world, take(world).commit)
    assert held["README.md/x"] == b"x\n" and "README.md" not in held
    assert held["docs"] == str(tmp_path / "secret").encode() and "docs/guide.txt" not in held
    assert "pipe" not in held


def test_line_endings_are_stored_as_git_would_store_them(world: World) -> None:
    attributes = b"*.txt text eol=crlf\n*.raw -text\n"
    commit(world.repo, {".gitattributes": attributes, "docs/guide.txt": b"one\r\ntwo\r\n"})
    (world.repo / "docs/guide.txt").write_bytes(b"one\r\nthree\r\n")
    (world.repo / "new.txt").write_bytes(b"n\r\n")
    (world.repo / "a.raw").write_bytes(b"r\r\n")
    held = files(world, take(world).commit)
    assert held["docs/guide.txt"] == b"one\nthree\n"
    assert held["new.txt"] == b"n\n" and held["a.raw"] == b"r\r\n"
    # core.autocrlf counts wherever it is set.
    (world.repo / "src/util.py").write_bytes(b"LIMIT = 11\r\n")
    assert files(world, take(world).commit)["src/util.py"] == b"LIMIT = 11\r\n"
    git(world.repo, "config", "--global", "core.autocrlf", "true")
    assert files(world, take(world).commit)["src/util.py"] == b"LIMIT = 11\n"


def test_filtered_paths_stay_as_head_has_them(world: World) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n"
    commit(world.repo, {"art.bin": pointer})
    commit(world.repo, {".gitattributes": b"*.bin filter=lfs -text\n*.u16 working-tree-encoding=UTF-16\n"})
    (world.repo / "art.bin").write_bytes(b"the large content\n")
    (world.repo / "more.bin").write_bytes(b"another\n")
    (world.repo / "wide.u16").write_bytes("w".encode("utf-16"))
    (world.repo / "README.md").write_bytes(b"# edited\n")
    made = take(world)
    held = files(world, made.commit)
    assert held["art.bin"] == pointer and "more.bin" not in held and "wide.u16" not in held
    assert held["README.md"] == b"# edited\n"
    assert made.left_out == ("art.bin", "more.bin", "wide.u16")


def test_secrets_large_files_and_repositories_inside_are_left_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "MAX_FILE", 100)
    (world.repo / ".env").write_bytes(b"KEY=1\n")
    (world.repo / "data.csv").write_bytes(b"1," * 100)
    (world.repo / "README.md").write_bytes(b"x" * 101)
    make_repo(world.repo / "inner", {"x": b"x\n"})
    made = take(world)
    held = files(world, made.commit)
    assert held["README.md"] == b"# thing\n" and made.commit == made.head
    assert made.left_out == (".env", "README.md", "data.csv", "inner/")
    monkeypatch.setattr(snapshots, "MAX_TOTAL", 5)
    (world.repo / "a.py").write_bytes(b"a = 1\n")
    with pytest.raises(NoWorktree):
        take(world)


def test_conflicts_and_bare_repositories_are_refused(world: World, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(world.repo), "bare.git")
    with pytest.raises(NoWorktree):
        take_snapshot(world.private, read_facts(tmp_path / "bare.git"), is_secret)
    git(world.repo, "checkout", "-qb", "other")
    commit(world.repo, {"src/util.py": b"LIMIT = 20\n"})
    git(world.repo, "checkout", "-q", "main")
    commit(world.repo, {"src/util.py": b"LIMIT = 30\n"})
    git(world.repo, "merge", "-q", "other", ok=False)
    before = fingerprint(world.repo)
    with pytest.raises(NoWorktree, match=r"src/util\.py"):
        take_snapshot(world.private, world.facts, is_secret)
    assert fingerprint(world.repo) == before


def test_sparse_checkouts_and_submodules_keep_what_is_not_there(world: World, tmp_path: Path) -> None:
    inner = make_repo(tmp_path / "inner", {"x": b"x\n"})
    git(world.repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    git(world.repo, "commit", "-qm", "sub")
    git(world.repo, "sparse-checkout", "set", "--cone", "src")
    assert not (world.repo / "docs").exists()
    commit(inner, {"y": b"y\n"})
    (world.repo / "src/util.py").write_bytes(b"LIMIT = 12\n")
    made = take(world)
    held = files(world, made.commit)
    assert held["docs/guide.txt"] == b"first\nsecond\n" and held["src/util.py"] == b"LIMIT = 12\n"
    assert world.private.tree_entries(made.commit)["sub"].mode == "160000"
    assert made.taken == ("src/util.py",)


def test_nothing_of_a_hostile_checkout_runs(hostile: Path, tmp_path: Path, mark: Path) -> None:
    (hostile / "README.md").write_bytes(b"# edited\n")
    (hostile / ".git" / "info").mkdir(exist_ok=True)
    (hostile / ".git" / "info" / "attributes").write_text("src/* -filter\n")
    (hostile / "src/util.py").write_bytes(b"LIMIT = 12\n")
    world = World(hostile, tmp_path / "state")
    made = take(world)
    # Everything is under `filter=evil` but what the developer's own attributes take out again.
    assert "README.md" in made.left_out and made.taken == ("src/util.py",)
    assert files(world, made.commit)["src/util.py"] == b"LIMIT = 12\n"
    assert not mark.exists(), mark.read_text()
