"""`navigator doctor --plan`: what a pair of models takes on a card, and which strategy follows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pydantic import TypeAdapter

from navigator.cli import output
from navigator.client.body import same_model
from navigator.config.paths import resource_dir
from navigator.config.settings import Settings, load_settings
from navigator.model.errors import UsageError
from navigator.model.states import Role
from navigator.setup.plan import MIB, Basis, MemoryPlan, Sized, plan, shape_from_config
from navigator.setup.profiles import ModelPair, ModelProfile, fitting, load_presets
from navigator.setup.weights import model_folder, total_bytes, weight_files

_STANDARD = "qwen3.5-96gb"
_STRATEGIES = {
    "resident": 'strategy = "resident"',
    "sleep": 'strategy = "sleep"',
    "swap": 'strategy = "systemd" or "managed"',
}


def show_plan(
    *,
    card: float | None,
    ram: float | None,
    generator: str | None,
    reviewer: str | None,
    context: int,
    as_json: bool,
) -> None:
    """Print the plan for a card and a pair of models. Without names, the settings' models; without those, a profile's."""
    settings = load_settings()
    memory = _card(card)
    if not as_json:  # first: they are of use too where a model's shape is not known
        for preset in fitting(load_presets(resource_dir("swap")), memory[0] / 1024):
            output.prose(preset.words, "  ")
        output.say()
    found = plan(
        _sized_model(settings, Role.GENERATOR, generator),
        _sized_model(settings, Role.REVIEWER, reviewer),
        card=memory,
        ram=_ram(ram),
        tokens=context,
    )
    if as_json:
        output.print_json(TypeAdapter(MemoryPlan).dump_python(found, mode="json"))
    else:
        _show_plan(found)


def _card(given: float | None) -> tuple[int, Basis]:
    from navigator.swap.gpu import cards

    if given is not None:
        return int(given * 1024), "given"
    here = cards()
    if here:
        return max(card.total_mib for card in here), "measured"
    return _standard().gpu_mib, "published"


def _ram(given: float | None) -> tuple[int, Basis]:
    if given is not None:
        return int(given * 1024), "given"
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MIB, "measured"


def _standard() -> ModelPair:
    return next(profile for profile in _profiles() if profile.name == _STANDARD)


def _profiles() -> Iterator[ModelPair]:
    from navigator.setup.profiles import load_profile, profile_names

    folder = resource_dir("swap") / "profiles"
    for name in profile_names(folder):
        yield load_profile(name, folder)


def _sized_model(settings: Settings, role: Role, wanted: str | None) -> Sized:
    """A model by its files on this machine, else by a packaged profile.

    Raises:
        UsageError: neither says enough.
    """
    name = wanted or settings.server(role).model or _standard().role(role).model
    known = _known(name)
    where = model_folder(name, settings.swap.model_dirs)
    config = None if where is None else where / "config.json" if where.is_dir() else where
    shape = shape_from_config(config) if config is not None and config.suffix == ".json" else None
    shape = shape or (known.shape if known else None)
    if shape is None:
        names = ", ".join(
            profile.role(each).model for profile in _profiles() for each in (Role.GENERATOR, Role.REVIEWER)
        )
        raise UsageError(
            f"The shape of {name} is not known.",
            hint=f"Name a folder with its config.json, or one of: {names}.",
        )
    size, basis, source = _weights(name, settings, known)
    return Sized(Path(name).name if where else name, size, basis, source, shape)


def _known(name: str) -> ModelProfile | None:
    """A packaged profile's model: by its name, or by a name without the owner and without how it is quantised."""
    models = [profile.role(role) for profile in _profiles() for role in (Role.GENERATOR, Role.REVIEWER)]
    short = name.rpartition("/")[2].casefold()
    return next(
        (
            model
            for model in models
            if same_model(name, model.model)
            or f"{model.model.rpartition('/')[2].casefold()}-".startswith(f"{short}-")
        ),
        None,
    )


def _weights(name: str, settings: Settings, known: ModelProfile | None) -> tuple[int, Basis, str]:
    """Bytes of the weights: of the files, else as a profile says."""
    files = weight_files(name, settings.swap.model_dirs)
    if files:
        return total_bytes(files), "measured", f"{len(files)} weight files here"
    if known is None:
        raise UsageError(
            f"Nothing says how large the weights of {name} are.", hint="Name a folder with its weight files."
        )
    return int(known.weights_gb * 1e9), "published", known.weights_source


def _show_plan(found: MemoryPlan) -> None:
    output.prose(
        f"A GPU of {found.card:,} MiB ({found.card_basis}), {found.ram:,} MiB of host memory ({found.ram_basis}),"
        f" a context of {found.tokens:,} tokens"
    )
    output.say()
    models = (found.generator, found.reviewer)
    heads = ("", "weights", "", "states")
    rows = [
        (
            f"{role}: {model.name}",
            f"{model.weights_mib:,} MiB",
            model.weights_basis,
            f"{model.states_mib:,} MiB" if model.states_mib else "–",
        )
        for role, model in zip(("generator", "reviewer"), models, strict=True)
    ]
    output.emit(output.table(heads, rows, right=(1, 3)))
    for model in models:
        output.prose(
            f"{model.name}: weights from {model.weights_source}; shape from {model.shape.source}", "  "
        )
    output.say()
    cache_heads = (
        "keys and values",
        "generator",
        "at once",
        "reviewer",
        "at once",
        "one of each",
        "left",
    )
    cache_rows = [
        (
            one.cache.name,
            f"{one.context:,} MiB",
            one.at_once,
            f"{other.context:,} MiB",
            other.at_once,
            f"{both.needed:,} MiB",
            f"{both.left:,} MiB",
        )
        for one, other, both in zip(*found.alone, found.beside, strict=True)
    ]
    output.emit(output.table(cache_heads, cache_rows, right=range(1, 7)))
    for both in found.beside:
        output.prose(f"{both.cache.name}: {both.cache.about}", "  ")
    output.prose(
        "States: for one request. At once: how many whole contexts fit, with their states, while that model is alone on the GPU."
        " All figures are computed; 2,000 MiB per server is an estimate of what the formulas leave out."
    )
    output.say()
    output.prose(f"{_STRATEGIES.get(found.way, 'It does not fit')}: {found.why}", bold=True)
    for note in found.notes:
        output.prose(note, "  ")
