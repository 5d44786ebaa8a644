"""What a model's config.json says about its experts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Routing:
    """Experts of one layer: how many there are, how many a token uses, and how many it always uses besides."""

    experts: int
    chosen: int
    shared: int

    def in_words(self) -> str:
        """E.g. `256 routed, top-8 (+1 shared)`."""
        return f"{self.experts} routed, top-{self.chosen}" + (
            f" (+{self.shared} shared)" if self.shared else ""
        )


def routing(config: Mapping[str, Any]) -> Routing | None:
    """The routing in a config.json (Qwen's, Mixtral's and DeepSeek's key names); None for a dense model."""
    text = config.get("text_config", config)
    experts = next(
        (text[key] for key in ("num_experts", "num_local_experts", "n_routed_experts") if key in text), 0
    )
    chosen = next((text[key] for key in ("num_experts_per_tok", "moe_top_k") if key in text), 0)
    if not (isinstance(experts, int) and isinstance(chosen, int) and 0 < chosen <= experts):
        return None
    shared = text.get("n_shared_experts")
    if shared is None:
        shared = 1 if text.get("shared_expert_intermediate_size") else 0
    return Routing(experts, chosen, int(shared))
