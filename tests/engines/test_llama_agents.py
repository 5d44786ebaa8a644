"""Agents with llama.cpp as their model: a tiny one with random weights, so only the wire and the loop are shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from navigator.model.states import TaskState
from tests.agents import real
from tests.agents.conftest import install
from tests.engines.conftest import ready
from tests.engines.llama import ALIAS, Server, llama_server, missing
from tests.engines.narrowing import NEW_LINE, TEMPLATE, Narrow, narrowing
from tests.journey.room import Room
from tests.journey.scripted_models import READER, Models, speaking
from tests.journey.support import commits_of_proposals, git, hurry
from tests.sandbox.support import no_sandbox

pytestmark = [pytest.mark.engines, pytest.mark.xdist_group("engines"), pytest.mark.timeout(900)]

USUAL = ("qwen", "opencode")
"""Agents that land on a real server without `make agents`."""


def running(folder: Path, *options: str) -> Iterator[Server]:
    if reason := missing() or no_sandbox():
        pytest.skip(reason)
    with llama_server(folder, "--jinja", *options) as made:
        ready(made)
        yield made


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With the model's own template, which shows it no tools: all those of an agent would be more than it can read."""
    yield from running(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def tool_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With a template that shows tools."""
    yield from running(tmp_path_factory.mktemp("tools"), "--chat-template-file", str(TEMPLATE))


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Room]:
    """The generator is the real server, the reviewer a scripted one that approves."""
    hurry(monkeypatch)
    with speaking(Models(lambda messages: "")) as models:
        yield Room(tmp_path, models, monkeypatch)


BRIEF = "logit_bias = [[2, 6.0]]\nmax_tokens = 60\n"
"""Token 2 ends an answer: nonsense need not be long."""


def configure(room: Room, url: str, command: list[str], extra: str = BRIEF) -> None:
    room.config.write_text(
        f'[generator]\nmodel = "{ALIAS}"\nbase_url = "{url}"\ncontext_tokens = 16384\nmax_tokens = 200\n'
        f"[generator.extra_body]\n{extra}"
        f"[generator.agent]\ncommand = {command}\nminutes = 10\n"
        f'[reviewer]\nmodel = "{READER}"\nbase_url = "{room.models.url}"\n'
        '[swap]\nstrategy = "resident"\n[canary]\nenabled = false\n',
        encoding="utf-8",
    )


def test_what_a_real_model_said_lands_through_an_agent(room: Room, server: Server) -> None:
    configure(room, server.url, [str(install(room.config.parent / "tools"))])
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
    landed = git(room.repository, "log", "--branches", "--grep=^Navigator-Proposal:", "--format=%H", "-1")
    assert re.fullmatch(r"note: [a-z]{8}", git(room.repository, "show", f"{landed}:notes.txt"))


@pytest.mark.parametrize("name", real.NAMES)
def test_a_real_agent_lands_what_a_real_model_was_made_to_say(
    room: Room, tool_server: Server, name: str
) -> None:
    """The agent, its tools, the sandbox, the forwarder, the server, its sampling and its parser of calls are real.

    Forced is what the model may say (`narrowing.py`): a call of the agent's own tool that reads, one of that which edits, last
    words. Eight letters of the edit are the model's choice.
    """
    command = real.installed(name, usual=name in USUAL)
    with narrowing(Narrow(str(room.repository / "app.py"), tool_server.url)) as narrow:
        configure(room, narrow.url, list(command), "")
        task = room.queue()
        room.work()
        assert room.task(task).state is TaskState.AWAITING_APPROVAL, room.task(task).reason
        (proposal,) = room.proposals()
        (turn,) = room.read().agent_turns(task)
        assert turn.requests == len(narrow.asked)
        assert proposal.usage.prompt_tokens > 1000
        assert re.search(r"I multiplied\. [a-z]{8}\.", proposal.summary)
        room.decide("approve", proposal)
        room.work()
    assert commits_of_proposals(room.repository) == [proposal.id]
    landed = git(room.repository, "log", "--branches", "--grep=^Navigator-Proposal:", "--format=%H", "-1")
    written = git(room.repository, "show", f"{landed}:app.py")
    assert re.fullmatch(rf"def double\(x\):\n    return {NEW_LINE}", written)
