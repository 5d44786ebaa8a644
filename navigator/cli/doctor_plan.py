"""`navigator doctor --plan`: what a pair of models takes on a card, and which strategy follows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, TypedDict

import click

from navigator.cli import output
from navigator.cli.command import Value, given
from navigator.client.body import same_model
from navigator.config.paths import resource_dir
from navigator.config.settings import Settings, load_settings
from navigator.model.errors import UsageError
from navigator.model.states import Role
from navigator.setup.plan import (
    CACHES,
    MIB,
    MemoryPlan,
    Sized,
    model_folder,
    plan,
    shape_from_config,
    total_bytes,
    weight_files,
)
from navigator.setup.profiles import ModelProfile, fitting, load_presets, load_profile, profile_names
from navigator.swap.gpu import cards

_STANDARD = "qwen3.5-96gb"
_STRATEGIES = {
    "resident": 'strategy = "resident"',
    "sleep": 'strategy = "sleep"',
    "swap": 'strategy = "systemd" or "managed"',
}


_Gigabytes = Annotated[float, Value("GB", type=click.FloatRange(min=1))]
_Model = Annotated[str, Value("MODEL")]


class PlanOptions(TypedDict):
    """What the plan is made from; None: as the machine and the settings say."""

    card: _Gigabytes | None
    ram: _Gigabytes | None
    generator: _Model | None
    reviewer: _Model | None
    context: Annotated[int | None, Value("TOKENS", type=click.IntRange(min=1024))]


def show_plan(planned: PlanOptions) -> None:
    """Print the plan for a card and a pair of models. Without names, the settings' models; without those, a profile's.

    Raises:
        UsageError: the card or a model is not known.
    """
    settings = load_settings()
    card, ram = planned["card"], planned["ram"]
    memory = int(card * 1024) if card else max((each.total_mib for each in cards()), default=0)
    if not memory:
        raise UsageError("nvidia-smi shows no GPU.", hint="Give its memory: --card GB.")
    if not given("--json"):  # first: they are of use too where a model's shape is not known
        for preset in fitting(load_presets(resource_dir("swap")), memory / 1024):
            output.prose(preset.words, "  ")
        output.say()
    host = int(ram * 1024) if ram else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MIB
    found = plan(
        _sized_model(settings, Role.GENERATOR, planned["generator"]),
        _sized_model(settings, Role.REVIEWER, planned["reviewer"]),
        card=memory,
        ram=host,
        tokens=planned["context"] or 131_072,
    )
    output.show(found, _show_plan)


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


def _show_plan(found: MemoryPlan) -> None:
    output.prose(
        f"A GPU of {found.card:,} MiB, {found.ram:,} MiB of host memory, a context of {found.tokens:,} tokens"
    )
    for model in (found.generator, found.reviewer):
        output.prose(
            f"{model.name}: weights {model.weights_mib:,} MiB, from {model.weights_source}; states of a request"
            f" {model.states_mib:,} MiB; shape from {model.shape.source}",
            "  ",
        )
    output.say()
    output.table(
        found.fits,
        ("keys and values", lambda fit: fit.cache),
        ("generator", lambda fit: f"{fit.contexts[0]:,} MiB"),
        ("at once", lambda fit: fit.at_once[0]),
        ("reviewer", lambda fit: f"{fit.contexts[1]:,} MiB"),
        ("at once", lambda fit: fit.at_once[1]),
        ("one of each", lambda fit: f"{fit.needed:,} MiB"),
        ("left", lambda fit: f"{fit.left:,} MiB"),
    )
    for name, (_, about) in CACHES.items():
        output.prose(f"{name}: {about}", "  ")
    output.prose(
        "At once: how many whole contexts fit, with their states, while that model is alone on the GPU. All figures are"
        " computed; 2,000 MiB per server is an estimate of what the formulas leave out."
    )
    output.say()
    output.prose(f"{_STRATEGIES.get(found.way, 'It does not fit')}: {found.why}", bold=True)
