"""Agents that do what they should not: each ends in a state that a person can read, and nothing is lost or left behind."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from navigator.agents import session as agent_session
from navigator.config.settings import AgentSettings
from navigator.engine import conductor as conducting
from navigator.engine.acting import request
from navigator.engine.wire import NoConductor
from navigator.model.models import Proposal, Task
from navigator.model.states import TaskState
from tests.agents.conftest import configure, object_first
from tests.journey.room import CODE, Room
from tests.journey.support import PATIENCE, git, running


def left(room: Room) -> list[str]:
    """Processes of agents, and folders of runs, that are still there."""
    found = left_of(room.config.parent)
    return found + [path.name for path in (room.paths.root / "agents").glob("run-*")]


def left_of(folder: Path) -> list[str]:
    """Sandboxes that still run something of `folder`."""
    return [words for _, words in running(str(folder)) if str(folder) in words and "bwrap" in words]


class Asker(threading.Thread):
    """Asks a conductor for its status over and over while it lives."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.ended = path, threading.Event()
        self.silent = 0

    def run(self) -> None:
        while not self.ended.wait(0.05):
            try:
                request(self.path, "status", {}, timeout=PATIENCE)
            except NoConductor as error:
                # Not begun yet, ending, or ended; only an answer that does not come counts.
                self.silent += isinstance(error.__cause__, TimeoutError)


def one_each(room: Room, *words: str) -> dict[str, tuple[Task, Proposal | None]]:
    """One session with a task for each word, and what became of it."""
    queued = {word: room.queue(f"Make double() multiply BEHAVE={word}") for word in words}
    room.work()
    made = {proposal.task_id: proposal for proposal in room.proposals()}
    return {word: (room.task(name), made.get(name)) for word, name in queued.items()}


def files_of(room: Room, proposal: Proposal | None) -> dict[str, str]:
    assert proposal is not None
    git_dir = next(room.paths.private.glob("*.git"))
    listed = git(git_dir, "diff-tree", "-r", "--name-only", proposal.base_commit, proposal.tree).split()
    return {path: git(git_dir, "show", f"{proposal.tree}:{path}") for path in listed}


def test_what_the_sandbox_makes_harmless(room: Room) -> None:
    before = git(room.repository, "status", "--porcelain", "--ignored")
    found = one_each(room, "outside", "git", "commit", "port", "network")
    for word, (task, proposal) in found.items():
        assert task.state is TaskState.AWAITING_APPROVAL, (word, task.reason)
        assert "x * 2" in files_of(room, proposal)["app.py"], word
    outside, network = (getattr(found[word][1], "summary", "") for word in ("outside", "network"))
    assert outside.count("Read-only file system") == 2
    # The sandbox's own /tmp takes what it is given, and is gone with it.
    assert "/tmp/fine written" in outside
    assert not Path("/tmp/fine").exists()
    assert {path.name for path in room.config.parent.iterdir()} == {"code", "config.toml", "state", "tools"}
    # Its own commit is no hiding place, nor are exclude rules in its .git; what that names as a program was not run.
    assert set(files_of(room, found["commit"][1])) == {"app.py", "new.py"}
    assert set(files_of(room, found["git"][1])) == {"app.py"}
    assert not Path("/tmp/ran").exists()
    assert "Network is unreachable; [Errno 111] Connection refused; reached; 404; 404" in network
    (turn,) = room.read().agent_turns(found["network"][0].id)
    assert turn.refused == 2
    assert git(room.repository, "status", "--porcelain", "--ignored") == before
    assert (room.repository / "app.py").read_text() == CODE
    assert left(room) == []


def test_what_cannot_be_taken_is_told_to_the_agent_and_then_to_the_developer(room: Room) -> None:
    (room.repository / ".env").write_text("KEY=mine\n")
    git(room.repository, "add", "-A")
    git(room.repository, "commit", "-qm", "keys")
    found = one_each(room, "nothing", "keeps", "secret", "link", "broken")
    states = {word: (task.state, task.reason) for word, (task, _) in found.items()}
    assert states["broken"][0] is TaskState.AWAITING_APPROVAL
    assert [turn.outcome for turn in room.read().agent_turns(found["broken"][0].id)] == ["refused", "ok"]
    assert states["keeps"] == (TaskState.AWAITING_APPROVAL, "No change is needed: it is right as it is")
    for word, words in (
        ("nothing", "no file differs from the last commit. The agent's last words: All done!"),
        ("secret", ".env: It is a file that models may not see"),
        ("link", "app.py"),
    ):
        assert states[word][0] is TaskState.FAILED, (word, states[word])
        assert words in states[word][1]
        assert len(room.read().agent_turns(found[word][0].id)) == 3, word
    assert left(room) == []


def test_a_home_that_the_agent_shaped_is_gone_before_the_next_run(room: Room) -> None:
    configure(room, named="vibe")
    victim = room.config.parent / "victim"
    victim.mkdir()
    (victim / "config.toml").write_text("the user's")
    object_first(room, 2)
    for how in ("filelink", "sealed"):
        room.queue(f"Make double() multiply ASK=0 BEHAVE={how} VICTIM={victim}")
    room.work()
    assert [path.name for path in victim.iterdir()] == ["config.toml"]
    assert (victim / "config.toml").read_text() == "the user's"
    revised = [one for one in room.proposals() if one.round == 1]
    # The agent reads the host's text there, and cannot change it.
    assert ['active_model = "local"; Read-only file system' in one.summary for one in revised] == [True] * 2
    assert left(room) == []


def test_pipes_in_the_place_of_ignore_files_hold_nothing_up(room: Room) -> None:
    (task, _) = one_each(room, "pipes")["pipes"]
    assert (task.state, ".gitignore" in task.reason) == (TaskState.FAILED, True), task.reason
    assert "it is a FIFO" in task.reason
    assert left(room) == []


def test_limits_end_an_agent_and_no_other_one(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = agent_session.limits_of
    monkeypatch.setattr(agent_session, "limits_of", lambda settings: replace(usual(settings), processes=40))
    monkeypatch.setattr(AgentSettings, "disk_mb", 64)
    monkeypatch.setattr(AgentSettings, "requests", 4)
    configure(room, "minutes = 0.05\n")
    asked, honest = room.queue("Make double() multiply ASK=6"), room.queue("Honest, beside them ASK=1")
    asker = Asker(room.paths.socket)
    asker.start()
    try:
        found = one_each(room, "wait", "flood", "large", "fork", "fill", "die")
    finally:
        asker.ended.set()
        asker.join()
    assert asker.silent == 0, "the conductor answers throughout"
    assert room.task(honest).state is TaskState.AWAITING_APPROVAL, room.task(honest).reason
    reasons = {word: task.reason for word, (task, _) in found.items()}
    assert {task.state for task, _ in found.values()} == {TaskState.FAILED}, reasons
    assert reasons["wait"] == "The agent was ended: it did not end within 3 s."
    assert reasons["flood"] == reasons["wait"]
    assert reasons["large"] == "The agent sent a message of more than 4 MiB."
    assert reasons["fork"] == "The agent was ended: it ran 40 processes at once."
    assert reasons["fill"] == "The agent was ended: it wrote more than 64 MiB of files."
    assert reasons["die"] == "The agent ended with exit status 7. It wrote: panic: out of ideas"
    assert len(room.read().agent_turns(found["die"][0].id)) == 2
    assert room.task(asked).reason == "The agent was ended: it made more than 4 requests to the model."
    assert left(room) == []


def test_an_agent_that_cannot_begin_says_why(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conducting, "GIVE_UP_AFTER", 1)
    task = room.queue()
    for how, words in (
        ("login", "The agent asks for a login: Authentication required"),
        ("dead", "The agent ended with exit status 3. It wrote: no such model"),
        ("new", "The agent speaks version 2 of the Agent Client Protocol, not 1."),
        ("mute", "The agent opened no session within 1 s."),
        ("", "no-such-agent was not found"),
    ):
        if how == "mute":
            monkeypatch.setattr(agent_session, "START_SECONDS", 1.0)
        configure(room, AGENT=how)
        if not how:
            room.config.write_text(room.models.settings + '[generator.agent]\ncommand = ["no-such-agent"]\n')
        assert words in str(room.work())
        assert room.task(task).state is TaskState.QUEUED
        assert room.read().agent_turns(task) == []
        assert left(room) == []
