"""How much GPU memory a model's weights, contexts and recurrent states take. Pure arithmetic; MiB are 2^20 bytes.

The formulas are those by which SGLang sizes its pools: keys and values for layers with full attention, one state a
request for layers with linear attention (Gated DeltaNet; `Mamba2StateShape` in SGLang's sources).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from navigator.model.json_text import read_json

MIB = 1 << 20

OUTSIDE_MIB = 2000
"""CUDA context, graphs and activations beside SGLang's static share: an estimate."""


class Shape(BaseModel):
    """What of a model's config.json decides about memory. `source` says where the figures are from.

    `native_tokens` is the longest context without stretched positions (YaRN); 0 where it is not known.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    source: str
    layers: int
    full_attention_layers: int
    kv_heads: int
    head_dim: int
    linear_value_heads: int = 0
    linear_key_heads: int = 0
    linear_head_dim: int = 128
    conv_kernel: int = 4
    native_tokens: int = 0

    def kv_bytes_per_token(self, element_bytes: int = 2) -> int:
        """Keys and values of one token; 2 bytes an element for 16-bit floats, 1 for fp8."""
        return 2 * self.full_attention_layers * self.kv_heads * self.head_dim * element_bytes

    def state_bytes(self, *, state_element: int = 4, conv_element: int = 2) -> int:
        """The recurrent state of one request, which does not grow with its length; 0 without linear attention."""
        if not self.linear_value_heads:
            return 0
        linear = self.layers - self.full_attention_layers
        values = self.linear_value_heads * self.linear_head_dim
        recurrent = values * self.linear_head_dim * state_element
        # The convolution runs over queries, keys and values and remembers kernel - 1 steps.
        width = values + 2 * self.linear_key_heads * self.linear_head_dim
        return linear * (recurrent + width * (self.conv_kernel - 1) * conv_element)


def shape_from_config(path: Path) -> Shape | None:
    """The shape that a model's config.json states; None where it is not there or of an unknown form."""
    try:
        config: dict[str, Any] = read_json(path.read_bytes())
        config = config.get("text_config", config)
        layers = int(config["num_hidden_layers"])
        heads = int(config["num_attention_heads"])
        return Shape(
            source=str(path),
            layers=layers,
            full_attention_layers=_full_layers(config, layers),
            kv_heads=int(config.get("num_key_value_heads", heads)),
            head_dim=int(config.get("head_dim") or config["hidden_size"] // heads),
            linear_value_heads=int(config.get("linear_num_value_heads", 0)),
            linear_key_heads=int(config.get("linear_num_key_heads", 0)),
            linear_head_dim=int(config.get("linear_value_head_dim", 128)),
            conv_kernel=int(config.get("linear_conv_kernel_dim", 4)),
            native_tokens=int(config.get("max_position_embeddings") or 0),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError):
        return None


def _full_layers(config: dict[str, Any], layers: int) -> int:
    kinds = config.get("layer_types")
    if isinstance(kinds, list):
        return sum(kind == "full_attention" for kind in kinds)
    interval = config.get("full_attention_interval")
    return layers // int(interval) if interval else layers


@dataclass(frozen=True, slots=True)
class Budget:
    """One server on one card, in MiB.

    Attributes:
        card: the card's whole memory.
        static: the share that SGLang takes for weights and pools (`--mem-fraction-static`).
        weights: of the weight files.
        context: keys and values of one context of the wanted length.
        context_fp8: the same with fp8 keys and values.
        states: recurrent states of the requests that run at once.
        state_room: what SGLang sets aside for states, those of kept prefixes among them; 0 without linear attention.
        context_room: what it sets aside for keys and values.
    """

    card: int
    static: int
    weights: int
    context: int
    context_fp8: int
    states: int
    state_room: int
    context_room: int

    @property
    def at_once(self) -> int:
        """Contexts of the wanted length that fit at once; 0 when not even one does."""
        return max(0, self.context_room // self.context) if self.context else 0

    @property
    def fits(self) -> bool:
        """Whether weights, states and one whole context fit, and SGLang's share leaves room for the rest."""
        return self.missing == 0 and self.card - self.static >= OUTSIDE_MIB

    @property
    def missing(self) -> int:
        """MiB that are short for one whole context and the states; 0 when they fit."""
        return max(0, self.context - self.context_room, self.states - self.state_room)


def budget(
    shape: Shape,
    *,
    card_mib: int,
    static_fraction: float,
    weight_bytes: int,
    context_tokens: int,
    running: int,
    kv_element: int = 2,
    states_per_request: int = 1,
    draft_tokens: int = 0,
    state_ratio: float = 0.9,
) -> Budget:
    """What fits on a card.

    Args:
        shape: of the model.
        card_mib: the card's memory.
        static_fraction: SGLang's `--mem-fraction-static`.
        weight_bytes: of the weight files; a 4-bit model takes about as much on the card as on disk.
        context_tokens: the wanted length of a context.
        running: requests that run at once.
        kv_element: bytes of an element of keys and values as configured.
        states_per_request: recurrent states kept for each running request; three with the strategy `extra_buffer`.
        draft_tokens: with speculation, SGLang first takes one more state for each of them and each running request.
        state_ratio: SGLang's `--mamba-full-memory-ratio`, by which it divides what is left.
    """
    static = int(card_mib * static_fraction)
    weights = math.ceil(weight_bytes / MIB)
    state = shape.state_bytes()
    pools = static - weights - math.ceil(state * running * draft_tokens / MIB)
    state_room = int(pools * state_ratio / (1 + state_ratio)) if state else 0
    return Budget(
        card=card_mib,
        static=static,
        weights=weights,
        context=math.ceil(context_tokens * shape.kv_bytes_per_token(kv_element) / MIB),
        context_fp8=math.ceil(context_tokens * shape.kv_bytes_per_token(1) / MIB),
        states=math.ceil(state * running * states_per_request / MIB),
        state_room=state_room,
        context_room=pools - state_room,
    )
