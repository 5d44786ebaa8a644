"""Strategy `resident`: both servers are up (two GPUs, a gateway, a cloud). A swap only looks whether that is so."""

from __future__ import annotations

from navigator.config.settings import Settings
from navigator.domain.errors import NavigatorError
from navigator.domain.states import Role
from navigator.serving.client.chat import Timeouts
from navigator.serving.client.client import ModelClient
from navigator.serving.client.errors import Unreachable
from navigator.serving.swap.base import PhaseLog, Report, SwapResult

_ROLES = (Role.GENERATOR, Role.REVIEWER)


class ResidentStrategy:
    """Both roles answer at the addresses of the settings.

    Args:
        settings: where the servers are and what they should serve.
        timeouts: for the questions asked.
    """

    name = "resident"
    both_resident = True
    rehearsal = False

    def __init__(self, settings: Settings, *, timeouts: Timeouts | None = None) -> None:
        self._settings = settings
        self._timeouts = timeouts or Timeouts()

    def base_url(self, role: Role) -> str | None:
        """None: the settings' own address holds."""
        return None

    def model(self, role: Role) -> str | None:
        """None: the settings' own model holds."""
        return None

    async def resident(self) -> Role | None:
        """The first role whose server is healthy; both may be."""
        for role in _ROLES:
            async with self._client(role) as client:
                if await client.health():
                    return role
        return None

    async def swap(self, to: Role, report: Report) -> SwapResult:
        """Look whether `to`'s server is healthy and serves the wanted model. Nothing is started or stopped."""
        log = PhaseLog(report)
        try:
            async with self._client(to) as client:
                with log.phase("health"):
                    if not await client.health():
                        raise Unreachable(f"The {to.value}'s server is not healthy.")
                with log.phase("verify"):
                    await client.require_model()
        except NavigatorError as error:
            return log.result("failed", str(error))
        return log.result("done")

    async def close(self) -> None:
        """Nothing is held."""

    def _client(self, role: Role) -> ModelClient:
        return ModelClient(self._settings.server(role), timeouts=self._timeouts)
