"""Asks a loaded server the canary's questions: `/health` says that it generates, not what.

Once after each load, before any work is given to it. Questions are asked at once.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from navigator.figures.canary import MAX_TOKENS, PROBES, Probe, judge
from navigator.journey.dependencies import Dependencies
from navigator.journey.recovery import Storage
from navigator.model.errors import NavigatorError
from navigator.model.states import CanaryOutcome, Role
from navigator.model.text import safe_line

if TYPE_CHECKING:
    from navigator.client.client import ModelClient

log = logging.getLogger(__name__)

_SECONDS = 60.0
"""For all questions together. A server that takes longer is judged by its work."""


@dataclass(frozen=True, slots=True)
class Canary:
    """What a loaded server's answers came to, and why they are not well."""

    outcome: CanaryOutcome
    reason: str = ""


class CanaryWatch:
    """The canary of one conductor. What a model answered well is held against its answers after later loads."""

    def __init__(self, deps: Dependencies, storage: Storage) -> None:
        self._deps = deps
        self._storage = storage
        self._well: dict[tuple[Role, str], tuple[str, ...]] = {}
        self._last: dict[Role, Canary] = {}

    @property
    def enabled(self) -> bool:
        """Whether models are asked at all."""
        return self._deps.settings.canary.enabled

    def report(self) -> dict[str, dict[str, str]]:
        """The newest canary of each role in this session."""
        return {
            role.value: {"outcome": canary.outcome.value, "reason": canary.reason}
            for role, canary in self._last.items()
        }

    async def loaded(self, role: Role) -> Canary | None:
        """Ask a role that was just loaded; None where the canary is off."""
        if not self.enabled:
            return None
        canary = self._last[role] = await self._ask(role)
        well = canary.outcome is CanaryOutcome.WELL
        said = {"role": role.value, "outcome": canary.outcome.value, "reason": canary.reason}
        log.log(logging.INFO if well else logging.WARNING, "canary of the %s: %s %s", *said.values())
        with self._storage.writing("a canary's outcome"), self._deps.store.transaction() as tx:
            tx.event("canary", data=said)
        return canary

    async def _ask(self, role: Role) -> Canary:
        try:
            async with self._deps.lent_client(role) as client, asyncio.timeout(_SECONDS):
                model = role, client.settings.model
                answers = await _answers(client)
        except (NavigatorError, TimeoutError) as error:
            reason = safe_line(str(error)) or f"no answer within {_SECONDS:g} s"
            return Canary(CanaryOutcome.UNANSWERED, reason)
        outcome, reason = judge(answers, self._well.get(model))
        if outcome is CanaryOutcome.WELL:
            self._well[model] = answers
        return Canary(outcome, reason)


async def _answers(client: ModelClient) -> tuple[str, ...]:
    """One text a probe, cut ones included."""
    from navigator.client.body import ChatRequest
    from navigator.client.errors import CutByLength

    async def asked(probe: Probe) -> str:
        request = ChatRequest(
            messages=({"role": "user", "content": probe.question},),
            max_tokens=MAX_TOKENS,
            temperature=0.0,
            top_p=1.0,
        )
        try:
            return (await client.chat(request)).text
        except CutByLength as error:
            return error.partial

    said = await asyncio.gather(*map(asked, PROBES), return_exceptions=True)
    for one in said:
        if isinstance(one, BaseException):
            raise one
    return tuple(one for one in said if isinstance(one, str))
