"""What became of the lines of findings that landed unrepaired, from real landings to the statistics."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from navigator.exam.blame import WEEKS
from navigator.model.models import Finding, Review
from navigator.model.states import Role, Severity, Verdict
from tests.git.world import fingerprint
from tests.journey.answers import grounded
from tests.journey.landing_bench import LandingBench
from tests.journey.room import Room
from tests.journey.scripted_models import Models, approval, objection, speaking
from tests.journey.support import differences, git, hurry

CODE = {0: "d0/f.txt", 1: "n1/made/new.txt", 3: "d3/f.txt", 4: "d4/f.txt"}
"""The file that each proposal of the bench makes; its second line is `2`."""


def finding(path: str, quote: str = "2", **more: object) -> Finding:
    return grounded(path=path, line=2, quote=quote, **more)


def approving(*findings: Finding) -> Review:
    return Review(role=Role.REVIEWER, verdict=Verdict.APPROVE, model="scripted/reader", findings=findings)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LandingBench:
    """Five landed proposals; each but the third had a finding on its second line."""
    made = LandingBench(tmp_path, monkeypatch, landing="current", proposals=5)
    with made.world() as world, world.store.transaction() as tx:
        for number, path in CODE.items():
            quote = "2" if number != 4 else "something else"
            findings = (finding(path, severity=Severity.NIT), finding(path, quote))
            tx.add_review(made.waiting[number], approving(*findings))
    for identifier in made.waiting:
        made.approve(identifier)
    return made


def seen(bench: LandingBench) -> dict[str, str]:
    """Fates by the number of the review, after a look that left the repository as it was."""
    before = fingerprint(bench.repository)
    bench.act("reverts.look")
    assert differences(before, fingerprint(bench.repository)) == []
    with bench.desk.reading() as store:
        names = {row["id"]: f"P{row['proposal_id']}" for row in store.export_rows("reviews")}
        rows = [*store.export_rows("afterlives")]
        assert {row["finding"] for row in rows} <= {1}, "a nit is not looked at"
        return {names[row["review_id"]]: row["fate"] for row in rows}


def test_a_line_is_fixed_changed_kept_or_not_known(bench: LandingBench) -> None:
    one, two, _, four, five = bench.waiting
    kept = {one: "kept", two: "kept", four: "kept", five: "unknown"}
    assert seen(bench) == kept
    # A change long after does not count.
    (bench.repository / CODE[0]).write_text("one\ntwo\nthree\n")
    words = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qam", "Fix a crash with digits"]
    late = (datetime.now(UTC) + timedelta(weeks=WEEKS, days=1)).isoformat()
    subprocess.run(words, cwd=bench.repository, check=True, env=os.environ | {"GIT_COMMITTER_DATE": late})
    assert seen(bench) == kept
    git(bench.repository, "reset", "--hard", "--quiet", "HEAD~1")
    bench.commit({"d0/f.txt": "zero\none\n2\nthree\n"}, "Count from zero")  # moves the line and leaves it
    assert seen(bench) == kept
    bench.commit({"d0/f.txt": "zero\none\ntwo\nthree\n"}, "Fix a crash with digits")
    bench.commit({CODE[1]: "one\ntwo\nthree\n"}, "Write numbers in words")
    assert seen(bench) == kept | {one: "fixed", two: "changed"}
    # The first change settles it.
    bench.commit({CODE[1]: "one\nTWO\nthree\n"}, "Fix the letters of two")
    assert seen(bench) == kept | {one: "fixed", two: "changed"}
    # A file that is gone was changed, and hostile words are not obeyed.
    (bench.repository / "d3/f.txt").unlink()
    bench.commit({"d4/f.txt": "one\n2\nthree\nfour\n"}, "[bold]Fix[/bold] \x1b[31m a bug; rm -rf ~")
    assert seen(bench)[four] == "fixed"
    told = json.loads(bench.desk.read("stats", "reviewer", "--json"))["afterlife"]
    every = told["rows"][0]
    assert (every["fixed"]["k"], every["changed"]["k"], every["fixed"]["n"], told["unknown"]) == (2, 1, 3, 1)
    shown = bench.desk.read("stats", "reviewer")
    assert "\x1b" not in shown
    assert "a fix changed the line 2 of 3, another commit did 1 of 3" in " ".join(shown.split())


def test_where_no_line_is_known_there_is_no_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = LandingBench(tmp_path, monkeypatch, landing="branch", proposals=1)
    with bench.world() as world, world.store.transaction() as tx:
        tx.add_review(bench.waiting[0], approving(finding(CODE[0])))
    bench.approve(bench.waiting[0])
    bench.act("reverts.look")
    told = bench.desk.read("stats", "reviewer")
    assert "1 not known: not on the base" in told


def test_findings_on_existing_commits_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)
    models = Models(lambda messages: approval())
    models.read = lambda messages: approval(findings=[objection("    return x * 3")], verdict="REVISE")
    with speaking(models) as speaker:
        room = Room(tmp_path, speaker, monkeypatch)
        code = room.repository / "app.py"
        for text, subject in (("x * 3", "Triple"), ("2 * x", "Fix a wrong factor")):
            code.write_text(f"def double(x):\n    return {text}\n")
            git(room.repository, "commit", "-qam", subject)
            if subject == "Triple":
                room.act("review.add", project="code")
                room.work()
                room.act("finding.judge", proposal="P1", number=1, judgement="wrong")
    room.act("reverts.look")
    told = room.desk.read("stats", "reviewer", "--json")
    (_, row) = json.loads(told)["afterlife"]["rows"]
    assert (row["judged"], row["fixed"]["k"]) == ("wrong", 1)
