"""Some hunks taken: what becomes of them, of the rest, and of both when they land, are refused or undone."""

from __future__ import annotations

from pathlib import Path

import pytest

from navigator.figures.queries import verdict_counts
from navigator.git.hunks import ChoiceRefused
from navigator.model.errors import Conflict
from navigator.model.states import CheckOutcome, ProposalState, TaskState
from navigator.sheet.marks import facts_of, marks
from tests.journey.splitting import BATCH, CHANGED, CODE, FIVE, NUMBERS, THIRTY, SplitBench
from tests.journey.support import git
from tests.sandbox.support import needs_sandbox


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SplitBench:
    return SplitBench(tmp_path, monkeypatch)


def outcomes(bench: SplitBench, identifier: str) -> dict[str, CheckOutcome]:
    return {check.name: check.outcome for check in bench.proposal(identifier).checks}


# The part


def test_a_part_and_the_rest_are_proposals_that_went_through_the_gates(bench: SplitBench) -> None:
    """Nobody writes the rest again: its hunks, on top of the part whose file they are in, with checks of its own."""
    parent = bench.proposal(bench.waiting())
    with bench.desk.reading() as store:
        asked = store.call_counts()
    result = bench.split(parent.id, "H4")
    part = bench.proposal(result["part"]["id"])
    task = bench.task(part.task_id)
    assert (part.parent, part.hunks) == (parent.id, ("H4",))
    assert bench.content(part.tree, "n.txt") == THIRTY
    assert bench.content(part.tree, "code.py") == CODE
    assert part.base_commit == parent.base_commit
    assert (part.model, part.prompt_version, part.batch) == (parent.model, parent.prompt_version, BATCH)
    assert (part.usage.prompt_tokens, part.review) == (0, None)
    assert (part.added, part.removed, part.paths) == (1, 1, ("n.txt",))
    assert part.title == f"Change the numbers (part of {parent.id})"
    assert outcomes(bench, part.id)["files parse"] is CheckOutcome.PASSED
    assert outcomes(bench, part.id)["path policy"] is CheckOutcome.PASSED
    assert (task.origin, task.state) == (parent.task_id, TaskState.AWAITING_APPROVAL)
    assert task.text == bench.task(parent.task_id).text
    told = {"task": parent.task_id, "state": "awaiting_approval", "hunks": ["H1", "H2", "H3"]}
    assert result["rest"] == told | {"proposal": "P3"}
    assert bench.proposal(parent.id).state is ProposalState.SUPERSEDED
    rest = bench.proposal("P3")
    assert (rest.task_id, rest.attempt, rest.parent) == (parent.task_id, 1, parent.id)
    assert (rest.hunks, rest.tree) == (("H1", "H2", "H3"), parent.tree)
    assert bench.content(rest.base_commit, "n.txt") == THIRTY
    assert rest.title == f"Change the numbers (the rest of {parent.id})"
    assert outcomes(bench, rest.id).keys() == outcomes(bench, part.id).keys()
    assert bench.task(rest.task_id).state is TaskState.AWAITING_APPROVAL
    with bench.desk.reading() as store:
        (known,) = facts_of(store, [rest.id])
        assert store.call_counts() == asked, "no model was asked"
        assert [row.n for row in verdict_counts(store)] == [1], "the whole was reviewed once"
    words = f"part of {parent.id}, reviewed as a whole (REVISE there)"
    assert [mark.words for mark in marks(known)][:1] == [words]


def test_a_rest_in_other_files_lands_without_the_part(bench: SplitBench) -> None:
    parent = bench.proposal(bench.waiting())
    result = bench.split(parent.id, "H1", "H2", alone=False)
    part, rest = result["part"], bench.proposal(result["rest"]["proposal"])
    assert (rest.base_commit, rest.paths) == (parent.base_commit, ("n.txt",))
    # Under a conductor the gates are left to it.
    assert bench.task(part["task_id"]).state is TaskState.CHECKING
    assert "is not waiting" in bench.approve(part["id"])["reason"]
    bench.recover()
    assert outcomes(bench, part["id"])["files parse"] is CheckOutcome.PASSED
    assert bench.approve(rest.id)["landing"] == "landed"
    bench.act("escalate", proposals=[{"id": part["id"]}])
    assert bench.task(part["task_id"]).state is TaskState.AWAITING_REVIEW, "a review can be asked for"


def test_a_part_and_a_rest_that_are_sent_back_stay_what_they_are(bench: SplitBench) -> None:
    parent = bench.proposal(bench.waiting())
    comment = {"proposal": parent.id, "path": "n.txt", "side": "new", "line": 5, "quote": "five"}
    bench.act("comment", **comment, text="digits")
    split = bench.split(parent.id, "H4")
    assert bench.decide("send_back", split["rest"]["proposal"])["recorded"]
    note = bench.task(parent.task_id).note
    assert note.startswith("Only a part of the answer") and "- H3 n.txt, line 5\n  -5\n  +five" in note
    assert "- H1 code.py, line 2" in note and "H4" not in note
    assert note.endswith("n.txt:5: five\n  digits")
    with pytest.raises(Conflict, match="already decided"):
        bench.act("comment", **comment | {"proposal": split["rest"]["proposal"]}, text="late")
    assert bench.decide("send_back", split["part"]["id"], note="in capitals")["recorded"]
    task = bench.task(split["part"]["task_id"])
    assert (task.state, task.attempt) == (TaskState.QUEUED, 1)
    assert task.note.startswith("Only a part") and task.note.endswith("in capitals")
    again = bench.proposal(bench.answer(task.id, {"n.txt": NUMBERS.replace(b"\n30\n", b"\nTHIRTY\n")}))
    assert (again.parent, again.hunks) == ("", ())


@pytest.mark.sandbox
@needs_sandbox
def test_the_projects_tests_run_on_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = "cp code.py code2.py && python3 -c 'import code2; assert code2.one() == 1'"
    bench = SplitBench(tmp_path, monkeypatch, check=check)  # H1 calls what H2 brings
    part = bench.split(bench.waiting(), "H1")["part"]
    assert outcomes(bench, part["id"])["tests"] is CheckOutcome.FAILED
    assert bench.task(part["task_id"]).state is TaskState.AWAITING_APPROVAL
    with_both = bench.split(bench.waiting(), "H1", "H2")["part"]
    assert outcomes(bench, with_both["id"])["tests"] is CheckOutcome.PASSED


def test_what_the_policy_asks_of_a_part_is_asked_again(bench: SplitBench) -> None:
    parent = bench.waiting({"Makefile": b"all:\n", "n.txt": THIRTY})
    assert bench.proposal(bench.split(parent, "H2")["part"]["id"]).policy == ()
    again = bench.waiting({"Makefile": b"all:\n", "n.txt": THIRTY})
    part = bench.split(again, "H1")["part"]["id"]
    assert [item.path for item in bench.proposal(part).policy] == ["Makefile"]
    assert "confirmed individually" in bench.approve(part)["reason"]
    row = bench.approve(part, confirm=[f"{bench.proposal(part).policy[0].rule}:Makefile"])
    assert row["landing"] == "landed"


def test_a_refused_choice_makes_nothing_and_only_what_waits_is_split_once(bench: SplitBench) -> None:
    parent = bench.waiting()
    with pytest.raises(ChoiceRefused):
        bench.split(parent, "H1", "H2", "H3", "H4")
    with pytest.raises(Conflict):
        bench.split(parent, "H1", tree="0" * 40)
    (held,) = bench.proposals()
    assert held.state is ProposalState.OPEN and len(bench.read().tasks()) == 1
    assert bench.task(held.task_id).state is TaskState.AWAITING_APPROVAL
    part = bench.split(parent, "H3", "H4")["part"]["id"]
    with pytest.raises(Conflict, match="replaced it"):
        bench.split(parent, "H1")
    with pytest.raises(Conflict, match="itself made from"):
        bench.split(part, "H1")


# Landing


@pytest.mark.parametrize("landing", ["branch", "current"])
def test_the_rest_lands_on_top_of_its_part(bench: SplitBench, landing: str) -> None:
    bench.act("project.set", name="code", landing=landing)
    parent = bench.proposal(bench.waiting())
    result = bench.split(parent.id, "H4")
    part, rest = result["part"]["id"], result["rest"]["proposal"]
    assert f"written on top of {part}" in bench.approve(rest)["reason"], "its ground has to land first"
    assert bench.proposal(rest).state is ProposalState.OPEN
    landed = bench.approve(part)
    assert landed["landing"] == "landed"
    message = git(bench.repository, "log", "-1", "--format=%B", landed["commit"])
    assert message.startswith(f"Change the numbers (part of {parent.id})")
    assert f"Navigator-Part-Of: {parent.id} (H4), reviewed as a whole" in message
    assert bench.approve(rest)["landing"] == "landed"
    branch = "main" if landing == "current" else "navigator/2026-01-01"
    for path, content in CHANGED.items():
        assert bench.on_branch(path, branch).encode() == content.strip()
    assert git(bench.repository, "rev-list", "--count", branch) == "3"


def test_the_rest_lands_where_the_developer_merged_the_part(bench: SplitBench) -> None:
    result = bench.split(bench.waiting(), "H4")
    bench.approve(result["part"]["id"])
    git(bench.repository, "merge", "--quiet", "--no-ff", "-m", "take it", "navigator/2026-01-01")
    git(bench.repository, "branch", "--quiet", "-D", "navigator/2026-01-01")
    assert bench.approve(result["rest"]["proposal"])["landing"] == "landed"
    assert "five" in bench.on_branch("n.txt")


@pytest.mark.parametrize("undone", [False, True])
def test_a_rest_whose_part_was_rejected_or_undone_starts_again(bench: SplitBench, undone: bool) -> None:
    parent = bench.proposal(bench.waiting())
    result = bench.split(parent.id, "H4")
    part = result["part"]["id"]
    if undone:
        bench.approve(part)
        said = bench.undo(part)
        assert said["undone"] and f"{parent.task_id} built on it" in said["reason"]
    else:
        bench.decide("reject", part, note="no")
    row = bench.approve(result["rest"]["proposal"])
    assert (row["landing"], bench.task(parent.task_id).state) == ("refused", TaskState.STALE)
    task = bench.task(parent.task_id)
    assert f"{part}, which is {'undone' if undone else 'rejected'}" in task.reason
    assert "do the whole task" in task.note


@pytest.mark.parametrize(("hunks", "alone"), [(("H1", "H2"), True), (("H4",), False)])
def test_undoing_a_part_under_its_rest_is_refused_or_a_revert(
    bench: SplitBench, hunks: tuple[str, ...], alone: bool
) -> None:
    result = bench.split(bench.waiting(), *hunks)
    part = result["part"]["id"]
    bench.approve(part)
    bench.approve(result["rest"]["proposal"])
    said = bench.undo(part)
    assert said["undone"] is alone
    if alone:
        assert said["ref"] == f"refs/heads/navigator/undo-{part}"
        assert bench.on_branch("code.py", f"navigator/undo-{part}").encode() == CODE.strip()


def test_a_part_whose_files_changed_is_rewritten_as_that_part(bench: SplitBench) -> None:
    parent = bench.proposal(bench.waiting())
    result = bench.split(parent.id, "H4")
    part = bench.proposal(result["part"]["id"])
    (bench.repository / "n.txt").write_bytes(FIVE)
    git(bench.repository, "commit", "--quiet", "-am", "meanwhile")
    assert bench.approve(part.id)["landing"] == "refused"
    task = bench.task(part.task_id)
    assert task.state is TaskState.STALE
    assert f"Only a part of the answer {parent.id}" in task.note and "+thirty" in task.note
    bench.approve(result["rest"]["proposal"])
    note = bench.task(parent.task_id).note
    assert bench.task(parent.task_id).state is TaskState.STALE
    assert f"written separately, as {part.task_id}" in note and "+thirty" in note
