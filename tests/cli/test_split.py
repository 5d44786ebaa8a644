"""`navigator split`, and what diff, proposals, approve and gc say of a part."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import at
from tests.journey.splitting import THIRTY, SplitBench


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SplitBench:
    return SplitBench(tmp_path, monkeypatch)


def test_from_a_choice_of_hunks_to_a_commit(bench: SplitBench) -> None:
    parent = bench.waiting()
    shown = at(bench).run("diff", parent).stdout
    assert all(f"  H{n} @@" in shown for n in range(1, 5))
    document = at(bench).json("split", parent, "h4")
    (part,) = document["proposals"]
    assert (part["parent"], part["hunks"], part["review"]) == (parent, ["H4"], None)
    assert [check["outcome"] for check in part["checks"]] == ["passed", "passed", "untested"]
    rest = {"task": "T1", "state": "awaiting_approval", "hunks": ["H1", "H2", "H3"], "proposal": "P3"}
    assert document["rest"] == rest
    said = at(bench).run("diff", part["id"]).stdout
    words = f"part of {parent}, reviewed as a whole (REVISE there)"
    assert words in said
    against = at(bench).run("diff", part["id"], "--against", parent).stdout
    assert "code.py" in against and "−thirty" not in against
    assert f"part of {parent}" in at(bench).run("proposals").stdout
    left_out = at(bench).json("approve", "--all-reviewed", "--yes")["left_out"]
    assert left_out == [{"id": one, "mark": "part", "reason": words} for one in (part["id"], "P3")]
    row = at(bench).json("approve", "--yes", part["id"])["decisions"][0]
    assert row["landing"] == "landed"
    assert bench.on_branch("n.txt").encode() == THIRTY.strip()


def test_what_is_said_in_words(bench: SplitBench) -> None:
    parent = bench.waiting({"README.md": None, "READ.md": b"# Code\n", "n.txt": THIRTY})
    shown = at(bench).run("diff", parent).stdout
    assert "F1 @@ renamed from README.md" in shown
    assert "There is no H7" in at(bench).run("split", parent, "H7", code=2).stderr
    said = at(bench).run("split", parent, "F1").stdout
    assert "P2  made from F1 of P1" in said and "P3  is the rest of P1: H1" in said
    assert (
        at(bench).json("approve", "--yes", "P2", "--confirm", "unseen")["decisions"][0]["landing"] == "landed"
    )
    assert bench.on_branch("READ.md") == "# Code"


def test_gc_keeps_what_the_rest_is_based_on(bench: SplitBench) -> None:
    parent = bench.proposal(bench.waiting())
    document = at(bench).json("split", parent.id, "H4")
    bench.approve(document["proposals"][0]["id"])
    dropped = at(bench).json("gc", "--older-than", "0h")
    assert dropped["proposals"] == 1
    with bench.world() as world:
        private = world.repositories.private(world.reader.project("code"))
        private.git.run("prune", "--expire=now")
    assert bench.approve(document["rest"]["proposal"])["landing"] == "landed"


def test_it_says_that_tests_run_before_they_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = SplitBench(tmp_path, monkeypatch, check="true")
    parent = bench.waiting()
    done = at(bench).run("split", parent, "H4", "--json")
    assert "Running the tests on the new proposal" in done.stderr and "`true`" in done.stderr
    assert len(json.loads(done.stdout)["proposals"]) == 1
