"""What a pair of models takes on a card, what fits beside what, and which strategy follows. MiB are 2^20 bytes.

The formulas are those by which SGLang sizes its pools: keys and values for layers with full attention, one state a
request for layers with linear attention (Gated DeltaNet; `Mamba2StateShape` in SGLang's sources).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from navigator.model.json_text import read_json

MIB = 1 << 20

OUTSIDE_MIB = 2000
"""CUDA context, graphs and activations beside weights and pools: an estimate."""

Basis = Literal["computed", "published", "measured", "given"]
Way = Literal["resident", "sleep", "swap", "none"]

STATES_PER_REQUEST = 3
"""Recurrent states that SGLang keeps for a request so that its prefix can be used again (`extra_buffer`)."""

RESERVE_MIB = 8192
"""Host memory that the rest of the machine needs beside sleeping weights: an estimate."""

UNSURE = 0.1
"""By how much weights may differ from a figure that was not measured here: 4-bit builds of one model do."""


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
class Cache:
    """One way to keep keys and values: bits an element, and what to know of it."""

    name: str
    bits: float
    about: str


CACHES = (
    Cache("16-bit", 16.0, "every engine's default"),
    Cache("fp8", 8.0, "SGLang and vLLM; not advised for checkpoints without scales"),
    Cache("q8_0", 8.5, "llama.cpp: blocks of 32 with a 16-bit scale"),
    Cache("q4_0", 4.5, "llama.cpp: blocks of 32 with a 16-bit scale"),
)


@dataclass(frozen=True, slots=True)
class Sized:
    """One model: its weights with where the figure is from, and its shape."""

    name: str
    weight_bytes: int
    weights_basis: Basis
    weights_source: str
    shape: Shape

    @property
    def weights_mib(self) -> int:
        """On the card: about what a 4-bit model takes on disk."""
        return math.ceil(self.weight_bytes / MIB)

    def context_mib(self, tokens: int, cache: Cache) -> int:
        """Keys and values of one context."""
        return math.ceil(tokens * self.shape.kv_bytes_per_token(1) * cache.bits / 8 / MIB)

    @property
    def states_mib(self) -> int:
        """Recurrent states of one request; 0 without linear attention."""
        return math.ceil(STATES_PER_REQUEST * self.shape.state_bytes() / MIB)

    def yarn(self, tokens: int) -> float:
        """The factor by which positions have to be stretched; 1 where none is needed or the limit is unknown."""
        return max(1.0, tokens / self.shape.native_tokens) if self.shape.native_tokens else 1.0


@dataclass(frozen=True, slots=True)
class Alone:
    """One model alone on the card with one kind of cache.

    Attributes:
        context: MiB of one context.
        at_once: whole contexts, each with its states, that fit at once.
        missing: MiB that are short for the first one.
    """

    cache: Cache
    context: int
    at_once: int
    missing: int


@dataclass(frozen=True, slots=True)
class BothLoaded:
    """Both models at once with one kind of cache, a context each: MiB needed and left; left is negative where it does not fit."""

    cache: Cache
    needed: int
    left: int


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """What fits, and what follows.

    Attributes:
        card, ram: MiB, each with its basis; `ram` is the host's.
        tokens: of a context.
        alone: by kind of cache, generator first.
        beside: by kind of cache.
        way: "resident": both at once; "sleep": weights rest in host memory; "swap": one server ends, the other starts.
        why: in a sentence or two.
        notes: what else to know.
    """

    card: int
    card_basis: Basis
    ram: int
    ram_basis: Basis
    tokens: int
    generator: Sized
    reviewer: Sized
    alone: tuple[tuple[Alone, ...], tuple[Alone, ...]]
    beside: tuple[BothLoaded, ...]
    way: Way
    why: str
    notes: tuple[str, ...]


def plan(
    generator: Sized,
    reviewer: Sized,
    *,
    card: tuple[int, Basis],
    ram: tuple[int, Basis],
    tokens: int,
) -> MemoryPlan:
    """What fits on a card of so many MiB, with so many MiB of host memory, at a context of `tokens`."""
    alone = tuple(
        tuple(_single(model, card[0], tokens, cache) for cache in CACHES) for model in (generator, reviewer)
    )
    beside = tuple(_both(generator, reviewer, card[0], tokens, cache) for cache in CACHES)
    way, why = _way(generator, reviewer, (alone[0], alone[1]), beside, card[0], ram[0])
    return MemoryPlan(
        *card,
        *ram,
        tokens,
        generator,
        reviewer,
        (alone[0], alone[1]),
        beside,
        way,
        why,
        tuple(_notes(generator, reviewer, tokens)),
    )


def _single(model: Sized, card: int, tokens: int, cache: Cache) -> Alone:
    context = model.context_mib(tokens, cache)
    each, room = context + model.states_mib, card - OUTSIDE_MIB - model.weights_mib
    return Alone(cache, context, max(0, room // each) if each else 0, max(0, each - room))


def _both(generator: Sized, reviewer: Sized, card: int, tokens: int, cache: Cache) -> BothLoaded:
    needed = sum(
        OUTSIDE_MIB + model.weights_mib + model.states_mib + model.context_mib(tokens, cache)
        for model in (generator, reviewer)
    )
    return BothLoaded(cache, needed, card - needed)


def _way(
    generator: Sized,
    reviewer: Sized,
    alone: tuple[tuple[Alone, ...], tuple[Alone, ...]],
    beside: tuple[BothLoaded, ...],
    card: int,
    ram: int,
) -> tuple[Way, str]:
    """The strategy by 16-bit keys and values; a smaller cache is named as what it would change."""
    unsure = sum(
        UNSURE * model.weights_mib for model in (generator, reviewer) if model.weights_basis != "measured"
    )
    if beside[0].left >= unsure:
        return (
            "resident",
            f"Both fit at once, a context each, with {beside[0].left:,} MiB to spare: no swaps.",
        )
    smaller = next((each for each in beside[1:] if each.left >= unsure), None)
    beyond = (
        f" With {smaller.cache.name} keys and values both would fit, with {smaller.left:,} MiB to spare; try"
        " what that does to the answers first."
        if smaller
        else f" Both at once would leave {beside[0].left:,} MiB, less than the {unsure:,.0f} MiB by which weights that are"
        f" not on this machine may be larger."
        if beside[0].left >= 0
        else f" Both at once need {beside[0].needed:,} MiB."
    )
    pairs = list(zip((generator, reviewer), alone, strict=True))
    if short := [_too_large(model, table, card) for model, table in pairs if table[0].at_once == 0]:
        return "none", f"{' '.join(short)} Use a shorter context, a smaller model or a larger card."
    resting = generator.weights_mib + reviewer.weights_mib + RESERVE_MIB
    larger = max(model.weights_mib + model.states_mib + table[0].context for model, table in pairs)
    if ram >= resting and card >= larger + 2 * OUTSIDE_MIB:
        return (
            "sleep",
            f"One at a time fits, and host memory holds both models' weights ({resting:,} MiB with a reserve): the"
            f" other one's weights rest there.{beyond}",
        )
    reason = (
        f"host memory is too small for both models' weights ({resting:,} MiB with a reserve, {ram:,} are there)"
        if ram < resting
        else "two running servers leave the larger model too little"
    )
    return "swap", f"One at a time fits; {reason}, so one server ends before the other starts.{beyond}"


def _too_large(model: Sized, table: tuple[Alone, ...], card: int) -> str:
    """Why not one context fits beside a model, and what would."""
    first = table[0]
    words = f"{model.name} alone is {first.missing:,} MiB short of one such context."
    per_token = model.shape.kv_bytes_per_token(2)
    room = (card - OUTSIDE_MIB - model.weights_mib - model.states_mib) * MIB
    if room > per_token:
        words += f" {room // per_token // 1024 * 1024:,} tokens fit."
    least = next((each for each in table if each.at_once), None)
    return f"{words} With {least.cache.name} keys and values it fits." if least else words


def _notes(generator: Sized, reviewer: Sized, tokens: int) -> list[str]:
    notes = []
    for model in (generator, reviewer):
        factor = model.yarn(tokens)
        if factor > 1:
            notes.append(
                f"{model.name}: {tokens:,} tokens need YaRN with a factor of {factor:.2g} (native"
                f" {model.shape.native_tokens:,}). It takes no memory; static YaRN also changes short prompts."
            )
    return notes
