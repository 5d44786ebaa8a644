"""The post-commit hook: it notes commits, keeps a hook that was there, and never fails or changes a commit."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from navigator.git.facts import read_facts
from navigator.git.hook import HookRefused, hook_state, install_hook, noted_commits, remove_hook
from tests.git.world import commit, git, make_repo
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


@pytest.mark.parametrize("head", ["detached", "alias", "deep", "sha256", "packed"])
def test_head_is_read_wherever_it_is(tmp_path: Path, folder: Path, head: str) -> None:
    repo = make_repo(tmp_path / "code", {}, *(["--object-format=sha256"] if head == "sha256" else []))
    install_hook(read_facts(repo), folder)
    if head == "detached":
        git(repo, "checkout", "-q", "--detach")
    elif head == "alias":  # the branch's file holds the name of another branch: git has to be asked
        git(repo, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
        git(repo, "symbolic-ref", "HEAD", "refs/heads/alias")
    elif head == "deep":
        git(repo, "checkout", "-q", "-b", "agent/it's-$x/ä")
    elif head == "packed":
        git(repo, "pack-refs", "--all", "--prune")
    (repo / "below").mkdir()
    git(repo / "below", "commit", "-q", "--allow-empty", "-m", "x")
    assert noted(folder, git(repo, "rev-parse", "HEAD"))


def test_a_commit_does_not_wait_for_the_state_folder(
    repo: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file that is to be made is a pipe that nobody reads: whoever opens it hangs, as on a disk that does not answer."""
    install_hook(read_facts(repo), folder)
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_DATE", "2000-01-01T00:00:00+0000")
    tree, parent = git(repo, "rev-parse", "HEAD^{tree}"), git(repo, "rev-parse", "HEAD")
    pipe = folder / git(repo, "commit-tree", tree, "-p", parent, "-m", "x")
    os.mkfifo(pipe)
    git(repo, "commit", "-q", "--allow-empty", "-m", "x")
    assert git(repo, "rev-parse", "HEAD") == pipe.name
    os.close(os.open(pipe, os.O_RDONLY))  # waits until somebody writes: it was still waiting


def test_shared_hooks_are_left_alone(repo: Path, folder: Path) -> None:
    git(repo, "config", "core.hooksPath", ".husky")
    with pytest.raises(HookRefused, match="husky"):
        install_hook(read_facts(repo), folder)
    assert not (repo / ".husky").exists()


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


def stand(place: Path, what: str, elsewhere: Path) -> None:
    """Put something there that is no hook."""
    if what == "a folder":
        (place / "inner").mkdir(parents=True)
    elif what == "a FIFO":
        os.mkfifo(place)
    elif what == "a file":
        place.write_text("a file")
    else:
        elsewhere.mkdir()
        (elsewhere / "post-commit").write_text("#!/bin/sh\n# elsewhere\n")
        place.symlink_to(elsewhere)


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every entry below a folder: its mode, and where it leads or what is in it."""
    found = {}
    for path in sorted(folder.rglob("*")):
        leads = bytes(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(folder))] = (path.lstat().st_mode, leads)
    return found


@pytest.mark.parametrize(
    ("where", "what"),
    [
        *(("hooks", what) for what in ("a file", "a link", "a FIFO")),
        *(("hooks/post-commit", what) for what in ("a folder", "a FIFO")),
    ],
)
def test_what_is_no_hook_is_refused_and_nothing_changes(
    repo: Path, folder: Path, tmp_path: Path, where: str, what: str
) -> None:
    facts, place = read_facts(repo), repo / ".git" / where
    install_hook(facts, folder)
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    stand(place, what, tmp_path / "elsewhere")
    before = tree(tmp_path)
    for act in (lambda: install_hook(facts, folder), lambda: remove_hook(facts), lambda: hook_state(facts)):
        with pytest.raises(HookRefused, match=f"{where} is {what}; nothing was changed"):
            act()
        assert tree(tmp_path) == before
    # A FIFO does not hold up the reading of the repository either.
    assert "post-commit" not in read_facts(repo).hooks


def test_navigators_own_hook_is_not_among_those_that_a_landing_leaves_out(repo: Path, folder: Path) -> None:
    install_hook(read_facts(repo), folder)
    assert read_facts(repo).hooks == ()
