"""Strategy `adapter`: one base model on one server, and for each role a LoRA adapter of it that goes by a name of its own.

Both roles answer at once, the name in the request picks the adapter, and nothing is swapped. What an adapter changes is small
against what a larger reviewer knows: a review by the writer's own base model is no independent one, and counts as such nowhere.

Sources: SGLang (`/load_lora_adapter` with --enable-lora), vLLM (`/v1/load_lora_adapter`, VLLM_ALLOW_RUNTIME_LORA_UPDATING=1).
"""

from __future__ import annotations

from navigator.config.settings import Settings
from navigator.domain.errors import NavigatorError
from navigator.domain.states import Role
from navigator.serving.client.chat import Timeouts
from navigator.serving.client.client import ModelClient
from navigator.serving.client.errors import WrongModel
from navigator.serving.client.transport import Transport
from navigator.serving.swap.base import PhaseEvent, PhaseLog, Report, SwapFailed, SwapResult
from navigator.serving.swap.failures import class_of_words, failure_of

_ROLES = (Role.GENERATOR, Role.REVIEWER)


class AdapterStrategy:
    """Looks that both adapters are served, and has those loaded whose path is known.

    Args:
        settings: each role's `model` is its adapter's name; `[swap.adapter]` says where the adapters lie.
    """

    name = "adapter"
    both_resident = True
    rehearsal = False

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._own = settings.swap.adapter

    def base_url(self, role: Role) -> str | None:
        """None: the settings' own address holds."""
        return None

    def model(self, role: Role) -> str | None:
        """None: the settings' own model, an adapter's name, holds."""
        return None

    async def resident(self) -> Role | None:
        """The first role whose adapter is served; both may be."""
        for role in _ROLES:
            async with self._client(role) as client:
                try:
                    await client.require_model()
                except NavigatorError:
                    continue
                return role
        return None

    async def prepare(self) -> str:
        """Have both adapters loaded; what went wrong in words, "" where nothing did."""
        results = [await self.swap(role, _unheard) for role in _ROLES]
        return " ".join(result.reason for result in results if result.outcome != "done")

    async def swap(self, to: Role, report: Report) -> SwapResult:
        """Look whether the role's adapter is served; load it where it is not and its path is known."""
        log = PhaseLog(report)
        try:
            async with self._client(to) as client:
                try:
                    await client.require_model()
                except WrongModel:
                    with log.phase("load"):
                        await self._load(to, client)
                with log.phase("verify"):
                    await client.require_model()
        except NavigatorError as error:
            return log.result("failed", str(error), failure_of(error))
        return log.result("done")

    async def close(self) -> None:
        """Nothing is held."""

    async def _load(self, role: Role, client: ModelClient) -> None:
        path = self._own.generator_path if role is Role.GENERATOR else self._own.reviewer_path
        server = self._settings.server(role)
        if not path:
            raise SwapFailed(
                f"{server.base_url} does not serve {server.model}.",
                hint=f"Start the server with that adapter, or set {role.value}_path under [swap.adapter].",
                failure="wrong_model",
            )
        transport = Transport(server, Timeouts(connect=5.0))
        vllm = await client.kind() == "vllm"
        url = f"{transport.api if vllm else transport.root}/load_lora_adapter"
        body = {"lora_name": server.model, "lora_path": path}
        try:
            status, said = await transport.ask(url, body, self._own.load_seconds)
        finally:
            await transport.aclose()
        refused = isinstance(said, dict) and said.get("success") is False
        if status == 200 and not refused:
            return
        words = str(said)[:300] if said is not None else ""
        raise SwapFailed(
            f"{server.base_url} did not load the adapter {server.model} (HTTP {status}). {words}".strip(),
            hint="Its log says why; SGLang needs --enable-lora, vLLM VLLM_ALLOW_RUNTIME_LORA_UPDATING=1.",
            failure=class_of_words(words) or "refused",
        )

    def _client(self, role: Role) -> ModelClient:
        return ModelClient(self._settings.server(role), timeouts=Timeouts(connect=5.0))


def _unheard(event: PhaseEvent) -> None:
    """Nobody watches a start."""
