"""What a pair of models takes on a card, what fits beside what, and which strategy follows. MiB are 2^20 bytes.

The formulas are those by which SGLang sizes its pools: keys and values for layers with full attention, one state a
request for layers with linear attention (Gated DeltaNet; `Mamba2StateShape` in SGLang's sources).
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from navigator.client.body import same_model
from navigator.config.paths import resource_dir
from navigator.config.settings import Settings
from navigator.model.errors import UsageError
from navigator.model.states import Role
from navigator.setup.profiles import ModelProfile, Shape, load_profile, profile_names, shape_from_config
from navigator.swap.machine import cards
from navigator.swap.weights import model_folder, total_bytes, weight_files

MIB = 1 << 20

OUTSIDE_MIB = 2000
"""CUDA context, graphs and activations beside weights and pools: an estimate."""

Way = Literal["resident", "sleep", "swap", "none"]

STATES_PER_REQUEST = 3
"""Recurrent states that SGLang keeps for a request so that its prefix can be used again (`extra_buffer`)."""

RESERVE_MIB = 8192
"""Host memory that the rest of the machine needs beside sleeping weights: an estimate."""

UNSURE = 0.1
"""By how much weights may differ from a figure that was not measured here: 4-bit builds of one model do."""


CACHES = {
    "16-bit": 16.0,
    "fp8": 8.0,
    "q8_0": 8.5,
    "q4_0": 4.5,
}
"""Ways to keep keys and values, with bits an element: every engine's default; SGLang and vLLM; llama.cpp, in blocks of 32 with a
16-bit scale."""


@dataclass(frozen=True, slots=True)
class Sized:
    """One model: its weights, whether they were measured here, where the figure is from; and its shape."""

    name: str
    weight_bytes: int
    measured: bool
    weights_source: str
    shape: Shape

    @property
    def weights_mib(self) -> int:
        """On the card: about what a 4-bit model takes on disk."""
        return math.ceil(self.weight_bytes / MIB)

    def context_mib(self, tokens: int, bits: float) -> int:
        """Keys and values of one context."""
        return math.ceil(tokens * self.shape.kv_bytes_per_token(1) * bits / 8 / MIB)

    @property
    def states_mib(self) -> int:
        """Recurrent states of one request; 0 without linear attention."""
        return math.ceil(STATES_PER_REQUEST * self.shape.state_bytes() / MIB)


@dataclass(frozen=True, slots=True)
class Fit:
    """What fits with one kind of cache; pairs are the generator's and the reviewer's.

    Attributes:
        contexts: MiB of one context.
        at_once: whole contexts, each with its states, that fit at once while that model is alone on the card.
        needed: MiB of both models at once, a context each.
        left: what is left of the card then; negative where it does not fit.
    """

    cache: str
    contexts: tuple[int, int]
    at_once: tuple[int, int]
    needed: int
    left: int


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """What fits, and what follows.

    Attributes:
        card, ram: MiB; `ram` is the host's.
        tokens: of a context.
        way: "resident": both at once; "sleep": weights rest in host memory; "swap": one server ends, the other starts.
        why: in a sentence or two.
    """

    card: int
    ram: int
    tokens: int
    generator: Sized
    reviewer: Sized
    fits: tuple[Fit, ...]
    way: Way
    why: str


def plan(generator: Sized, reviewer: Sized, *, card: int, ram: int, tokens: int) -> MemoryPlan:
    """What fits on a card of so many MiB, with so many MiB of host memory, at a context of `tokens`."""
    fits = tuple(_fit(generator, reviewer, card, tokens, cache) for cache in CACHES)
    return MemoryPlan(
        card, ram, tokens, generator, reviewer, fits, *_way(generator, reviewer, fits, card, ram)
    )


def _fit(generator: Sized, reviewer: Sized, card: int, tokens: int, cache: str) -> Fit:
    pair = (generator, reviewer)
    contexts = [model.context_mib(tokens, CACHES[cache]) for model in pair]
    each = [context + model.states_mib for context, model in zip(contexts, pair, strict=True)]
    room = [card - OUTSIDE_MIB - model.weights_mib for model in pair]
    at_once = [max(0, free // one) for free, one in zip(room, each, strict=True)]
    needed = sum(OUTSIDE_MIB + model.weights_mib for model in pair) + sum(each)
    return Fit(cache, (contexts[0], contexts[1]), (at_once[0], at_once[1]), needed, card - needed)


def _way(generator: Sized, reviewer: Sized, fits: tuple[Fit, ...], card: int, ram: int) -> tuple[Way, str]:
    """The strategy by 16-bit keys and values."""
    pair, plain = (generator, reviewer), fits[0]
    unsure = sum(UNSURE * model.weights_mib for model in pair if not model.measured)
    if plain.left >= unsure:
        return "resident", f"Both fit at once, a context each, with {plain.left:,} MiB to spare: no swaps."
    if short := [model.name for model, fit in zip(pair, plain.at_once, strict=True) if fit == 0]:
        words = f"Not one such context fits beside {' and '.join(short)}."
        return "none", f"{words} Use a shorter context, a smaller model or a larger card."
    resting = sum(model.weights_mib for model in pair) + RESERVE_MIB
    larger = max(
        model.weights_mib + model.states_mib + context
        for model, context in zip(pair, plain.contexts, strict=True)
    )
    if ram < resting:
        reason = f"host memory is too small for both models' weights ({resting:,} MiB with a reserve, {ram:,} are there)"
    elif card < larger + 2 * OUTSIDE_MIB:
        reason = "two running servers leave the larger model too little"
    else:
        return (
            "sleep",
            f"One at a time fits, and host memory holds both models' weights ({resting:,} MiB with a reserve): the other one's"
            " weights rest there.",
        )
    return "swap", f"One at a time fits; {reason}, so one server ends before the other starts."


# The plan for the settings' models, or for named ones

_STANDARD = "qwen3.5-96gb"
_TOKENS = 131_072


def plan_here(
    settings: Settings,
    *,
    card: float | None = None,
    ram: float | None = None,
    generator: str | None = None,
    reviewer: str | None = None,
) -> MemoryPlan:
    """The plan for a card and a pair of models. Without names, the settings' models; without those, a profile's.

    Args:
        settings: which models there are, and where their files lie.
        card, ram: memory of the GPU and of the host, in units of 1,024 MiB; without them, this machine's.
        generator, reviewer: a name, or a folder with a config.json.

    Raises:
        UsageError: the card or a model is not known.
    """
    memory = int(card * 1024) if card else max((each.total_mib for each in cards()), default=0)
    if not memory:
        raise UsageError("nvidia-smi shows no GPU.", hint="Give its memory: --card GB.")
    host = int(ram * 1024) if ram else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MIB
    writes = _sized_model(settings, Role.GENERATOR, generator)
    reviews = _sized_model(settings, Role.REVIEWER, reviewer)
    return plan(writes, reviews, card=memory, ram=host, tokens=_TOKENS)


def _sized_model(settings: Settings, role: Role, wanted: str | None) -> Sized:
    """A model by its files on this machine, else by a packaged profile.

    Raises:
        UsageError: neither says enough.
    """
    folder = resource_dir("swap") / "profiles"
    profiles = [load_profile(each, folder) for each in profile_names(folder)]
    models = [profile.role(each) for profile in profiles for each in (Role.GENERATOR, Role.REVIEWER)]
    standard = next(profile for profile in profiles if profile.name == _STANDARD)
    name = wanted or settings.server(role).model or standard.role(role).model
    known = next((model for model in models if _is_named(model, name)), None)
    where = model_folder(name, settings.swap.model_dirs)
    shape = shape_from_config(where / "config.json") if where is not None else None
    shape = shape or (known.shape if known else None)
    files = weight_files(name, settings.swap.model_dirs)
    if shape is None or not (files or known):
        raise UsageError(
            f"The size of {name} is not known.",
            hint="Name a folder with its config.json and its weight files, or one of: "
            f"{', '.join(model.model for model in models)}.",
        )
    called = Path(name).name if where else name
    if files:
        return Sized(called, total_bytes(files), True, f"{len(files)} weight files here", shape)
    assert known is not None
    return Sized(called, int(known.weights_gb * 1e9), False, known.weights_source, shape)


def _is_named(model: ModelProfile, name: str) -> bool:
    """Whether it has this name, or this one without the owner and without how it is quantised."""
    own = f"{model.model.rpartition('/')[2].casefold()}-"
    return same_model(name, model.model) or own.startswith(f"{name.rpartition('/')[2].casefold()}-")
