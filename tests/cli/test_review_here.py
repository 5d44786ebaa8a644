"""`navigator review` and `task add` in any repository, against one server: no conductor, no project, no test command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.journey.scripted_models import Models, approval, objection, speaking
from tests.journey.support import git, make_repository

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
    assert alone.run("review", "main..topic", "--fail-on", "blocker", cwd=billing).returncode == 0


def test_a_script_can_tell_a_mistake_from_a_finding_and_from_nothing_to_review(
    alone: Command, billing: Path
) -> None:
    said = alone.run("review", "main..topc", "--fail-on", "major", cwd=billing, code=2).stderr
    assert "has no commit 'topc'" in said and "Its branches: " in said
    for words in (("topic..main",), ("--worktree",), ("--staged",)):
        done = alone.run("review", *words, "--fail-on", "nit", "--format", "sarif", cwd=billing)
        assert json.loads(done.stdout)["runs"][0]["results"] == []
        assert "othing" in done.stderr
    assert json.loads(alone.run("review", "--staged", "--json", cwd=billing).stdout) == {"reviews": []}


def test_what_was_reviewed_before_says_when_and_how_to_go_on(alone: Command, billing: Path) -> None:
    first = alone.run("review", "main..topic", cwd=billing).stderr
    assert "`navigator fix P1` has the findings fixed" in first and "Reviewed on" not in first
    assert "Again: `navigator escalate P1`." in alone.run("review", "main..topic", cwd=billing).stderr


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
    assert (
        alone.run("review", "--format", "sarif", cwd=billing, code=1).stdout.count(
            '"executionSuccessful": false'
        )
        == 1
    )
