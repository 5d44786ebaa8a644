"""Strategy `adapter`: one base model on one server, with a LoRA adapter per role, each served under its own name.

Both roles answer at once, the request picks the adapter (`client/body.py`), and nothing is swapped. An adapter changes
little compared with what a larger reviewer knows: a review by the writer's own base model never counts as independent.

Sources: SGLang (`/load_lora_adapter` with --enable-lora), vLLM (`/v1/load_lora_adapter`, VLLM_ALLOW_RUNTIME_LORA_UPDATING=1);
llama.cpp loads adapters only when it starts.
"""

from __future__ import annotations

from navigator.client.assemble import server_words
from navigator.client.body import Timeouts
from navigator.client.client import ModelClient
from navigator.client.errors import WrongModel
from navigator.client.transport import Transport
from navigator.model.errors import NavigatorError
from navigator.model.states import Role
from navigator.swap.base import ROLES, PhaseLog, SwapStrategy
from navigator.swap.failures import SwapFailed, class_of_words

_LOAD_SECONDS = 120.0
"""Longest wait for an adapter to load: it is small."""


class AdapterStrategy(SwapStrategy):
    """Checks that both adapters are served, and loads those whose path is known.

    Each role's `model` is its adapter's name; `[swap.adapter]` names the adapters' folders.
    """

    name = "adapter"
    about = "one base model with a LoRA adapter per role, picked by name"
    both_resident = True
    one_base = True

    async def prepare(self) -> str:
        """Load both adapters; what went wrong in words, "" if nothing did."""
        results = [await self.swap(role, lambda event: None) for role in ROLES]
        return " ".join(result.reason for result in results if result.outcome != "done")

    async def _previous(self, to: Role) -> Role | None:
        return None

    async def _is_resident(self, role: Role) -> bool:
        try:
            return await self._serves(role)
        except NavigatorError:
            return False

    async def _change(self, to: Role, previous: Role | None, log: PhaseLog, detail: str) -> None:
        async with self._client(to) as client:
            try:
                await client.require_model()
            except WrongModel:
                with log.phase("load"):
                    await self._load(to, client)
            with log.phase("verify"):
                await client.require_model()

    async def _load(self, role: Role, client: ModelClient) -> None:
        own, server = self._settings.swap.adapter, self.server(role)
        path = own.generator_path if role is Role.GENERATOR else own.reviewer_path
        kind = await client.kind()
        if kind == "llamacpp" or not path:
            hint = f"Start the server with that adapter, or set {role.value}_path under [swap.adapter]."
            if kind == "llamacpp":
                hint = f"Start llama-server with `--lora-scaled FOLDER/{server.model}.gguf:0`."
            raise SwapFailed(
                f"{server.base_url} does not serve {server.model}.", hint=hint, failure="wrong_model"
            )
        body = {"lora_name": server.model, "lora_path": path}
        async with Transport(server, Timeouts()) as transport:
            root = transport.api if kind == "vllm" else transport.root
            status, said = await transport.ask(f"{root}/load_lora_adapter", body, _LOAD_SECONDS)
        refused = isinstance(said, dict) and said.get("success") is False
        if status == 200 and not refused:
            return
        words = server_words(said) or (str(said)[:300] if said is not None else "")
        raise SwapFailed(
            f"{server.base_url} did not load the adapter {server.model} (HTTP {status}). {words}".strip(),
            hint="Check its log. SGLang needs --enable-lora, vLLM VLLM_ALLOW_RUNTIME_LORA_UPDATING=1.",
            failure=class_of_words(words) or "refused",
        )


STRATEGY = AdapterStrategy
