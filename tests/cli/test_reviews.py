"""`navigator review` in scripts and in any repository: what it prints, waiting, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from navigator.model.models import Finding, Review
from navigator.model.secrets import Redactor
from navigator.model.states import Criterion, FindingKind, Severity, Verdict
from navigator.model.text import is_unsafe
from navigator.sheet import reviews as words
from navigator.sheet.reviews import review_document, sarif, standing, unread
from tests import records
from tests.cli.conftest import Command
from tests.cli.json_schema import problems
from tests.journey.scripted_models import Models, approval, objection, speaking
from tests.journey.support import git, make_repository

SCHEMA = json.loads((Path(__file__).parent / "data" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1bC3dE5"
HOSTILE = f"\x1b[31m<script>alert(1)</script> ](http://x) `{TOKEN}` @all\n# Heading\u202e"


def finding(**fields: Any) -> Finding:
    return records.finding(path="src/ä b.py", line=7).model_copy(update=fields)


def document(*findings: Finding, verdict: Verdict = Verdict.REVISE, **fields: Any) -> dict[str, Any]:
    task = records.asked(project="code", ref=fields.pop("ref", "main..topic"), head="a" * 40)
    review = Review(verdict=verdict, stated_verdict=verdict, summary=HOSTILE, findings=findings, model="m")
    held = records.proposed(id="P1", project="code", written_by="generator", title=HOSTILE, review=review)
    real: Any = SimpleNamespace(rehearsal=False)
    return review_document(real, task, held, Redactor())


EVERY = [
    finding(),
    finding(side="old"),
    finding(line=None, anchored=False, severity=Severity.BLOCKER),
    finding(path="", line=None, kind=FindingKind.MISSING, criterion=Criterion.COMPLETENESS),
    finding(severity=Severity.MINOR, message=HOSTILE, quote=HOSTILE, trigger=HOSTILE),
    finding(severity=Severity.NIT, path="caf\udce9.py"),
]


def test_sarif_fits_the_schema() -> None:
    log = json.loads(json.dumps(sarif([document(*EVERY), document(verdict=Verdict.UNREVIEWED)])))
    assert list(problems(log, SCHEMA, SCHEMA)) == []
    (run,) = log["runs"]
    assert [(one["kind"], one["level"]) for one in run["results"]] == [
        ("fail", "error"),
        ("fail", "error"),
        ("informational", "none"),
        ("fail", "error"),
        ("fail", "warning"),
        ("fail", "note"),
    ]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "src/%C3%A4%20b.py" and place["region"]["startLine"] == 7
    assert not run["invocations"][0]["executionSuccessful"]
    assert len({one["partialFingerprints"]["navigatorFinding/v1"] for one in run["results"]}) == 4


def test_the_schema_refuses_what_is_wrong() -> None:
    log = sarif([document(*EVERY)])
    run = log["runs"][0]
    run["results"][0]["level"] = "fatal"
    run["results"][1]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    del run["tool"]["driver"]["name"]
    log["other"] = run["results"][2]["message"]["text"] = 3
    assert len(list(problems(log, SCHEMA, SCHEMA))) == 5


def test_nothing_of_an_author_or_a_model_leaves_as_markup_or_secret() -> None:
    one = document(*EVERY, ref=f"topic-{TOKEN}")
    for text in (
        json.dumps(one),
        json.dumps(sarif([one])),
        words.shown([one], "text"),
        words.shown([one], "markdown"),
    ):
        assert TOKEN not in text
    for line in (*words.shown([one], "text").splitlines(), *words.shown([one], "markdown").splitlines()):
        assert not is_unsafe(line)
    marked = words.shown([one], "markdown")
    assert "<script>" not in marked.replace("`", "").replace("\\<", "") or "\\<script\\>" in marked
    assert "\n# Heading" not in marked and "\\]\\(http" in marked and "\\@all" in marked


def test_what_stands() -> None:
    one = document(*EVERY)
    assert [standing([one], severity.value) for severity in Severity] == [0, 3, 4, 5]
    assert unread([one]) == [] and len(unread([document(verdict=Verdict.UNREVIEWED)])) == 1


@pytest.fixture
def repository(tmp_path: Path, command: Command) -> Path:
    made = make_repository(tmp_path / "code", {"app.py": b"def double(x):\n    return x + x\n"})
    command.run("project", "add", str(made))
    return made


def test_a_script_gets_the_verdict(command: Command, repository: Path) -> None:
    (repository / "app.py").write_text(
        "def double(x):\n    return x + x\n\n\ndef half(x):\n    return x // 0\n"
    )
    git(repository, "commit", "-q", "-a", "-m", "Add half")
    assert [task["ref"] for task in command.json("review", "code", "--queue")["tasks"]]
    environment = command.environment()
    words_ = [sys.executable, "-m", "navigator", "review", "code", "--json"]
    done = subprocess.run(words_, env=environment, check=True, capture_output=True, timeout=240)
    (review,) = json.loads(done.stdout)["reviews"]
    assert review["verdict"] in ("APPROVE", "REVISE") and review["rehearsal"] and review["head"]
    serious = standing([review], "major")
    log = command.run("review", "code", "--fail-on", "major", "--format", "sarif", code=int(serious > 0))
    assert list(problems(json.loads(log.stdout), SCHEMA, SCHEMA)) == []
    assert "simulated" in log.stdout
    assert "REHEARSAL" in command.run("review", "code").stdout


@pytest.mark.parametrize(
    "wrong", ["HEAD --staged", "--branch x --worktree", "--json --format sarif", "--fail-on terrible"]
)
def test_wrong_use_is_refused(command: Command, wrong: str) -> None:
    command.run("review", "code", *wrong.split(), code=2)


ONE = "qwen3-coder:30b"


@pytest.fixture
def models() -> Iterator[Models]:
    found = approval(verdict="REVISE", findings=[objection("    return x // 0")])
    with speaking(Models(write=lambda _: "", read=lambda _: found, names=(ONE, ONE))) as served:
        yield served


@pytest.fixture
def alone(tmp_path: Path, models: Models) -> Command:
    (tmp_path / "config.toml").write_text(models.settings)
    return Command(tmp_path / "state", tmp_path / "config.toml")


@pytest.fixture
def billing(tmp_path: Path) -> Path:
    made = make_repository(tmp_path / "billing", {"src/app.py": b"def double(x):\n    return x + x\n"})
    git(made, "switch", "-q", "-c", "topic")
    (made / "src/app.py").write_text(
        "def double(x):\n    return x + x\n\n\ndef half(x):\n    return x // 0\n"
    )
    git(made, "commit", "-q", "-a", "-m", "Add half")
    return made


def test_a_range_is_reviewed_at_once_in_a_subfolder_of_any_repository(alone: Command, billing: Path) -> None:
    inside = billing / "src"
    done = alone.run("review", "main..topic", "--fail-on", "major", cwd=inside, code=1)
    assert "billing is now a project" in done.stderr and f"with {ONE}" in done.stderr
    quoted, finding = done.stdout.splitlines()[-3:-1]
    assert quoted == "  src/app.py:6  return x // 0"
    assert finding == "    major, correctness: This is wrong."
    # Reviewed before: printed again, from any folder, in any form, without asking the model.
    (review,) = alone.json("review", str(billing), "main..topic")["reviews"]
    assert review["verdict"] == "REVISE" and not review["self_review"]
    log = json.loads(alone.run("review", "billing", "main..topic", "--format", "sarif").stdout)
    assert log["runs"][0]["results"][0]["level"] == "error"
    again = alone.run("review", "main..topic", "--fail-on", "blocker", cwd=billing).stderr
    assert "`navigator fix P1` has the findings fixed" in done.stderr and "Reviewed on" not in done.stderr
    assert "Again: `navigator escalate P1`." in again


def test_a_script_can_tell_a_mistake_from_a_finding_and_from_nothing_to_review(
    alone: Command, billing: Path
) -> None:
    said = alone.run("review", "main..topc", "--fail-on", "major", cwd=billing, code=2).stderr
    assert "has no commit 'topc'" in said
    for what in ("topic..main", "--worktree", "--staged"):
        done = alone.run("review", what, "--fail-on", "nit", "--format", "sarif", cwd=billing)
        assert json.loads(done.stdout)["runs"][0]["results"] == []
        assert "othing" in done.stderr
    assert json.loads(alone.run("review", "--staged", "--json", cwd=billing).stdout) == {"reviews": []}


def test_it_leaves_what_else_waits_alone(alone: Command, billing: Path, models: Models) -> None:
    assert "is now a project" in alone.run("task", "add", "Make it faster", cwd=billing / "src").stderr
    alone.run("review", "--queue", cwd=billing)
    alone.run("review", "main..topic", "--each", cwd=billing)
    assert [one["state"] for one in alone.json("task", "list")["tasks"]] == ["queued", "awaiting_approval"]
    assert models.written == [] and len(models.read_by) == 1


def test_a_model_that_reads_what_it_wrote_is_said(alone: Command, billing: Path) -> None:
    git(billing, "commit", "-q", "--amend", "-m", f"Add half\n\nGenerated-By: {ONE} generate/abc")
    said = alone.run("review", cwd=billing).stdout
    assert "self-reviewed" in said and f"{ONE} wrote this change and reviewed it" in said
    assert json.loads(alone.run("review", "--json", cwd=billing).stdout)["reviews"][0]["self_review"]


@pytest.mark.parametrize("words", [("review", "biling", "main..topic"), ("task", "add", "biling", "Mend it")])
def test_a_name_that_is_nearly_right(alone: Command, billing: Path, words: tuple[str, ...]) -> None:
    alone.run("project", "add", str(billing))
    assert "Did you mean billing?" in alone.run(*words, cwd=billing.parent, code=2).stderr


def url_of(config: str) -> str:
    return config.partition('base_url = "')[2].partition('"')[0]


def test_what_stands_in_the_way_is_said(alone: Command, billing: Path) -> None:
    assert "is in no git repository" in alone.run("review", cwd=billing.parent, code=2).stderr
    assert "nosuch" in alone.run("review", "nosuch", cwd=billing, code=None).stderr
    config = alone.config.read_text()
    alone.config.write_text("")
    missing = Command(alone.state.with_name("other"), alone.config)
    assert "navigator setup" in missing.run("review", cwd=billing, code=3).stderr
    assert missing.json("project", "list")["projects"] == []
    alone.config.write_text(config.replace(url_of(config), "http://127.0.0.1:9"))
    refused = alone.run("review", "--fail-on", "nit", cwd=billing, code=4)
    assert "not reviewed, queued again" in refused.stderr and refused.stderr.count("navigator doctor") == 1
    log = alone.run("review", "--format", "sarif", cwd=billing, code=1).stdout
    assert log.count('"executionSuccessful": false') == 1
