"""The post-commit hook: it notes commits, keeps a hook that was there, and never fails or changes a commit."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from navigator.workspace.git.facts import read_facts
from navigator.workspace.git.hook import HookRefused, hook_state, install_hook, noted_commits, remove_hook
from tests.workspace.git.world import commit, git


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state" / "it's 1"


def test_each_commit_is_noted(repo: Path, folder: Path) -> None:
    facts = read_facts(repo)
    assert install_hook(facts, folder).installed
    made = [commit(repo, {"n.txt": f"{number}\n".encode()}) for number in range(3)]
    assert sorted(noted_commits(folder)) == sorted(made)
    install_hook(facts, folder)  # again: the same
    remove_hook(facts)
    commit(repo, {"n.txt": b"last\n"})
    assert len(noted_commits(folder)) == 3
    assert not (repo / ".git/hooks/post-commit").exists()


def test_a_commit_in_another_worktree_is_noted(repo: Path, folder: Path, tmp_path: Path) -> None:
    install_hook(read_facts(repo), folder)
    git(repo, "worktree", "add", "-q", "-b", "agent/1", str(tmp_path / "there"))
    assert noted_commits(folder) == []
    made = commit(tmp_path / "there", {"n.txt": b"x\n"})
    assert noted_commits(folder) == [made]


@pytest.mark.parametrize("linked", [False, True])
def test_an_earlier_hook_runs_first_and_comes_back(repo: Path, folder: Path, linked: bool) -> None:
    hook = repo / ".git/hooks/post-commit"
    hook.parent.mkdir(exist_ok=True)
    real = repo / ".git/own-hook" if linked else hook
    real.write_text('#!/bin/sh\nbasename "$0" >> own.log\nexit 3\n')
    real.chmod(0o744)
    if linked:
        hook.symlink_to("../own-hook")
    before = (hook.is_symlink(), hook.read_bytes(), hook.stat().st_mode)
    facts = read_facts(repo)
    assert install_hook(facts, folder).kept
    assert install_hook(facts, folder).kept
    made = commit(repo, {"n.txt": b"x\n"})
    assert noted_commits(folder) == [made]
    assert (repo / "own.log").read_text() == "post-commit\n"
    remove_hook(facts)
    assert (hook.is_symlink(), hook.read_bytes(), hook.stat().st_mode) == before
    assert sorted(path.name for path in hook.parent.iterdir() if path.suffix != ".sample") == ["post-commit"]


def test_a_rebase_is_not_noted(repo: Path, folder: Path) -> None:
    for number in range(3):
        commit(repo, {"n.txt": f"{number}\n".encode()}, f"commit {number}")
    install_hook(read_facts(repo), folder)
    old = git(repo, "rev-parse", "HEAD")
    git(repo, "-c", "sequence.editor=:", "rebase", "-q", "-i", "--force-rebase", "HEAD~2")
    assert git(repo, "rev-parse", "HEAD~0") != "" and noted_commits(folder) == []
    git(repo, "commit", "-q", "--amend", "-m", "another word")
    assert git(repo, "rev-parse", "HEAD") != old and len(noted_commits(folder)) == 1


def test_nothing_it_meets_fails_a_commit(repo: Path, folder: Path) -> None:
    install_hook(read_facts(repo), folder)
    folder.rmdir()
    folder.write_text("in the way")
    done = subprocess.run(
        ["git", "commit", "--allow-empty", "-m", "x"], cwd=repo, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "post-commit" not in done.stderr


def test_shared_hooks_are_left_alone(repo: Path, folder: Path) -> None:
    git(repo, "config", "core.hooksPath", ".husky")
    with pytest.raises(HookRefused, match="husky"):
        install_hook(read_facts(repo), folder)
    assert not (repo / ".husky").exists()


def test_a_hook_of_others_is_not_removed(repo: Path, folder: Path) -> None:
    hook = repo / ".git/hooks/post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    facts = read_facts(repo)
    with pytest.raises(HookRefused, match="no hook of Navigator's"):
        remove_hook(facts)
    install_hook(facts, folder)
    hook.write_text("#!/bin/sh\n# another program's\n")  # over ours, whose kept one is still there
    assert not hook_state(facts).installed
    with pytest.raises(HookRefused, match="is kept from an earlier install"):
        install_hook(facts, folder)
    assert hook.read_text().endswith("program's\n")
