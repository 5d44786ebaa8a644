"""The post-commit hook: it notes commits, keeps a hook that was there, and never fails or changes a commit."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from navigator.git.facts import read_facts
from navigator.git.hook import HookRefused, hook_state, install_hook, noted_commits, remove_hook
from tests.git.world import commit, fingerprint, git, make_repo
from tests.swap.desk import wait_for


def noted(folder: Path, *commits: str) -> bool:
    """Whether these commits, and no others, are noted soon: the hook goes on behind the commit's back."""
    wait_for(lambda: len(noted_commits(folder)) >= len(commits))
    return sorted(noted_commits(folder)) == sorted(commits)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state" / "it's 1"


def test_each_commit_is_noted(repo: Path, folder: Path) -> None:
    facts = read_facts(repo)
    assert install_hook(facts, folder).installed
    assert read_facts(repo).hooks == (), "it is not among those that a landing leaves out"
    made = [commit(repo, {"n.txt": f"{number}\n".encode()}) for number in range(3)]
    assert noted(folder, *made)
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
    assert noted(folder, made)


def test_a_rebase_is_not_noted(repo: Path, folder: Path) -> None:
    for number in range(3):
        commit(repo, {"n.txt": f"{number}\n".encode()}, f"commit {number}")
    install_hook(read_facts(repo), folder)
    old = git(repo, "rev-parse", "HEAD")
    git(repo, "-c", "sequence.editor=:", "rebase", "-q", "-i", "--force-rebase", "HEAD~2")
    assert git(repo, "rev-parse", "HEAD~0") != "" and noted_commits(folder) == []
    git(repo, "commit", "-q", "--amend", "-m", "another word")
    assert git(repo, "rev-parse", "HEAD") != old and noted(folder, git(repo, "rev-parse", "HEAD"))


@pytest.mark.parametrize("trouble", ["gone", "in the way", "locked"])
def test_nothing_it_meets_fails_a_commit(repo: Path, folder: Path, trouble: str) -> None:
    install_hook(read_facts(repo), folder)
    if trouble == "locked":
        folder.chmod(0o500)
    else:
        shutil.rmtree(folder.parent)
        if trouble == "in the way":
            folder.parent.mkdir()
            folder.write_text("in the way")
    done = subprocess.run(
        ["git", "commit", "--allow-empty", "-m", "x"], cwd=repo, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert folder.exists() is (trouble != "gone")


@pytest.mark.parametrize("head", ["detached", "deep", "packed"])
def test_head_is_read_wherever_it_is(tmp_path: Path, folder: Path, head: str) -> None:
    repo = make_repo(tmp_path / "code", {})
    install_hook(read_facts(repo), folder)
    if head == "detached":
        git(repo, "checkout", "-q", "--detach")
    elif head == "deep":
        git(repo, "checkout", "-q", "-b", "agent/it's-$x/ä")
    elif head == "packed":
        git(repo, "pack-refs", "--all", "--prune")
    (repo / "below").mkdir()
    git(repo / "below", "commit", "-q", "--allow-empty", "-m", "x")
    assert noted(folder, git(repo, "rev-parse", "HEAD"))


@pytest.mark.parametrize("linked", [False, True])
def test_a_hook_of_others_is_left_alone(repo: Path, folder: Path, linked: bool) -> None:
    hook = repo / ".git/hooks/post-commit"
    hook.parent.mkdir(exist_ok=True)
    real = repo / ".git/own-hook" if linked else hook
    real.write_text("#!/bin/sh\n")
    if linked:
        hook.symlink_to("../own-hook")
    facts = read_facts(repo)
    with pytest.raises(HookRefused, match="no hook of Navigator's"):
        remove_hook(facts)
    with pytest.raises(HookRefused, match="another program's hook"):
        install_hook(facts, folder)
    assert hook.read_text() == "#!/bin/sh\n" and hook.is_symlink() is linked
    git(repo, "config", "core.hooksPath", ".husky")  # shared ones, too
    with pytest.raises(HookRefused, match="husky"):
        install_hook(read_facts(repo), folder)
    assert not (repo / ".husky").exists()


@pytest.mark.parametrize("where", ["hooks", "hooks/post-commit"])
def test_what_is_no_hook_is_refused_and_nothing_changes(repo: Path, folder: Path, where: str) -> None:
    facts, place = read_facts(repo), repo / ".git" / where
    shutil.rmtree(repo / ".git" / "hooks", ignore_errors=True)
    place.parent.mkdir(exist_ok=True)
    os.mkfifo(place)
    before = fingerprint(repo)
    for act in (lambda: install_hook(facts, folder), lambda: remove_hook(facts), lambda: hook_state(facts)):
        with pytest.raises(HookRefused, match=f"{where} is a FIFO; nothing was changed"):
            act()
    assert fingerprint(repo) == before
    # It does not hold up the reading of the repository either.
    assert "post-commit" not in read_facts(repo).hooks
