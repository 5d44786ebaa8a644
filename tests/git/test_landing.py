"""Landing on a branch of its own, and taking it back."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from navigator.git.private import FileChange
from navigator.landing.land import (
    LandingPlan,
    LandingRefused,
    RefMoved,
    StaleBase,
    branch_name,
    execute_landing,
    inspect_landing,
    prepare_landing,
)
from navigator.landing.plan import SignatureFailed, UndoRefused, compose_message
from navigator.landing.undo import prepare_undo
from tests.git.world import World, commit, fingerprint, git, undo_landing


def plan_for(
    world: World, changes: dict[str, bytes | None], number: int = 1, batch: str = "B1", **more: object
) -> LandingPlan:
    proposal = world.propose(changes, number, str(more.pop("base", "")))
    facts, private = world.facts, world.private
    return prepare_landing(
        world.project, facts, private, proposal, batch, "Change a thing", landed=world.landed, **more
    )  # type: ignore[arg-type]


def land(world: World, changes: dict[str, bytes | None], number: int = 1, **more: object) -> LandingPlan:
    plan = plan_for(world, changes, number, **more)  # type: ignore[arg-type]
    execute_landing(plan)
    world.landed.add(plan.commit)
    return plan


def _changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def test_nothing_changes_until_execution_and_then_one_branch(world: World) -> None:
    before = fingerprint(world.repo)
    plan = plan_for(
        world, {"src/util.py": b"LIMIT = 11\n", "new/x.py": b"x = 1\n"}, trailers={"Navigator-Model": "m/1"}
    )
    assert fingerprint(world.repo) == before
    assert inspect_landing(plan) == "not_done"
    plan = LandingPlan.from_dict(json.loads(json.dumps(asdict(plan))))  # as the journal gives it back
    assert (plan.ref, plan.old, plan.transplanted) == ("refs/heads/navigator/B1", "", False)
    execute_landing(plan)
    assert inspect_landing(plan) == "done"
    changed = _changed(before, fingerprint(world.repo))
    loose = {name for name in changed if name.startswith(".git/objects/")}
    folders = {".git/refs/heads", ".git/logs/refs/heads"}
    assert {n for n in changed - loose if "/navigator" not in n} <= folders
    assert git(world.repo, "rev-parse", "navigator/B1") == plan.commit
    assert git(world.repo, "show", "navigator/B1:src/util.py") == "LIMIT = 11"
    form = "%an <%ae> %cn|%s|%(trailers:unfold,separator=%x2C)"
    assert git(world.repo, "log", "-1", f"--format={form}", "navigator/B1") == (
        "Dev Eloper <dev@example.org> Dev Eloper|Change a thing|Navigator-Proposal: P1,Navigator-Batch: B1,Navigator-Model: m/1"
    )
    git(world.repo, "fsck", "--strict")
    assert git(world.repo, "status", "--porcelain") == ""


def test_one_commit_a_proposal_on_one_branch_a_batch(world: World) -> None:
    base = world.facts.head_commit
    first = land(world, {"a": b"a\n"}, 1)
    second = land(world, {"b": b"b\n"}, 2, base=base)
    assert second.ref == first.ref and second.old == first.commit and second.transplanted
    assert git(world.repo, "rev-list", "--count", "main..navigator/B1") == "2"
    assert git(world.repo, "ls-tree", "--name-only", "navigator/B1").split()[:3] == ["README.md", "a", "b"]
    git(world.repo, "fsck", "--strict")


def test_siblings_that_meet_are_stale_with_the_paths_named(world: World) -> None:
    base = world.facts.head_commit
    land(world, {"src/util.py": b"LIMIT = 1\n", "new": b"n\n"}, 1)
    before = fingerprint(world.repo)
    with pytest.raises(StaleBase) as stale:
        plan_for(world, {"src/util.py": b"LIMIT = 2\n", "new": b"other\n", "c": b"c\n"}, 2, base=base)
    assert set(stale.value.paths) == {"src/util.py", "new"}
    with pytest.raises(LandingRefused, match="already"):
        plan_for(world, {"src/util.py": b"LIMIT = 1\n", "new": b"n\n"}, 3, base=base)
    assert fingerprint(world.repo) == before


@pytest.mark.parametrize(("mine", "theirs"), [("Notes/a.txt", "notes/b.txt"), ("extra/file", "extra")])
def test_a_tip_that_collides_in_shape_is_stale(world: World, mine: str, theirs: str) -> None:
    proposal = world.propose({mine: b"m\n"})
    commit(world.repo, {theirs: b"t\n"})
    with pytest.raises(StaleBase) as stale:
        prepare_landing(world.project, world.facts, world.private, proposal, "B1", "x")
    assert stale.value.paths == (mine,)


def test_foreign_and_checked_out_branches_are_left_alone(world: World, tmp_path: Path) -> None:
    git(world.repo, "branch", "navigator/B1")
    first = land(world, {"a": b"a\n"}, 1)
    assert first.ref == "refs/heads/navigator/B1-2"
    git(world.repo, "worktree", "add", "-q", str(tmp_path / "look"), "navigator/B1-2")
    second = land(world, {"b": b"b\n"}, 2)
    assert (second.ref, second.old, second.parent) == ("refs/heads/navigator/B1-3", "", first.commit)
    assert git(tmp_path / "look", "status", "--porcelain") == ""
    third = land(world, {"c": b"c\n"}, 3)
    assert third.ref == second.ref
    git(world.repo, "branch", "navigator/B2")
    git(world.repo, "worktree", "remove", str(tmp_path / "look"))
    assert git(world.repo, "rev-parse", "navigator/B2") == git(world.repo, "rev-parse", "main")


def test_a_branch_named_navigator_is_in_the_way(world: World) -> None:
    git(world.repo, "branch", "navigator")
    assert land(world, {"a": b"a\n"}, 1).ref == "refs/heads/navigator-B1"
    assert land(world, {"b": b"b\n"}, 2).ref == "refs/heads/navigator-B1"


def test_checked_out_between_plan_and_execution(world: World, tmp_path: Path) -> None:
    land(world, {"a": b"a\n"}, 1)
    plan = plan_for(world, {"b": b"b\n"}, 2)
    git(world.repo, "worktree", "add", "-q", str(tmp_path / "look"), "navigator/B1")
    with pytest.raises(LandingRefused, match="checked out"):
        execute_landing(plan)
    assert inspect_landing(plan) == "not_done"


def test_a_race_for_the_branch_is_refused(world: World) -> None:
    plan = plan_for(world, {"a": b"a\n"}, 1)
    git(world.repo, "branch", "navigator/B1")
    with pytest.raises(RefMoved):
        execute_landing(plan)
    assert inspect_landing(plan) == "diverged"
    assert git(world.repo, "rev-parse", "navigator/B1") == world.facts.head_commit
    land(world, {"a": b"a\n"}, 2)
    later = plan_for(world, {"b": b"b\n"}, 3)
    git(world.repo, "update-ref", "refs/heads/navigator/B1-2", "main")
    with pytest.raises(RefMoved):
        execute_landing(later)
    assert inspect_landing(later) == "diverged"


def test_a_locked_branch_is_refused_in_words(world: World) -> None:
    plan = plan_for(world, {"a": b"a\n"})
    lock = world.repo / ".git" / "refs" / "heads" / "navigator" / "B1.lock"
    lock.parent.mkdir()
    lock.touch()
    with pytest.raises(RefMoved) as refusal:
        execute_landing(plan)
    assert refusal.value.hint and inspect_landing(plan) == "not_done"


def test_a_kill_anywhere_is_told_from_the_repository(world: World) -> None:
    plan = plan_for(world, {"src/util.py": b"LIMIT = 5\n", "deep/er/x": b"x\n"})
    # Killed before anything, after some objects, after all of them, after the reference.
    assert inspect_landing(plan) == "not_done"
    made = world.private.git.run("cat-file", "commit", plan.commit).stdout
    git(world.repo, "hash-object", "-t", "commit", "-w", "--stdin", "--literally", input=made)
    assert inspect_landing(plan) == "not_done"
    execute_landing(plan)
    git(world.repo, "fsck", "--strict")
    assert inspect_landing(plan) == "done"
    execute_landing(plan)
    git(world.repo, "checkout", "-q", "navigator/B1")
    commit(world.repo, {"mine": b"m\n"})
    assert inspect_landing(plan) == "done"
    git(world.repo, "checkout", "-q", "main")
    git(world.repo, "branch", "-D", "-q", "navigator/B1")
    assert inspect_landing(plan) == "not_done"


def test_a_base_that_the_user_lost_still_lands_or_is_refused(world: World) -> None:
    git(world.repo, "checkout", "-q", "-b", "doomed")
    base = commit(world.repo, {"only-there.py": b"x = 1\n"})
    fits = world.propose({"src/util.py": b"LIMIT = 12\n"}, 1, base)
    needs = world.propose({"only-there.py": b"x = 2\n"}, 2, base)
    git(world.repo, "checkout", "-q", "main")
    git(world.repo, "branch", "-q", "-D", "doomed")
    git(world.repo, "reflog", "expire", "--expire=now", "--all")
    git(world.repo, "gc", "-q", "--prune=now")
    plan = prepare_landing(world.project, world.facts, world.private, fits, "B1", "x")
    execute_landing(plan)
    git(world.repo, "fsck", "--strict")
    assert plan.transplanted
    with pytest.raises(StaleBase) as stale:
        prepare_landing(world.project, world.facts, world.private, needs, "B1", "x")
    assert stale.value.paths == ("only-there.py",)


def test_refusals_of_policy_and_identity(world: World, tmp_path: Path) -> None:
    def refused(changes: dict[str, FileChange | bytes], words: str) -> None:
        with pytest.raises(LandingRefused, match=words):
            plan_for(world, changes)  # type: ignore[arg-type]

    refused({"src/util.py": FileChange(b"/etc/passwd", "120000")}, "symbolic link")
    refused({}, "changes nothing")
    mine = world.project
    world.project = mine.model_copy(update={"root_commit": "1" * 40})
    refused({"a": b"a\n"}, "holds a different repository than")
    world.project = mine
    (tmp_path / "home" / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    refused({"a": b"a\n"}, "who you are")


def test_the_repositorys_own_identity_wins(world: World) -> None:
    git(world.repo, "config", "user.email", "work@example.com")
    land(world, {"a": b"a\n"})
    said = git(world.repo, "log", "-1", "--format=%ae %ce", "navigator/B1")
    assert said == "work@example.com work@example.com"
    assert "work@example.com" in (world.repo / ".git/logs/refs/heads/navigator/B1").read_text()


def test_signed_where_commits_are_signed(world: World, tmp_path: Path) -> None:
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    git(world.repo, "config", "--global", "gpg.format", "ssh")
    git(world.repo, "config", "--global", "user.signingkey", str(key))
    git(world.repo, "config", "commit.gpgsign", "true")
    land(world, {"a": b"a\n"}, 1)
    assert "gpgsig -----BEGIN SSH SIGNATURE-----" in git(world.repo, "cat-file", "commit", "navigator/B1")
    git(world.repo, "config", "gpg.ssh.program", "/bin/true")
    assert "SSH SIGNATURE" in git(world.repo, "cat-file", "commit", land(world, {"c": b"c\n"}, 3).commit)
    key.unlink()
    before = fingerprint(world.repo)
    with pytest.raises(SignatureFailed) as refusal:
        plan_for(world, {"b": b"b\n"}, 2)
    assert refusal.value.hint
    assert fingerprint(world.repo) == before


def test_undo_moves_back_while_the_tip_is_ours(world: World) -> None:
    first = land(world, {"a": b"a\n"}, 1)
    second = land(world, {"b": b"b\n"}, 2)
    back = undo_landing(second, world.facts, world.private)
    assert (back.kind, back.commit) == ("moved_back", first.commit)
    assert git(world.repo, "rev-parse", "navigator/B1") == first.commit
    gone = undo_landing(first, world.facts, world.private)
    assert (gone.kind, gone.commit) == ("branch_deleted", "")
    assert git(world.repo, "branch", "--list", "navigator/*") == ""


def test_undo_below_other_commits_becomes_a_revert_branch(world: World) -> None:
    first = land(world, {"src/util.py": b"LIMIT = 7\n", "fresh": b"f\n", "README.md": None}, 1)
    second = land(world, {"b": b"b\n"}, 2)
    back = undo_landing(first, world.facts, world.private)
    assert (back.kind, back.ref) == ("revert_branch", "refs/heads/navigator/undo-P1")
    assert git(world.repo, "rev-parse", "navigator/B1", "navigator/undo-P1^").split() == [second.commit] * 2
    assert git(world.repo, "diff", "--name-only", "main", "navigator/undo-P1") == "b"
    git(world.repo, "fsck", "--strict")


def test_undo_after_a_merge_by_moving_the_branch_is_a_revert(world: World) -> None:
    """Both branches are at the landed commit then: taking one back leaves it on the other."""
    plan = land(world, {"src/util.py": b"LIMIT = 7\n"}, 1)
    git(world.repo, "merge", "-q", "--ff-only", "navigator/B1")
    back = undo_landing(plan, world.facts, world.private)
    assert (back.kind, back.ref) == ("revert_branch", "refs/heads/navigator/undo-P1")
    assert git(world.repo, "rev-parse", "main", "navigator/B1").split() == [plan.commit] * 2
    git(world.repo, "merge", "-q", "--ff-only", "navigator/undo-P1")
    assert git(world.repo, "show", "HEAD:src/util.py") == "LIMIT = 10"


def test_undo_after_a_merge_and_a_deleted_branch(world: World) -> None:
    plan = land(world, {"src/util.py": b"LIMIT = 7\n"}, 1)
    git(world.repo, "merge", "-q", "--no-ff", "-m", "merge", "navigator/B1")
    git(world.repo, "branch", "-D", "-q", "navigator/B1")
    back = undo_landing(plan, world.facts, world.private)
    assert back.kind == "revert_branch"
    assert git(world.repo, "show", "navigator/undo-P1:src/util.py") == "LIMIT = 10"
    commit(world.repo, {"src/util.py": b"LIMIT = 8\n"})
    with pytest.raises(UndoRefused, match="util"):
        undo_landing(plan, world.facts, world.private)


def test_undo_of_a_checked_out_branch_or_a_lost_commit(world: World, tmp_path: Path) -> None:
    plan = land(world, {"a": b"a\n"}, 1)
    git(world.repo, "worktree", "add", "-q", str(tmp_path / "look"), "navigator/B1")
    assert undo_landing(plan, world.facts, world.private).kind == "revert_branch"
    assert git(tmp_path / "look", "status", "--porcelain") == ""
    git(world.repo, "worktree", "remove", str(tmp_path / "look"))
    git(world.repo, "branch", "-D", "-q", "navigator/B1")
    with pytest.raises(UndoRefused):
        undo_landing(plan, world.facts, world.private)


def test_an_undo_races_and_is_inspected_like_a_landing(world: World) -> None:
    plan = land(world, {"a": b"a\n"}, 1)
    back = prepare_undo(plan, world.facts, world.private)
    assert LandingPlan.from_dict(json.loads(json.dumps(asdict(back)))) == back
    assert inspect_landing(back) == "not_done"
    later = land(world, {"b": b"b\n"}, 2)
    with pytest.raises(RefMoved):
        execute_landing(back)
    assert inspect_landing(back) == "diverged"
    execute_landing(prepare_undo(later, world.facts, world.private))
    execute_landing(back)
    assert inspect_landing(back) == "done"
    assert inspect_landing(replace(plan)) == "not_done"


def test_messages_and_branch_names() -> None:
    text = compose_message("Fix \x1b[31mit\n\nBecause.\n\n\n", {"Model": "m\nEvil: x", "Empty": " "})
    assert text == "Fix ␛[31mit\n\nBecause.\n\nModel: m␊Evil: x\n"
    assert compose_message("  ", {}) == "Change\n"
    for batch in ("B1", "../x", "a..b", "x.lock", "", "-a", "é é", "a~^:?*[\\b", "..."):
        name = branch_name(batch)
        subprocess.run(["git", "check-ref-format", "--branch", name], check=True, capture_output=True)
