"""Agents with llama.cpp as their model: a tiny one with random weights, so only the wire and the loop are shown."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from navigator.domain.states import TaskState
from navigator.workspace.sandbox.probe import probe
from tests.agents import real
from tests.agents.conftest import install
from tests.cascade.scripted_models import READER, Models, speaking
from tests.cascade.support import commits_of_proposals, git, hurry
from tests.cascade.test_conductor import Room
from tests.engines.conftest import ready
from tests.engines.llama import ALIAS, LlamaServer, llama_server, missing

pytestmark = [pytest.mark.engines, pytest.mark.xdist_group("engines"), pytest.mark.timeout(900)]

EVERY_AGENT = "NAVIGATOR_REAL_AGENTS"
"""Set by `make agents`: large agents take a minute or more, since the model reads ten thousand tokens on a CPU."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    if reason := missing() or ("" if probe().works else f"no sandbox: {probe().reason}"):
        pytest.skip(reason)
    with llama_server(tmp_path_factory.mktemp("llama"), "--jinja") as made:
        ready(made)
        yield made


@pytest.fixture
def room(tmp_path: Path, server: LlamaServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Room]:
    """The generator is the real server, the reviewer a scripted one that approves."""
    hurry(monkeypatch)
    with speaking(Models(lambda messages: "")) as models:
        yield Room(tmp_path, models, monkeypatch)


def configure(room: Room, server: LlamaServer, command: list[str]) -> None:
    room.config.write_text(
        f'[generator]\nmodel = "{ALIAS}"\nbase_url = "{server.url}"\ncontext_tokens = 16384\nmax_tokens = 200\n'
        # Token 2 ends an answer: nonsense need not be long.
        "[generator.extra_body]\nlogit_bias = [[2, 6.0]]\nmax_tokens = 60\n"
        f"[generator.agent]\ncommand = {command}\nminutes = 10\nrequests = 20\n"
        f'[reviewer]\nmodel = "{READER}"\nbase_url = "{room.models.url}"\n'
        '[swap]\nstrategy = "resident"\n[canary]\nenabled = false\n',
        encoding="utf-8",
    )


def test_what_a_real_model_said_lands_through_an_agent(room: Room, server: LlamaServer) -> None:
    configure(room, server, [str(install(room.config.parent / "tools"))])
    task = room.queue("Write a note BEHAVE=dictate", files=[])
    room.work()
    assert room.task(task).state is TaskState.AWAITING_APPROVAL, room.task(task).reason
    (proposal,) = room.proposals()
    assert (proposal.model, proposal.paths) == (ALIAS, ("notes.txt",))
    assert proposal.usage.prompt_tokens > 0
    assert proposal.usage.completion_tokens > 0
    room.decide("approve", proposal)
    room.work()
    assert commits_of_proposals(room.repository) == [proposal.id]
    landed = git(room.repository, "log", "--branches", "--format=%H", "-1")
    assert re.fullmatch(r"note: [a-z]{8}", git(room.repository, "show", f"{landed}:notes.txt"))


@pytest.mark.parametrize("name", real.NAMES)
def test_a_real_agent_reaches_a_real_server_and_nonsense_ends_readably(
    room: Room, server: LlamaServer, name: str
) -> None:
    if not os.environ.get(EVERY_AGENT):
        pytest.skip(f"takes minutes; `make agents` runs it ({EVERY_AGENT}=1)")
    command = real.command(name)
    if not command:
        pytest.skip(f"{name} is not installed; `make agents` installs it")
    configure(room, server, list(command))
    task = room.queue()
    room.work()
    assert room.task(task).state is TaskState.FAILED
    assert "no file differs from the last commit. The agent's last words:" in room.task(task).reason
    calls = [call for call in room.read().calls(task_id=task) if call.purpose == "agent"]
    assert all(call.usage.prompt_tokens > 1000 for call in calls if call.outcome == "ok")
    # What was read before is in the server's cache, and counted as that.
    assert any(call.usage.cached_tokens > 1000 for call in calls[1:])
