"""Strategy `adapter`: one base model on one server, with a LoRA adapter per role, each served under its own name.

Both roles answer at once, the request picks the adapter (`client/body.py`), and nothing is swapped. An adapter changes
little compared with what a larger reviewer knows: a review by the writer's own base model never counts as independent.
"""

from __future__ import annotations

from navigator.client.errors import WrongModel
from navigator.model.errors import NavigatorError
from navigator.model.states import Role
from navigator.swap.base import ROLES, PhaseLog, SwapStrategy
from navigator.swap.failures import SwapFailed


class AdapterStrategy(SwapStrategy):
    """Checks that both adapters are served. Each role's `model` is its adapter's name."""

    name = "adapter"
    about = "one base model with a LoRA adapter per role, picked by name"
    both_resident = True
    one_base = True

    async def prepare(self) -> str:
        """Look for both adapters; what is missing in words, "" if nothing is."""
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
        server = self.server(to)
        async with self._client(to) as client:
            with log.phase("verify"):
                try:
                    await client.require_model()
                except WrongModel as error:
                    raise SwapFailed(
                        f"{server.base_url} does not serve {server.model}.",
                        hint=f"Start it with that adapter: SGLang with `--lora-paths {server.model}=FOLDER`, vLLM with "
                        f"`--lora-modules {server.model}=FOLDER`, llama-server with `--lora-scaled {server.model}.gguf:0`.",
                        failure="wrong_model",
                    ) from error


STRATEGY = AdapterStrategy
