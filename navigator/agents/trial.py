"""Whether the agent of the settings can be started here, and reaches the model: found out by doing it, in an empty folder."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from navigator.agents.forwarder import CallJournal, Forwarder, Reply
from navigator.agents.profiles import Endpoint
from navigator.agents.session import AgentPlace, opened
from navigator.client.client import ModelClient
from navigator.config.settings import Settings
from navigator.model.errors import NavigatorError
from navigator.model.models import Project
from navigator.sandbox.folders import remove
from navigator.sandbox.probe import probe
from navigator.sandbox.spec import furnish

_QUESTION = "Answer with the one word: ready. Use no tool and read no file."
_MINUTES = 2.0
_REQUESTS = 8


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What a trial found.

    Attributes:
        agent: its name and version, as it told them; "" where it did not start.
        reached: requests that the model answered; None where the generator is not loaded, so that none was sent.
        problem: why it did not start, or did not reach the model; "" where it did.
        hint: what to do about it.
    """

    agent: str = ""
    reached: int | None = None
    problem: str = ""
    hint: str = ""


class _Counted(CallJournal):
    """Keeps nothing but how many requests were answered."""

    answered = 0

    def end(self, number: int, reply: Reply) -> None:
        self.answered += reply.outcome == "ok"


async def try_agent(settings: Settings, *, ask: bool) -> TrialResult:
    """Start the agent once and end it again.

    Args:
        ask: send it one question too, which the generator's model has to answer.
    """
    server = settings.generator
    agent = server.agent.model_copy(update={"minutes": _MINUTES})
    scratch = Path(tempfile.mkdtemp(prefix="navigator-agent-"))
    project = Project(id=0, name="doctor", path=str(scratch / "tree"))
    place = AgentPlace(project, furnish(project, ()), scratch)
    place.tree.mkdir()
    endpoint = Endpoint(server.model, server.context_tokens, server.max_tokens)
    journal, name = _Counted(), ""
    try:
        async with ModelClient(server) as client:
            forwarder = Forwarder(client, journal, most=_REQUESTS)
            async with opened(agent, endpoint, place, probe(), forwarder) as session:
                name = f"{session.who.name or 'unnamed'} {session.who.version}".strip()
                if not ask:
                    return TrialResult(name)
                await session.prompt(_QUESTION)
            if not journal.answered:
                words = forwarder.last_error or "it asked for nothing"
                said = f"it does not reach the model: {words}"
                return TrialResult(name, 0, said, "docs/agents.md: its `env`.")
            return TrialResult(name, journal.answered)
    except NavigatorError as error:
        return TrialResult(name, journal.answered if name else None, error.message, error.hint)
    finally:
        remove(scratch)
