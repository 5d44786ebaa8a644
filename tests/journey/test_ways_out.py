"""Secrets planted in many places leave by no way: not by exports of reviews, events, metrics, MCP or the final model.

Each place has a token of its own, so that what leaks names where it was.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from navigator.cli.main import cli
from navigator.mcp.tools import Tools
from navigator.model.states import Verdict
from tests.journey.room import BAD, CODE_TESTED, TESTS, Room, block, text_of
from tests.journey.scripted_models import READER, Messages, Models, Refusal, approval, objection, speaking
from tests.journey.support import git
from tests.journey.test_metrics import scrape
from tests.journey.test_on_events import NOTE
from tests.sandbox.support import needs_sandbox
from tests.swap.desk import quiet_port

BY_VALUE = (
    *("withheld_file", "withheld_file_beside_the_checkout", "withheld_file_of_a_branch", "private_key"),
    *("generator_key", "reviewer_key", "task_in_an_address", "task_assigned", "task_private_key"),
)
"""They have no form of their own: Redactor knows them by value."""
PART = 12
"""So many characters of a secret in a row are a leak too: a text that is cut must not end in half of one."""
CUT = 4_000
"""Where an event's text is cut."""


def made(place: str) -> str:
    if place in BY_VALUE:
        return f"word-{hashlib.sha256(place.encode()).hexdigest()[:20]}"
    return f"ghp{'_'}{hashlib.sha512(place.encode()).hexdigest()[:36]}"


SECRET: dict[str, str] = {}


class Secrets:
    """A secret for each place that is named, and always the same one."""

    def __getattr__(self, place: str) -> str:
        return SECRET.setdefault(place, made(place))


S = Secrets()
HALF = block("app.py", "    return x / 2\n", "    return 0.5 * x\n")


def key_file() -> str:
    return f"-----BEGIN RSA PRIVATE KEY-----\n{S.private_key}\n-----END RSA PRIVATE KEY-----\n"


def plain_task() -> str:
    """What may leave for the final model, once every secret in it is redacted."""
    encoded = base64.b64encode(S.task_as_base64.encode()).decode()
    return "\n".join(
        (
            f"Plain: rework half(). {S.task_text}",
            f"See build_{S.task_in_a_word}_final.txt and {encoded}",
            f"postgres://app:{S.task_in_an_address}@db.example.org/x",
            f"curl -H 'Authorization: Bearer {S.task_in_a_header}'",
            f'db_password = "{S.task_assigned}"',
            f"-----BEGIN PRIVATE KEY-----\n{S.task_private_key}\n-----END PRIVATE KEY-----",
        )
    )


def repository(room: Room) -> Path:
    """Everything that a repository and its history can hold."""
    leaking = TESTS + (
        "\n\nclass Leaks(unittest.TestCase):\n    def test_leak(self):\n        import pathlib\n"
        f"        print(pathlib.Path('.env').read_text(), {S.test_output[::-1]!r}[::-1])\n"
        "        self.assertEqual(double(4), 8, pathlib.Path('.env').read_text())\n"
    )
    path = room.add(
        {
            "app.py": CODE_TESTED,
            "test_app.py": leaking,
            ".env": f"DB_PASSWORD={S.withheld_file}\n",
            "id_rsa": key_file(),
            "settings.py": f"TOKEN = '{S.file_with_a_token}'\n",
            f"notes {S.file_name}.txt": "Notes.\n",
            f"{S.folder_name}/readme.txt": "More.\n",
        }
    )
    (path / ".env.local").write_text(f"API_KEY={S.withheld_file_beside_the_checkout}\n")
    git(path, "remote", "add", "origin", f"https://me:{S.remote_address}@example.invalid/x")
    git(path, "checkout", "-q", "-b", f"topic-{S.branch_name}")
    (path / "more.py").write_text("def more():\n    return 1\n")
    (path / ".env.topic").write_text(f"API_KEY={S.withheld_file_of_a_branch}\n")
    git(path, "add", "more.py", ".env.topic")
    author = f"{S.author_name} <{S.author_address}@example.invalid>"
    body = f"Add {S.withheld_file_of_a_branch} {S.commit_subject}\n\nBecause of {S.commit_body}."
    git(path, "commit", "-q", f"--author={author}", "-m", body)
    (path / "staged.py").write_text(f"KEY = '{S.staged_file}'\n")
    git(path, "add", "staged.py")
    (path / "untracked.py").write_text(f"KEY = '{S.untracked_file}'\n")
    return path


@pytest.mark.sandbox
@pytest.mark.slow
@needs_sandbox
def test_no_planted_secret_leaves(
    bare: Room, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    room = bare
    monkeypatch.setattr(logging.getLogger("navigator"), "propagate", True)
    caplog.set_level(logging.DEBUG, "navigator")
    events, metrics, address = room.folder / "events.jsonl", list[str](), f"127.0.0.1:{quiet_port()}"
    command = json.dumps([sys.executable, "-c", NOTE, str(events)])
    monkeypatch.setenv("GENERATOR_KEY", S.generator_key)
    monkeypatch.setenv("REVIEWER_KEY", S.reviewer_key)
    room.settle(
        generator='api_key_env = "GENERATOR_KEY"',
        reviewer='api_key_env = "REVIEWER_KEY"',
        on="\n".join(f"{kind} = {command}" for kind in ("landed", "reviewed", "batch_ready", "failed")),
        metrics=f'listen = "{address}"',
    )
    refusals = [Refusal(400, f"{S.server_refusal} {S.reviewer_key}")]

    def write(messages: Messages) -> str:
        metrics.append(scrape(address)[0])
        if "Nothing to do" in str(messages):
            return f"NO_CHANGE: {S.reason_for_no_change} {S.generator_key}"
        if "Plain: " in str(messages):
            return f"{S.writer_words}\n\n{HALF}"
        if not any(message["role"] == "assistant" for message in messages):
            return BAD  # whose failing test prints what is withheld
        change = block("app.py", "    return x + x\n", f"    return 2 * x  # {S.written_line}\n")
        added = block(f"{S.written_path}.txt", "", f"{S.written_file}\n")
        return f"{S.writer_words}\n\n{change}\n{added}"

    def read(messages: Messages) -> str | Refusal:
        metrics.append(scrape(address)[0])
        if refusals:
            return refusals.pop()
        said = {"message": f"{S.finding_message} {S.withheld_file}", "trigger": S.finding_trigger}
        loose = objection(S.finding_quote, message=S.finding_without_a_place, severity="minor")
        findings = [objection("return 2 * x", **said), loose]
        summary = f"{S.review_summary} {S.withheld_file_beside_the_checkout} {key_file()}"
        return json.dumps({"summary": summary, "addressed": [], "findings": findings, "verdict": "REVISE"})

    room.models.write, room.models.read = write, read
    path = repository(room)
    branch = f"topic-{S.branch_name}"
    text = f"Make double() multiply {S.task_title}\n\n"
    # The last one lies across the place where an event's text is cut.
    task = room.queue(f"{text}{'fill ' * 900}"[: CUT - 20] + f" {S.task_text}")
    room.queue("Nothing to do")
    queued = [
        room.act("review.add", project="code", **wanted)
        for wanted in ({"branch": branch}, {"staged": True}, {"worktree": True}, {"ref": "HEAD"})
    ]
    room.work()
    proposal = room.proposal(task)
    room.act("comment", proposal=proposal.id, path="app.py", line=2, side="new", text=S.comment)
    room.act("send-back", proposals=[{"id": proposal.id, "tree": proposal.tree}], note=S.note)
    plain = room.done(plain_task())
    room.act("project.set", name="code", escalate=True)
    with speaking(Models(lambda messages: "", lambda messages: approval())) as cloud:
        with room.config.open("a", encoding="utf-8") as config:
            config.write(f'[final]\nmodel = "{READER}"\nbase_url = "{cloud.url}"\n')
        row = room.act("escalate", proposals=[{"id": plain.id}], final=True)["proposals"][0]
        room.work()
        (asked,) = cloud.read_by
    # What the machine's own files hold is in no prompt either, and a file beside the checkout not even in the database.
    prompts = json.dumps(room.models.written + room.models.read_by)
    exported = CliRunner().invoke(cli, ["export", str(room.folder / "export")])
    assert exported.exit_code == 0 and "[redacted" in prompts
    tables = "".join(file.read_text(encoding="utf-8") for file in (room.folder / "export").iterdir())
    for secret in (S.withheld_file, S.withheld_file_beside_the_checkout, S.test_output):
        assert secret not in prompts and secret not in tables and secret not in caplog.text
    for file in room.paths.root.glob("navigator.db*"):
        assert S.test_output.encode() not in file.read_bytes()
    final = room.proposal(plain.id).final_review
    assert final is not None and final.verdict is Verdict.APPROVE
    assert "return 0.5 * x" in text_of(asked) and text_of(asked).count("[redacted") == row["redacted"] > 6
    assert base64.b64encode(S.task_as_base64.encode()).decode() not in text_of(asked)

    ways = {"events": events.read_text(encoding="utf-8"), "metrics": "".join(metrics)}
    ways["final model"] = text_of(asked)
    runner = CliRunner()
    places = (["--branch", branch], ["--staged"], ["--worktree"], ["HEAD"])
    forms = [(form, places[0]) for form in ("text", "markdown", "sarif")]
    for form, wanted in (*forms, *(("json", one) for one in places)):
        done = runner.invoke(cli, ["review", "code", *wanted, "--format", form])
        ways[f"review {form} {wanted[0]}"] = done.output
    tools = Tools(room.paths)
    ways["mcp"] = json.dumps(
        [tools.call(name, {}) for name in ("list_projects", "list_proposals", "status")]
        + [tools.call("show_proposal", {"id": one.id}) for one in room.read().proposals()]
        + [tools.call("review_ref", {"project": "code", "ref": branch})]
    )
    assert queued and path.is_dir()
    for marker in ("reviewed", "[redacted"):
        assert marker in ways["events"]
    assert "[redacted" in ways["mcp"] and "navigator_queue_depth" in ways["metrics"]
    leaks = {
        (place, way)
        for way, content in ways.items()
        for place, word in SECRET.items()
        if way == "final model" or not place.startswith("task_") or place in ("task_title", "task_text")
        if any(word[at : at + PART] in content for at in range(len(word) - PART + 1))
    }
    assert len(SECRET) >= 39 and leaks == set()
