"""What a pair of models takes on a card, what fits beside what, and which strategy follows. MiB are 2^20 bytes.

The formulas are those by which SGLang sizes its pools: keys and values for layers with full attention, one state a
request for layers with linear attention (Gated DeltaNet; `Mamba2StateShape` in SGLang's sources).
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from navigator.model import patterns
from navigator.model.json_text import read_json

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


class Shape(BaseModel):
    """What of a model's config.json decides about memory. `source` says where the figures are from."""

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
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError):
        return None


def _full_layers(config: dict[str, Any], layers: int) -> int:
    kinds = config.get("layer_types")
    if isinstance(kinds, list):
        return sum(kind == "full_attention" for kind in kinds)
    interval = config.get("full_attention_interval")
    return layers // int(interval) if interval else layers


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


# Where a model's files lie on this machine: a folder, a GGUF file, or a snapshot in the Hugging Face cache

_SUFFIXES = (".safetensors", ".gguf")
_HUB_NAME = patterns.compile(r"[\w.-]+/[\w.-]+")
_MOST_FILES = 1000


def hub_cache() -> Path:
    """The folder with the hub's snapshots: HF_HUB_CACHE, HF_HOME/hub, or the usual one under the cache folder."""
    named = os.environ.get("HF_HUB_CACHE", "")
    if named:
        return Path(named).expanduser()
    home = os.environ.get("HF_HOME", "")
    if home:
        return Path(home).expanduser() / "hub"
    cache = os.environ.get("XDG_CACHE_HOME", "") or "~/.cache"
    return Path(cache).expanduser() / "huggingface" / "hub"


def model_folder(model: str, model_dirs: Iterable[str] = ()) -> Path | None:
    """The folder with the model's files, or a GGUF file; None where it is not on this machine.

    Args:
        model: a path, or a name on the hub such as `Qwen/Qwen3-32B-AWQ`.
        model_dirs: folders that hold models as `DIR/name` or `DIR/owner/name`; looked into first.
    """
    if model.startswith(("/", "~", "./")):
        path = Path(model).expanduser()
        return path if path.exists() else None
    if not _HUB_NAME.fullmatch(model) and "/" in model:
        return None
    owner, _, name = model.rpartition("/")
    for folder in map(Path, model_dirs):
        for candidate in (folder.expanduser() / owner / name, folder.expanduser() / name):
            if owner not in ("..", ".") and name not in ("..", ".", "") and candidate.exists():
                return candidate
    return _snapshot(hub_cache() / f"models--{model.replace('/', '--')}")


def _snapshot(repository: Path) -> Path | None:
    """The snapshot that `main` names, as the servers choose it."""
    try:
        named = (repository / "refs" / "main").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    found = repository / "snapshots" / named
    return found if patterns.fullmatch(r"[0-9a-f]{40}", named) and found.is_dir() else None


def weight_files(model: str, model_dirs: Iterable[str] = ()) -> list[Path]:
    """The model's weight files with links followed, in the order of their names; [] where there are none.

    A folder that holds both kinds counts with its safetensors only, as the servers read it.
    """
    where = model_folder(model, model_dirs)
    if where is None:
        return []
    if where.is_file():
        return [where.resolve()] if where.suffix in _SUFFIXES else []
    for suffix in _SUFFIXES:
        found = sorted(path for path in where.glob(f"*{suffix}") if path.is_file())
        if found:
            return list(dict.fromkeys(path.resolve() for path in found[:_MOST_FILES]))
    return []


def total_bytes(files: Iterable[Path]) -> int:
    """The files' sizes, added up; one that went away counts nothing."""
    total = 0
    for path in files:
        try:
            total += path.stat().st_size
        except OSError:
            continue
    return total
