"""Reading what a repository is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from navigator.git.facts import (
    NoCommit,
    NotARepository,
    UnsafeOwner,
    read_base,
    read_facts,
    read_places,
    resolve_base,
)
from navigator.git.snapshot import uncommitted_paths
from tests.git.world import World, commit, git, make_repo


def _hook(folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)


@pytest.mark.skipif(os.geteuid() != 0, reason="root: only root can run them")
def test_a_repository_of_another_user_needs_the_users_own_trust(repo: Path) -> None:
    for place in (repo, *repo.rglob("*")):
        os.chown(place, 12345, 12345)
    # What the repository says of itself grants nothing.
    config = repo / ".git" / "config"
    config.write_text(config.read_text() + "[safe]\n\tdirectory = *\n")
    with pytest.raises(UnsafeOwner) as refusal:
        read_facts(repo)
    assert str(repo) in refusal.value.hint
    git(repo.parent, "config", "--global", "--add", "safe.directory", str(repo))
    assert read_facts(repo).branch == "main"
    git(repo.parent, "config", "--global", "--add", "safe.directory", "")
    with pytest.raises(UnsafeOwner):
        read_facts(repo)
    git(repo.parent, "config", "--global", "--add", "safe.directory", f"{repo.parent}/*")
    assert read_facts(repo).branch == "main"


def test_hooks_are_found_where_git_would_find_them(world: World, tmp_path: Path) -> None:
    _hook(world.repo / ".git" / "hooks", "pre-commit")
    (world.repo / ".git" / "hooks" / "commit-msg.sample").touch(0o755)
    assert world.facts.hooks == ("pre-commit",)
    _hook(tmp_path / "home" / "my-hooks", "commit-msg")
    git(world.repo, "config", "--global", "core.hooksPath", "~/my-hooks")
    assert world.facts.hooks == ("commit-msg",)
    _hook(world.repo / ".husky", "pre-push")
    git(world.repo, "config", "core.hooksPath", ".husky")
    assert world.facts.hooks == ("pre-push",)


def test_the_users_own_ignore_file_counts(world: World, tmp_path: Path) -> None:
    (world.repo / "notes.swp").write_bytes(b"x")
    assert uncommitted_paths(world.facts) == ("notes.swp",)
    (tmp_path / "home" / "ignore").write_text("*.swp\n")
    git(world.repo, "config", "--global", "core.excludesFile", "~/ignore")
    assert uncommitted_paths(world.facts) == ()


def test_only_the_top_folder_is_a_project(world: World, tmp_path: Path) -> None:
    for inside in (world.repo / "src", world.repo / ".git"):
        with pytest.raises(NotARepository) as refusal:
            read_facts(inside)
        assert refusal.value.hint
    # core.worktree cannot lead elsewhere.
    (tmp_path / "victim").mkdir()
    git(world.repo, "config", "core.worktree", str(tmp_path / "victim"))
    assert world.facts.work_tree == world.repo
    assert uncommitted_paths(world.facts) == ()


def test_the_base_a_project_names(world: World) -> None:
    git(world.repo, "branch", "release")
    base = world.facts.head_commit
    tip = commit(world.repo, {"x": b"x\n"})
    assert resolve_base(world.facts) == ("refs/heads/main", tip)
    assert resolve_base(world.facts, "release") == ("refs/heads/release", base)
    git(world.repo, "tag", "v1", "release")
    assert resolve_base(world.facts, "v1") == ("refs/tags/v1", base)
    for wrong in ("nothing", "--output=x", "main^{tree}", "../../HEAD"):
        with pytest.raises(NoCommit):
            resolve_base(world.facts, wrong)
    git(world.repo, "checkout", "-q", "--detach")
    assert resolve_base(world.facts) == ("HEAD", tip)


def test_the_root_commit_names_the_history(world: World, tmp_path: Path) -> None:
    root = world.facts.root_commit
    commit(world.repo, {"x": b"x\n"})
    git(tmp_path, "clone", "-q", str(world.repo), "copy")
    assert read_facts(tmp_path / "copy").root_commit == root
    assert read_facts(make_repo(tmp_path / "unlike", {"z": b"z\n"})).root_commit != root


def test_replaced_objects_are_read_as_they_are(world: World) -> None:
    evil = git(world.repo, "hash-object", "-w", "--stdin", input=b"evil\n")
    git(world.repo, "replace", git(world.repo, "rev-parse", "HEAD:README.md"), evil)
    world.private.pin_base(world.facts.head_commit)
    entry = world.private.tree_entries(world.facts.head_commit)["README.md"]
    assert world.private.read_blob(entry.sha) == b"# thing\n"


@pytest.mark.parametrize("kind", ["plain", "linked", "packed"])
def test_the_base_alone_is_the_base_of_all_facts(kind: str, repo: Path, tmp_path: Path) -> None:
    git(repo, "branch", "release")
    commit(repo, {"x": b"x\n"})
    if kind == "linked":
        git(repo, "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "side", "release")
        repo = tmp_path / "linked"
    elif kind == "packed":
        git(repo, "pack-refs", "--all")
    facts = read_facts(repo)
    for base in ("", "release"):
        assert read_base(repo, base) == resolve_base(facts, base)[1]
    places = read_places(repo)
    for name in ("git_dir", "outside", "object_format", "head_commit"):
        assert getattr(places, name) == getattr(facts, name)
    with pytest.raises(NoCommit, match="nothing"):
        read_base(repo, "nothing")
