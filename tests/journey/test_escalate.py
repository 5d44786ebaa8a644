"""Escalation: another reading of one proposal, by the reviewer or by a model on another machine, and what may leave for that."""

from __future__ import annotations

import base64
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from navigator.actions.deciding import Pinned
from navigator.actions.escalate import Escalate, EscalateArgs
from navigator.cli.main import cli
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.states import Escalation, TaskState, Verdict
from navigator.sheet.statistics.cost import read_costs
from tests.journey.scripted_models import READER, Models, Refusal, Said, approval, objection, speaking
from tests.journey.support import git, hurry, why_left_out
from tests.journey.test_conductor import Room, edit, text_of


@dataclass
class Wire:
    """A relay that keeps every byte on its way to the final model, headers included."""

    url: str = ""
    sent: bytearray = field(default_factory=bytearray)


@contextmanager
def relayed(target: str) -> Iterator[Wire]:
    host, _, port = target.removeprefix("http://").partition(":")
    wire, listener = Wire(), socket.create_server(("127.0.0.1", 0))
    wire.url = f"http://127.0.0.1:{listener.getsockname()[1]}"

    def pump(source: socket.socket, sink: socket.socket, keep: bool) -> None:
        try:
            while data := source.recv(65_536):
                if keep:
                    wire.sent += data
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            return  # the other side has closed

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
                server = socket.create_connection((host, int(port)))
            except OSError:
                return  # the test is over
            for way in ((client, server, True), (server, client, False)):
                threading.Thread(target=pump, args=way, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield wire
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


@dataclass
class Place:
    """A room whose final model is behind a relay, and off unless something is escalated."""

    room: Room
    local: Models
    cloud: Models
    wire: Wire

    def escalate(self, proposal: str, **fields: Any) -> dict[str, Any]:
        return self.room.act("escalate", proposals=[{"id": proposal}], **fields)

    def state(self) -> TaskState:
        (task,) = self.room.read().tasks()
        return task.state


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    hurry(monkeypatch)
    with ExitStack() as stack:
        local = stack.enter_context(speaking(Models(lambda messages: edit("return x * 2"))))
        cloud = stack.enter_context(speaking(Models(lambda messages: "", lambda messages: approval())))
        wire = stack.enter_context(relayed(cloud.url))
        room = Room(tmp_path, local, monkeypatch)
        final = f'[final]\nmodel = "{READER}"\nbase_url = "{wire.url}"\nprice = [2, 10.0]\n'
        room.config.write_text(local.settings + final, encoding="utf-8")
        yield Place(room, local, cloud, wire)


def test_a_second_reading_stands_beside_the_first_and_decides_nothing(place: Place) -> None:
    room, local = place.room, place.local
    room.queue()
    room.work()
    local.read = lambda messages: approval(findings=[objection("    return x * 2")], verdict="REVISE")
    assert place.escalate("P1")["proposals"][0]["again"]
    assert place.state() is TaskState.AWAITING_REVIEW
    with pytest.raises(Conflict, match="escalated already"):
        place.escalate("P1")
    room.work()
    (proposal,) = room.proposals()
    assert place.state() is TaskState.AWAITING_APPROVAL
    assert proposal.review is not None and proposal.first_review is not None
    assert (proposal.first_review.verdict, proposal.review.verdict) == (Verdict.APPROVE, Verdict.REVISE)
    assert room.task("T1").escalated is Escalation.NONE
    assert len(local.written) == 1  # its REVISE sends nothing back
    assert [row.verdict for row in room.read().verdict_counts()] == [Verdict.APPROVE]  # the first one counts
    # Asked until it approves: no batch takes that for an approval.
    local.read = lambda messages: approval()
    room.queue("Another", files=[])
    assert why_left_out(
        proposal.model_copy(update={"review": proposal.first_review, "first_review": proposal.review})
    )


def test_withdrawn_it_is_the_developers_again(place: Place) -> None:
    place.room.queue()
    place.room.work()
    place.escalate("P1")
    place.escalate("P1", withdraw=True)
    assert place.state() is TaskState.AWAITING_APPROVAL
    with pytest.raises(Conflict, match="not escalated"):
        place.escalate("P1", withdraw=True)


def test_nothing_leaves_a_project_that_does_not_allow_it(place: Place) -> None:
    place.room.queue()
    place.room.work()
    with pytest.raises(Conflict, match="does not let"):
        place.escalate("P1", final=True)
    place.room.act("project.set", name="code", escalate=True)
    place.escalate("P1", final=True)
    # Taken back before it was sent: what is asked at the time of sending decides.
    place.room.act("project.set", name="code", escalate=False)
    place.room.work()
    (proposal,) = place.room.proposals()
    assert place.state() is TaskState.AWAITING_APPROVAL
    assert proposal.final_review is not None and proposal.final_review.verdict is Verdict.UNREVIEWED
    assert place.cloud.read_by == [] and not place.wire.sent


def test_the_final_model_reads_what_was_shown_and_its_price_is_counted(place: Place) -> None:
    room, cloud = place.room, place.cloud
    cloud.read = lambda messages: Said(approval(), usage=(3_000, 400))
    room.queue()
    room.work()
    room.act("project.set", name="code", escalate=True)
    args = EscalateArgs(proposals=(Pinned(id="P1"),), final=True)
    question = Escalate().question(room.read(), args)
    assert question is not None and not place.wire.sent
    shown = "\n".join(question.lines)
    assert READER in shown and "app.py" in shown and place.wire.url.removeprefix("http://") in shown
    row = place.escalate("P1", final=True)["proposals"][0]
    assert not place.wire.sent  # nobody works yet
    room.work()
    (sent,) = cloud.read_by
    assert row["characters"] == sum(len(message["content"]) for message in sent)
    assert f"{row['characters']:,} characters" in shown and row["files"] == ["app.py"]
    (proposal,) = room.proposals()
    assert proposal.review is not None and proposal.final_review is not None
    assert proposal.final_review.price == pytest.approx((2 * 3_000 + 10 * 400) / 1e6)
    spent = read_costs(room.read(), "").made
    assert (spent.final_reviews, spent.final_price) == (1, proposal.final_review.price)
    assert place.state() is TaskState.AWAITING_APPROVAL


def test_a_final_model_that_does_not_answer_gives_the_proposal_back(place: Place) -> None:
    place.cloud.read = lambda messages: Refusal(401)
    place.room.queue()
    place.room.work()
    place.room.act("project.set", name="code", escalate=True)
    place.escalate("P1", final=True)
    place.room.work()
    (task,) = place.room.read().tasks()
    assert task.state is TaskState.AWAITING_APPROVAL and not task.escalated
    assert task.reason.startswith("The final model did not answer")


def test_without_a_terminal_nothing_is_sent_unless_it_is_said(place: Place) -> None:
    place.room.queue()
    place.room.work()
    place.room.act("project.set", name="code", escalate=True)
    done = CliRunner().invoke(cli, ["escalate", "P1", "--final"])
    assert isinstance(done.exception, NavigatorError) and "before you confirm" in str(done.exception)
    assert place.state() is TaskState.AWAITING_APPROVAL


# Secrets


def _token(number: int) -> str:
    body = base64.b64encode(f"{number:02d}secretOfPlace{number * 7919:07d}xyzQRS".encode()).decode()
    return f"gh{'p'}_{body.replace('=', '').replace('+', 'a').replace('/', 'b'):A<36}"[:44]


PLACES = (
    "task",
    "task, in a word",
    "task, as base64",
    "task, in an address",
    "task, in a header",
    "task, assigned",
    "task, a private key",
    "note",
    "comment",
    "unsent comment",
    "draft",
    "rest of the changed file",
    "another file",
    "a file that uses it",
    "file name",
    "folder name",
    ".env",
    "untracked .env",
    "untracked file",
    "commit message",
    "author",
    "branch",
    "tag",
    "git config",
    "stash",
    "ignore file",
    "conventions",
    "test output",
    "environment, in test output",
    "settings",
    "answer of the writer",
    "finding",
    "finding, its trigger",
    "summary of a review",
)
SECRETS = {where: _token(number) for number, where in enumerate(PLACES)}
SECRETS["environment, in test output"] = "correct-horse-9-battery"
SECRETS["untracked .env"] = "tr0ub4dor-and-three"
SECRETS["task, assigned"] = "hunter2-in-production"
SECRETS["task, in an address"] = "s3cr3tOfTheDatabase"
SECRETS["task, a private key"] = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"


def plant(place: Place, monkeypatch: pytest.MonkeyPatch) -> str:
    """Put a secret into every place; returns the text of the task."""
    room, said, folder = place.room, SECRETS, place.room.repository
    monkeypatch.setenv("SERVICE_PASSWORD", said["environment, in test output"])
    room.config.write_text(
        f"# {said['settings']}\n{room.config.read_text()}[checks]\nunsandboxed = true\n", encoding="utf-8"
    )
    files = {
        "app.py": f"{(folder / 'app.py').read_text()}{chr(10) * 20}TOKEN = '{said['rest of the changed file']}'\n",
        "other.py": f"KEY = '{said['another file']}'\n",
        "user.py": f"from app import double\n\nprint(double(2), '{said['a file that uses it']}')\n",
        f"key_{said['file name']}_old.py": "x = 1\n",
        f"{said['folder name']}/a.py": "from app import double\n\nprint(double(3))\n",
        ".env": f"TOKEN={said['.env']}\n",
        ".gitignore": ".env.local\nscratch.txt\n",
        ".navigatorignore": f"# {said['ignore file']}\n",
        "AGENTS.md": f"# Conventions\n\nUse {said['conventions']}.\n",
        "tests.sh": f"cat .env .env.local; echo $SERVICE_PASSWORD {said['test output']}; exit 1\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / ".env.local").write_text(f"PASSWORD={said['untracked .env']}\n")
    (folder / "scratch.txt").write_text(said["untracked file"])
    git(folder, "add", "--all")
    author = f"--author={said['author']} <a@example.org>"
    git(folder, "commit", "--quiet", author, "-m", f"Use {said['commit message']}")
    git(folder, "branch", said["branch"])
    git(folder, "tag", said["tag"])
    git(folder, "config", "remote.origin.url", f"https://u:{said['git config']}@example.org/r.git")
    (folder / "other.py").write_text(f"# {said['stash']}\n")
    git(folder, "stash", "--quiet")
    room.act("project.set", name="code", escalate=True, check="sh tests.sh")
    room.act("draft.save", key="compose", text=said["draft"])
    encoded = base64.b64encode(said["task, as base64"].encode()).decode()
    return "\n".join(
        (
            f"Make double() multiply. {said['task']}",
            f"See build_{said['task, in a word']}_final.txt and {encoded}",
            f"postgres://app:{said['task, in an address']}@db.example.org/x",
            f"curl -H 'Authorization: Bearer {said['task, in a header']}'",
            f'db_password = "{said["task, assigned"]}"',
            f"-----BEGIN PRIVATE KEY-----\n{said['task, a private key']}\n-----END PRIVATE KEY-----",
        )
    )


def test_a_secret_in_thirty_places_does_not_reach_the_final_model(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(set(SECRETS.values())) == len(PLACES) >= 30
    room, local, said = place.room, place.local, SECRETS
    text = plant(place, monkeypatch)
    finding = objection(
        "    return x * 2", message=f"No. {said['finding']}", trigger=said["finding, its trigger"]
    )
    local.write = lambda messages: f"{said['answer of the writer']}\n\n{edit('return x * 2')}"
    local.read = lambda messages: approval(
        findings=[finding], summary=said["summary of a review"], verdict="REVISE"
    )
    room.config.write_text(room.config.read_text() + "[batch]\nrevisions = 0\n", encoding="utf-8")
    room.queue(text)
    room.work()
    (first,) = room.proposals()
    line = {"proposal": first.id, "path": "app.py", "side": "new", "line": 2, "quote": "    return x * 2"}
    room.act("comment", **line, text=f"Why {said['comment']}?")
    room.decide("send_back", first, note=f"Use {said['note']}.")
    local.read = lambda messages: approval()
    room.work()
    proposal = room.proposals()[-1]
    room.act("comment", **(line | {"proposal": proposal.id}), text=said["unsent comment"])
    row = place.escalate(proposal.id, final=True)["proposals"][0]
    room.work()
    asked = text_of(place.cloud.read_by[0])
    proposal = room.proposals()[-1]
    assert proposal.final_review is not None and proposal.final_review.verdict is Verdict.APPROVE
    sent = bytes(place.wire.sent)
    assert {where for where, secret in said.items() if secret.encode() in sent} == set()
    assert base64.b64encode(said["task, as base64"].encode()) not in sent
    # It read the change itself, and the same prompt as the reviewer here, who was shown what the developer wrote.
    assert "return x * 2" in asked and asked.count("[redacted") == row["redacted"] > 8
    here = text_of(local.read_by[-1])
    shown = {where for where, secret in said.items() if secret in here}
    assert {"task", "task, in a word", "task, assigned", "note", "comment"} <= shown
    assert os.environ["SERVICE_PASSWORD"] not in asked


@pytest.mark.parametrize("where", ["line", "name"])
def test_a_change_that_holds_a_secret_is_not_offered_to_it(place: Place, where: str) -> None:
    secret = _token(99)
    new = f"key_{secret}_x.py" if where == "name" else "new.py"
    content = f"TOKEN = '{secret}'" if where == "line" else "x = 1"
    place.local.write = lambda messages: f"{new}\n<<<<<<< SEARCH\n=======\n{content}\n>>>>>>> REPLACE\n"
    place.room.queue(files=[])
    place.room.work()
    place.room.act("project.set", name="code", escalate=True)
    with pytest.raises(Conflict, match="may not leave this machine") as refused:
        place.escalate("P1", final=True)
    assert secret not in str(refused.value)
    assert place.state() is TaskState.AWAITING_APPROVAL and not place.wire.sent
