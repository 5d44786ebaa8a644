"""Strategy `resident`: both servers are up (two GPUs, a gateway, a cloud). A swap only checks that."""

from __future__ import annotations

from navigator.client.errors import NotReady
from navigator.model.states import Role
from navigator.swap.base import PhaseLog, SwapStrategy


class ResidentStrategy(SwapStrategy):
    """Both roles answer at the addresses of the settings. Nothing is started or stopped."""

    name = "resident"
    about = "both servers are up at once, each at its base_url"
    both_resident = True
    checks_files = False

    async def _previous(self, to: Role) -> Role | None:
        return None

    async def _change(self, to: Role, previous: Role | None, log: PhaseLog, detail: str) -> None:
        async with self._client(to) as client:
            with log.phase("verify"):
                await client.require_model()
            with log.phase("health"):
                if not await client.health():
                    raise NotReady(f"{self.server(to).base_url} is not healthy.")


STRATEGY = ResidentStrategy
