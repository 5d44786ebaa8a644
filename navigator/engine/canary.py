"""Asks a loaded server the canary's questions and keeps the answers: `/health` says that it generates, not what.

Once after each load, before any work is given to it, and once in a residency when its token memory is nearly full. Questions are
asked at once; what else the server does then is the conductor's work alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from typing import TYPE_CHECKING, Any

from navigator.figures.canary import MAX_TOKENS, PROBES, Probe, judge
from navigator.journey.dependencies import Dependencies
from navigator.journey.storage_faults import Storage
from navigator.model.errors import NavigatorError
from navigator.model.models import Canary, utc_now
from navigator.model.states import CanaryMoment, CanaryOutcome, Role
from navigator.model.text import safe_line

if TYPE_CHECKING:
    from navigator.client.client import ModelClient

log = logging.getLogger(__name__)

_SECONDS = 60.0
"""For all questions together. A server that takes longer is judged by its work."""

_PROFILE = (
    "version",
    "dtype",
    "quantization",
    "kv_cache_dtype",
    "tp_size",
    "attention_backend",
    "sampling_backend",
    "speculative_algorithm",
    "speculative_draft_model_path",
    "speculative_num_steps",
    "speculative_eagle_topk",
    "speculative_num_draft_tokens",
    "mamba_scheduler_strategy",
    "mamba_radix_cache_strategy",
)
"""What an SGLang server says of its launch and its answers may depend on. Another server tells only software and weights."""


class CanaryWatch:
    """The canary of one conductor."""

    def __init__(self, deps: Dependencies, storage: Storage) -> None:
        self._deps = deps
        self._storage = storage
        self._full: set[Role] = set()
        self._last: dict[Role, Canary] = {}

    @property
    def enabled(self) -> bool:
        """Whether models are asked at all."""
        return self._deps.settings.canary.enabled

    def report(self) -> dict[str, dict[str, str]]:
        """The newest canary of each role in this session."""
        return {
            role.value: {
                "moment": canary.moment.value,
                "outcome": canary.outcome.value,
                "reason": canary.reason,
            }
            for role, canary in self._last.items()
        }

    async def loaded(self, role: Role) -> Canary | None:
        """Ask a role that was just loaded; None where the canary is off."""
        self._full.discard(role)
        if not self.enabled:
            return None
        return await self._ask(role, CanaryMoment.LOAD)

    async def look(self, role: Role) -> Canary | None:
        """Ask a role whose token memory is nearly full, once in its residency; None where nothing was asked."""
        settings = self._deps.settings.canary
        if not settings.enabled or role in self._full:
            return None
        try:
            async with self._deps.lent_client(role) as client:
                load = await client.load()
        except NavigatorError as error:
            log.debug("the load of the %s is unknown: %s", role.value, error)
            return None
        if load is None or load.token_usage is None or load.token_usage < settings.kv_usage:
            return None
        self._full.add(role)
        return await self._ask(role, CanaryMoment.KV_FULL)

    async def _ask(self, role: Role, moment: CanaryMoment) -> Canary:
        began, reader = time.monotonic(), self._deps.reader
        asked = Canary(
            role=role,
            moment=moment,
            at=utc_now(),
        )
        try:
            async with self._deps.lent_client(role) as client, asyncio.timeout(_SECONDS):
                asked = asked.model_copy(update={"model": client.settings.model})
                profile, before = await _profile(client)
                said, tokens = await _answers(client)
                # The server's counter is a mean since it was started: only right after a load is it the canary's own.
                length = (await _profile(client))[1] if before is not None else None
        except (NavigatorError, TimeoutError) as error:
            reason = safe_line(str(error)) or f"no answer within {_SECONDS:g} s"
            asked = asked.model_copy(update={"outcome": CanaryOutcome.UNANSWERED, "reason": reason})
            return self._keep(asked, began)
        answers = tuple(self._deps.redact(text) for text in said)
        length = length if moment is CanaryMoment.LOAD else None
        known = reader.canary_reference(role, asked.model, profile)
        verdict = judge(
            answers,
            known.answers if known else None,
            accept_length=length,
            reference_accept_length=known.accept_length if known else None,
        )
        return self._keep(
            asked.model_copy(
                update={
                    "profile": profile,
                    "outcome": verdict.outcome,
                    "likeness": verdict.likeness,
                    "reason": verdict.reason,
                    "answers": answers,
                    "tokens": tokens,
                    "accept_length": length,
                }
            ),
            began,
        )

    def _keep(self, canary: Canary, began: float) -> Canary:
        canary = canary.model_copy(update={"seconds": round(time.monotonic() - began, 4)})
        self._last[canary.role] = canary
        well = canary.outcome in (CanaryOutcome.SAME, CanaryOutcome.REFERENCE)
        log.log(
            logging.INFO if well else logging.WARNING,
            "canary of the %s: %s %s",
            canary.role.value,
            canary.outcome.value,
            canary.reason,
        )
        with self._storage.writing("a canary's answers"), self._deps.store.transaction() as tx:
            tx.add_canary(canary)
        return canary


async def _answers(client: ModelClient) -> tuple[tuple[str, ...], int]:
    """One text a probe, cut ones included, and the tokens they took, prompts included."""
    from navigator.client.body import ChatRequest
    from navigator.client.errors import CutByLength

    async def asked(probe: Probe) -> tuple[str, int]:
        request = ChatRequest(
            messages=({"role": "user", "content": probe.question},),
            max_tokens=MAX_TOKENS,
            temperature=0.0,
            top_p=1.0,
        )
        try:
            answer = await client.chat(request)
            text, usage = answer.text, answer.usage
        except CutByLength as error:
            text, usage = error.partial, error.usage
        return text, 0 if usage is None else usage.prompt_tokens + usage.completion_tokens

    said = await asyncio.gather(*map(asked, PROBES), return_exceptions=True)
    for one in said:
        if isinstance(one, BaseException):
            raise one
    answers = [one for one in said if not isinstance(one, BaseException)]
    return tuple(text for text, _ in answers), sum(tokens for _, tokens in answers)


async def _profile(client: ModelClient) -> tuple[str, float | None]:
    """What distinguishes this way of serving the model, as a digest; and the accept length so far, where it is counted."""
    info, server = await client.model_info(), await client.server_info()
    told = {"kind": info.kind, "path": info.path} | {name: server.get(name) for name in _PROFILE}
    digest = hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:16]
    return digest, accept_length(server)


def accept_length(server: dict[str, Any]) -> float | None:
    """The mean tokens a step since the server was started, as SGLang tells it; None where it does not."""
    states = server.get("internal_states")
    first = states[0] if isinstance(states, list) and states else None
    length = first.get("avg_spec_accept_length") if isinstance(first, dict) else None
    if isinstance(length, bool) or not isinstance(length, int | float):
        return None
    return float(length)
