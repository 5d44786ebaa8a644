"""Why an agent wrote nothing. `AgentUnavailable` is about every task, `AgentFailed` about one turn."""

from __future__ import annotations

from typing import ClassVar

from navigator.client.errors import ServingError
from navigator.model.errors import NavigatorError


class AgentUnavailable(ServingError):
    """No turn can begin: no sandbox, no program, no protocol, or a login that nobody can give."""

    code = "agent_unavailable"
    default_hint = "`navigator doctor` starts the agent and says what it lacks."

    @property
    def needs_settings(self) -> bool:
        """Always: the next task would meet the same."""
        return True


class AgentFailed(NavigatorError):
    """A turn that ended without a result: the agent died, said something that is not its protocol, or met a limit.

    `final`: another run would meet the same.
    """

    code: ClassVar[str] = "agent_failed"

    def __init__(self, message: str, *, hint: str = "", final: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.final = final
