"""Agents from their own packages, in the sandbox, from a queued task to a landed commit. `make agents` installs them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from navigator.model.states import TaskState
from tests.agents import real
from tests.journey.room import CODE, Room
from tests.journey.scripted_models import speaking
from tests.journey.support import REHEARSAL, Desk, commits_of_proposals, hurry, make_repository
from tests.records import calls_of

pytestmark = [pytest.mark.engines, pytest.mark.xdist_group("engines"), pytest.mark.timeout(600)]


@pytest.mark.parametrize("name", real.NAMES)
def test_a_change_of_a_real_agent_lands(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = real.installed(name)
    hurry(monkeypatch)
    model = real.ToolModel(str(tmp_path / "code" / "app.py"))
    with speaking(model):
        room = Room(tmp_path, model, monkeypatch)
        agent = f"[generator.agent]\ncommand = {list(command)}\n"
        room.config.write_text(f"{model.settings}{agent}", encoding="utf-8")
        task = room.queue()
        room.work()
        assert room.task(task).state is TaskState.AWAITING_APPROVAL, room.task(task).reason
        (proposal,) = room.proposals()
        (turn,) = room.read().agent_turns(task)
        calls = [call for call in calls_of(room.read(), task) if call.purpose == "agent"]
        assert proposal.way == f"agent {turn.agent}"
        assert turn.agent.rpartition(" ")[2][:1].isdigit()
        assert (turn.outcome, turn.stopped) == ("ok", "end_turn")
        assert turn.requests == len(model.asked) == len(calls)
        # The model and the key are not the agent's to choose, and usage is told for every request.
        assert {body["model"] for body in model.asked} == {"scripted/writer"}
        assert proposal.usage.prompt_tokens == 100 * len(calls)
        room.decide("approve", proposal)
        room.work()
        assert room.task(task).state is TaskState.LANDED
        assert len(commits_of_proposals(room.repository)) == 1


@pytest.mark.parametrize("name", real.NAMES)
def test_a_real_agent_can_be_rehearsed(name: str, tmp_path: Path) -> None:
    command = real.installed(name, usual=False)
    desk = Desk.make(tmp_path / "desk", f"{REHEARSAL}\n[generator.agent]\ncommand = {list(command)}\n")
    repository = make_repository(tmp_path / "code", {"app.py": CODE.encode()})
    desk.run("project", "add", str(repository), "--name", "code")
    desk.run("task", "add", "code", "Docstrings for all functions", "--kind", "docs")
    desk.run("run", "--until", "idle", "--json")
    with desk.reading() as store:
        turn, *_ = store.agent_turns("T1")
        proposal, *_ = store.proposals()
    assert turn.outcome == "ok", turn.reason
    (path,) = proposal.paths
    assert re.fullmatch(r"notes-[0-9a-f]+\.md", path), "the file that the scripted writer has an agent write"
