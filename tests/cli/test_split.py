"""`navigator split`, and what diff, proposals, approve and gc say of a part."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.journey.splitting import THIRTY, SplitBench


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SplitBench:
    return SplitBench(tmp_path, monkeypatch)


def test_from_a_choice_of_hunks_to_a_commit(bench: SplitBench) -> None:
    parent = bench.waiting()
    shown = bench.desk.run("diff", parent).stdout.decode()
    assert all(f"  H{n} @@" in shown for n in range(1, 5))
    document = bench.desk.json("split", parent, "h4")
    (part,) = document["proposals"]
    assert (part["parent"], part["hunks"], part["review"]) == (parent, ["H4"], None)
    assert [check["outcome"] for check in part["checks"]] == ["passed", "passed", "untested"]
    rest = {"task": "T1", "state": "awaiting_approval", "hunks": ["H1", "H2", "H3"], "proposal": "P3"}
    assert document["rest"] == rest
    said = bench.desk.run("diff", part["id"]).stdout.decode()
    words = f"part of {parent}, reviewed as a whole (REVISE there)"
    assert words in said
    against = bench.desk.run("diff", part["id"], "--against", parent).stdout.decode()
    assert "code.py" in against and "−thirty" not in against
    assert f"part of {parent}" in bench.desk.run("proposals").stdout.decode()
    left_out = bench.desk.json("approve", "--all-reviewed", "--yes")["left_out"]
    assert left_out == [{"id": one, "mark": "part", "reason": words} for one in (part["id"], "P3")]
    row = bench.desk.json("approve", "--yes", part["id"])["decisions"][0]
    assert row["landing"] == "landed"
    assert bench.on_branch("n.txt").encode() == THIRTY.strip()


def test_what_is_said_in_words(bench: SplitBench) -> None:
    parent = bench.waiting({"README.md": None, "READ.md": b"# Code\n", "n.txt": THIRTY})
    shown = bench.desk.run("diff", parent).stdout.decode()
    assert "F1 @@ renamed from README.md" in shown
    said = bench.desk.run("split", parent, "F1").stdout.decode()
    assert "P2  made from F1 of P1; its checks are done" in said and "P3  is the rest of P1: H1" in said
    assert (
        bench.desk.json("approve", "--yes", "P2", "--confirm", "unseen")["decisions"][0]["landing"]
        == "landed"
    )
    assert bench.on_branch("READ.md") == "# Code"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["H1,H2,H3,H4"], 2, "Approve the proposal itself"),
        (["H7"], 2, "There is no H7"),
        (["H1", "--tree", "abcdef"], 2, "at least 12 digits"),
        (["H1", "--tree", "abcdefabcdef"], 1, "changed since you looked"),
    ],
)
def test_a_choice_that_is_none_is_refused(bench: SplitBench, words: list[str], code: int, says: str) -> None:
    parent = bench.waiting()
    done = bench.desk.run("split", parent, *words, codes=(code,))
    assert says in done.stderr.decode()
    assert len(bench.desk.json("proposals")["proposals"]) == 1


def test_gc_keeps_what_the_rest_is_based_on(bench: SplitBench) -> None:
    parent = bench.proposal(bench.waiting())
    document = bench.desk.json("split", parent.id, "H4")
    bench.approve(document["proposals"][0]["id"])
    dropped = json.loads(bench.desk.run("gc", "--older-than", "0h", "--json").stdout)
    assert dropped["proposals"] == 1
    with bench.world() as world:
        private = world.private(world.reader.project("code"))
        private.git.run("prune", "--expire=now")
    assert bench.approve(document["rest"]["proposal"])["landing"] == "landed"


def test_it_says_that_tests_run_before_they_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = SplitBench(tmp_path, monkeypatch, check="true")
    parent = bench.waiting()
    done = bench.desk.run("split", parent, "H4", "--json")
    assert b"Running the tests on the new proposal" in done.stderr and b"`true`" in done.stderr
    assert len(json.loads(done.stdout)["proposals"]) == 1
