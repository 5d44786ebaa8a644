"""What a pair of models takes on a card, what fits beside what, and which strategy follows. Pure arithmetic; MiB are 2^20 bytes.

Every figure has its basis: "computed" from sizes, "published" by somebody else, or "measured" on this machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from navigator.setup.memory import MIB, OUTSIDE_MIB, Shape

Basis = Literal["computed", "published", "measured", "given"]
Way = Literal["resident", "sleep", "swap", "none"]

STATES_PER_REQUEST = 3
"""Recurrent states that SGLang keeps for a request so that its prefix can be used again (`extra_buffer`)."""

RESERVE_MIB = 8192
"""Host memory that the rest of the machine needs beside sleeping weights: an estimate."""

UNSURE = 0.1
"""By how much weights may differ from a figure that was not measured here: 4-bit builds of one model do."""

DISK, PCIE = 3.0e9, 55e9
"""Bytes a second: the SSD of the published swap times, and PCIe 5.0 ×16 as used in practice. Both published."""


@dataclass(frozen=True, slots=True)
class Cache:
    """One way to keep keys and values: bits an element, where that is from, and what to know of it."""

    name: str
    bits: float
    basis: Basis
    about: str


CACHES = (
    Cache("16-bit", 16.0, "computed", "every engine's default"),
    Cache("fp8", 8.0, "computed", "SGLang and vLLM; not advised for checkpoints without scales"),
    Cache("q8_0", 8.5, "computed", "llama.cpp: blocks of 32 with a 16-bit scale"),
    Cache("q4_0", 4.5, "computed", "llama.cpp: blocks of 32 with a 16-bit scale"),
    Cache("TurboQuant", 16 / 5.2, "published", "5.2 times smaller as published; never measured here"),
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

    def yarn(self, tokens: int) -> float | None:
        """The factor by which positions have to be stretched; 1 where none is needed, None where the limit is unknown."""
        return max(1.0, tokens / self.shape.native_tokens) if self.shape.native_tokens else None


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
    """The strategy by 16-bit keys and values; a smaller cache is named as what it would change, a published one never decides."""
    unsure = sum(
        UNSURE * model.weights_mib for model in (generator, reviewer) if model.weights_basis != "measured"
    )
    if beside[0].left >= unsure:
        return (
            "resident",
            f"Both fit at once, a context each, with {beside[0].left:,} MiB to spare: no swaps.",
        )
    smaller = next(
        (each for each in beside[1:] if each.left >= unsure and each.cache.basis == "computed"), None
    )
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
    least = next((each for each in table if each.at_once and each.cache.basis == "computed"), None)
    return f"{words} With {least.cache.name} keys and values it fits." if least else words


def _notes(generator: Sized, reviewer: Sized, tokens: int) -> list[str]:
    notes = []
    for model in (generator, reviewer):
        factor = model.yarn(tokens)
        if factor is None:
            notes.append(f"{model.name}: its native context is not known; YaRN may be needed.")
        elif factor > 1:
            notes.append(
                f"{model.name}: {tokens:,} tokens need YaRN with a factor of {factor:.2g} (native"
                f" {model.shape.native_tokens:,}). It takes no memory; static YaRN also changes short prompts."
            )
        else:
            notes.append(
                f"{model.name}: no YaRN needed, its native context is {model.shape.native_tokens:,} tokens."
            )
    for model in (generator, reviewer):
        size = model.weight_bytes
        notes.append(
            f"Loading {model.name}: at least {size / DISK:.1f} s from an SSD at {DISK / 1e9:g} GB/s, {size / PCIE:.2g} s"
            f" from host memory at {PCIE / 1e9:g} GB/s (computed; the rates are published)."
        )
    return notes
