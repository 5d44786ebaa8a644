"""A repository that names a program wherever git lets it. None of them ever runs, and nothing of it changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from navigator.checks.policy import check_policy
from navigator.context.build import build_context
from navigator.context.repomap import RepoMap
from navigator.context.source import TreeSource
from navigator.git.facts import AbsentBlobs, read_facts
from navigator.git.private import PrivateRepo
from navigator.git.snapshot import uncommitted_paths
from navigator.landing.land import execute_landing, inspect_landing, prepare_landing
from navigator.model.models import Project
from tests.git.world import World, commit, fingerprint, git, make_repo, undo_landing

_NAMES = """
    applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit
    pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update
    reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman
    post-index-change
"""
HOOKS = tuple(_NAMES.split())
_PROGRAMS = """
    core.fsmonitor core.sshCommand core.gitProxy core.editor core.pager core.askPass core.alternateRefsCommand
    filter.evil.clean filter.evil.smudge filter.evil.process filter.two.words.clean diff.evil.textconv diff.evil.command
    diff.external gpg.program gpg.ssh.program gpg.ssh.defaultKeyCommand gpg.x509.program uploadpack.packObjectsHook
    remote.origin.uploadpack
"""
"""Settings whose value is a program."""


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "it-ran"


@pytest.fixture
def hostile(tmp_path: Path, mark: Path) -> Path:
    repo = make_repo(tmp_path / "evil")
    evil = b"* filter=evil diff=evil merge=evil\n"
    commit(repo, {".gitattributes": evil, "AGENTS.md": b"Be careful.\n"})
    program = tmp_path / "evil.sh"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {mark}\ncat\nexit 0\n')
    program.chmod(0o755)
    folder = repo / ".git" / "evil-hooks"
    for where in (repo / ".git" / "hooks", folder):
        where.mkdir(exist_ok=True)
        for name in HOOKS:
            (where / name).write_text(program.read_text())
            (where / name).chmod(0o755)
    other = {
        "core.hooksPath": str(folder),
        "core.attributesFile": str(repo / ".gitattributes"),
        "credential.helper": f"!{program}",
        "filter.evil.required": "true",
        "merge.evil.driver": f"{program} %A",
        "log.showSignature": "true",
        "remote.origin.url": f"ext::{program}",
        "protocol.ext.allow": "always",
        "protocol.allow": "always",
        "trace2.eventTarget": str(mark),
        "alias.status": f"!{program}",
        "alias.diff-tree": f"!{program}",
        "submodule.recurse": "true",
    }
    for key, value in (dict.fromkeys(_PROGRAMS.split(), str(program)) | other).items():
        git(repo, "config", key, value)
    return repo


def _everything(repo: Path, state: Path, mark: Path) -> None:
    """Every operation of this room, in order; the repository is untouched up to the landing."""
    (repo / "src" / "util.py").touch()
    (repo / "docs" / "guide.txt").write_bytes(b"edited\n")
    before = fingerprint(repo)
    world = World(repo, state)
    facts = read_facts(repo)
    # The edited file, and whatever a filter could have changed.
    assert "docs/guide.txt" in uncommitted_paths(facts)
    proposal = world.propose({"src/app.py": b"def one():\n    return 11\n"})
    raw = world.private.raw_diff(proposal.base_commit, proposal.tree)
    check_policy(raw, world.private.tree_entries(proposal.base_commit).keys(), world.private.read_blob)
    assert world.private.diff(proposal.base_commit, proposal.tree)[0].hunks
    source = TreeSource(world.private, proposal.base_commit, world.project)
    build_context(
        RepoMap(source), world.project, "Change `one` in the app", (), 8000, len, shared_budget=8000
    )
    plan = prepare_landing(world.project, facts, world.private, proposal, "B1", "Change one")
    assert fingerprint(repo) == before
    execute_landing(plan)
    assert inspect_landing(plan) == "done"
    assert facts.hooks
    undo_landing(plan, read_facts(repo), world.private)
    world.private.collect()
    assert not mark.exists(), mark.read_text()


def test_nothing_of_a_hostile_repository_ever_runs(hostile: Path, tmp_path: Path, mark: Path) -> None:
    _everything(hostile, tmp_path / "state", mark)


def test_the_trap_is_a_trap(hostile: Path, mark: Path) -> None:
    """Plain git does run these programs; otherwise the test above would prove nothing."""
    git(hostile, "diff", ok=False)
    git(hostile, "update-ref", "refs/heads/x", "HEAD", ok=False)
    ran = mark.read_text()
    assert "reference-transaction" in ran and "evil.sh" in ran


def test_a_promisor_remote_is_never_asked(hostile: Path, tmp_path: Path, mark: Path) -> None:
    git(hostile, "config", "extensions.partialClone", "origin")
    git(hostile, "config", "core.repositoryFormatVersion", "1")
    git(hostile, "config", "remote.origin.promisor", "true")
    facts = read_facts(hostile)
    blob = git(hostile, "rev-parse", "HEAD:src/util.py")
    (hostile / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    before = fingerprint(hostile)
    private = PrivateRepo.open(tmp_path / "state", Project(id=1, name="x", path=str(hostile)), facts)
    with pytest.raises(AbsentBlobs):
        private.pin_base(facts.head_commit)
    uncommitted_paths(facts)
    assert fingerprint(hostile) == before
    assert not mark.exists(), mark.read_text()


def test_the_callers_environment_does_not_steer_git(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_repo(tmp_path / "other", {"secret": b"s\n"})
    places = {"DIR": ".git", "COMMON_DIR": ".git", "WORK_TREE": ".", "OBJECT_DIRECTORY": ".git/objects"}
    steering = {name: str(other / place) for name, place in places.items()}
    steering |= {"INDEX_FILE": str(tmp_path / "index"), "EXTERNAL_DIFF": "false"}
    for name, value in (steering | {"CONFIG_PARAMETERS": "'core.bare=true'"}).items():
        monkeypatch.setenv(f"GIT_{name}", value)
    world = World(repo, tmp_path / "state")
    assert (world.facts.git_dir, world.facts.work_tree) == (repo / ".git", repo)
    assert world.facts.common_dir == repo / ".git"
    proposal = world.propose({"a": b"a\n"})
    assert [d.path for d in world.private.diff(proposal.base_commit, proposal.tree)] == ["a"]


def test_submodules_are_not_entered(repo: Path, tmp_path: Path, mark: Path) -> None:
    inner = make_repo(tmp_path / "inner", {"x": b"x\n"})
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    git(repo, "commit", "-qm", "sub")
    program = tmp_path / "p.sh"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    git(repo / "sub", "config", "core.fsmonitor", str(program))
    (repo / "sub" / "x").write_bytes(b"dirty\n")
    world = World(repo, tmp_path / "state")
    assert uncommitted_paths(world.facts) == ()
    proposal = world.propose({"a": b"a\n"})
    assert world.private.tree_entries(proposal.tree)["sub"].mode == "160000"
    assert TreeSource(world.private, proposal.tree, world.project).read("sub") is None
    assert not mark.exists()
