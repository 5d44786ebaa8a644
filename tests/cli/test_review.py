"""`navigator review` in scripts: waiting, exit codes, and what it prints, with the rehearsal's models."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from navigator.cli.main import cli
from navigator.model.errors import UsageError
from navigator.model.models import Finding, Proposal, Review, Task
from navigator.model.secrets import Redactor
from navigator.model.states import Criterion, FindingKind, Role, Severity, TaskState, Verdict
from navigator.model.text import is_unsafe
from navigator.sheet import reviews as words
from navigator.sheet.reviews import review_document, sarif, standing, unread
from tests.cli.conftest import Command
from tests.cli.json_schema import problems
from tests.journey.support import git, make_repository

SCHEMA = json.loads((Path(__file__).parent / "data" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1bC3dE5"
HOSTILE = f"\x1b[31m<script>alert(1)</script> ](http://x) `{TOKEN}` @all\n# Heading\u202e"


def finding(**fields: Any) -> Finding:
    made: dict[str, Any] = {
        "kind": FindingKind.WRONG,
        "hunk": "H1",
        "path": "src/ä b.py",
        "line": 7,
        "quote": "return x",
        "severity": Severity.MAJOR,
        "criterion": Criterion.SAFETY,
        "trigger": "always",
        "message": "This is wrong.",
        "anchored": True,
    }
    return Finding(**(made | fields))


def document(*findings: Finding, verdict: Verdict = Verdict.REVISE, **fields: Any) -> dict[str, Any]:
    task = Task(
        id="T1",
        project_id=1,
        project="code",
        text="x",
        ref=fields.pop("ref", "main..topic"),
        head="a" * 40,
        state=TaskState.AWAITING_APPROVAL,
        created="",
        updated="",
    )
    review = Review(verdict=verdict, stated_verdict=verdict, summary=HOSTILE, findings=findings, model="m")
    held = Proposal(
        id="P1", task_id="T1", project_id=1, project="code", attempt=0, round=0, base_commit="b" * 40, tree="c" * 40,
        written_by=Role.GENERATOR, title=HOSTILE, review=review,
    )  # fmt: skip
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
    "words_",
    [
        ("code", "HEAD", "--staged"),
        ("code", "--branch", "x", "--worktree"),
        ("code", "--json", "--format", "sarif"),
        ("code", "--fail-on", "terrible"),
    ],
)
def test_wrong_use_is_refused(words_: tuple[str, ...]) -> None:
    done = CliRunner().invoke(cli, ["review", *words_])
    error = done.exception
    assert done.exit_code == 2 or (isinstance(error, UsageError) and error.exit_code == 2)
