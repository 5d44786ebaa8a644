"""`navigator doctor`: what is here, what is missing, how to get it, where the log is; with --plan, what fits on a card."""

from __future__ import annotations

import asyncio
import errno
import os
import platform
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Literal, TypedDict, Unpack

import click

from navigator import __version__
from navigator.cli import output
from navigator.cli.command import Value, command
from navigator.cli.session import state_paths
from navigator.client.body import same_model
from navigator.config.paths import STATE_VARIABLE, StatePaths, config_path, resource_dir
from navigator.config.settings import Settings, load_settings
from navigator.git.runner import Git, find_git
from navigator.model.errors import NavigatorError, UsageError
from navigator.model.states import Role
from navigator.model.text import plural
from navigator.setup.plan import (
    MIB,
    MemoryPlan,
    Sized,
    model_folder,
    plan,
    shape_from_config,
    total_bytes,
    weight_files,
)
from navigator.setup.profiles import ModelProfile, load_profile, profile_names
from navigator.store.database import is_low, open_reader, quick_check, translated
from navigator.swap.base import Check
from navigator.swap.gpu import cards

_REACHES = {"swap strategy", "ssh"}
"""Checks without which nothing more can be asked of another machine."""
_MARKS = {"ok": "✓", "warn": "!", "missing": "✗"}

_Gigabytes = Annotated[float, Value("GB", type=click.FloatRange(min=1))]
_Model = Annotated[str, Value("MODEL")]


class PlanOptions(TypedDict):
    """What the plan is made from; None: as the machine and the settings say."""

    card: _Gigabytes | None
    ram: _Gigabytes | None
    generator: _Model | None
    reviewer: _Model | None


@command()
def doctor(*, plan: bool = False, **planned: Unpack[PlanOptions]) -> None:
    """Check what Navigator needs: what is there, what is missing, how to get it.

    Exits with 3 if something is missing.

    Args:
        plan: Show instead how much GPU memory a pair of models needs, and how to swap.
        card: With --plan: GPU memory, of 1,024 MiB.
        ram: With --plan: host memory.
        generator: With --plan: a name, or a folder with a config.json.
        reviewer: With --plan: the same for the model that reviews.
    """
    if plan:
        show_plan(planned)
        return
    if any(value is not None for value in planned.values()):
        raise UsageError("Those options belong to --plan.", hint="Add --plan.")
    paths = state_paths()
    items = list(_look(paths))
    counts = Counter(item.state for item in items)

    def text(_: object) -> None:
        for item in items:
            first = f"{_MARKS[item.state]} {item.state:<8} {item.name:<16} "
            output.prose(item.found, " " * 28, first=first)
            if item.hint:
                output.prose(item.hint, " " * 28)
        warnings = plural(counts["warn"], "warning")
        output.say(f"\n{counts['ok']} ok, {warnings}, {counts['missing']} missing. Log: {paths.log}")

    output.show({"items": items, "log": paths.log, "ok": not counts["missing"]}, text)
    if counts["missing"]:
        sys.exit(3)


def checked(name: str, check: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    """What a check finds; what it raises is missing."""
    try:
        yield from check()
    except NavigatorError as error:
        yield Check(name, "missing", error.message, error.hint)


def _look(paths: StatePaths) -> Iterator[Check]:
    """Everything, from this machine to the servers. What follows from settings that cannot be read is left out."""
    from navigator.cli.doctor_servers import card_items, server_items

    yield Check("navigator", "ok", f"{__version__}, Python {platform.python_version()}, {sys.executable}")
    yield from checked("git", _git)
    yield from checked("git identity", lambda: _identity(paths))
    yield _check_folder(paths)
    yield from checked("database", lambda: _database(paths))
    try:
        settings = load_settings()
    except NavigatorError as error:
        yield Check("settings", "missing", error.message, error.hint)
        return
    yield Check("settings", "ok", str(settings.source or f"no file at {config_path()}: all defaults"))
    yield from _sandbox(unsandboxed=settings.checks.unsandboxed)
    yield from checked("prompts", _prompts)
    yield from card_items()
    found = list(strategy_items(settings, paths))
    yield from found
    lost = {item.name for item in found if item.state == "missing"}
    yield from server_items(settings, reached=not _REACHES & lost)
    if settings.generator.agent.command:
        yield _agent(settings)


def _git() -> Iterator[Check]:

    yield Check("git", "ok", str(find_git()))


def _identity(paths: StatePaths) -> Iterator[Check]:
    """Whether git knows the author of landed commits, from the user's own settings."""
    from navigator.landing.plan import read_people, unknown_person

    if people := read_people(Git(paths.root, user_config=True)):
        yield Check("git identity", "ok", f"{people[0].name} <{people[0].email}>")
    else:
        yield Check(
            "git identity", "warn", unknown_person(""), "A repository's own settings may say so instead."
        )


def _check_folder(paths: StatePaths) -> Check:
    free = shutil.disk_usage(paths.root).free // (1024 * 1024)
    about = f"{paths.root} ({oct(paths.root.stat().st_mode & 0o777)})"
    try:
        with tempfile.TemporaryFile(dir=paths.root):
            pass
    except OSError as error:
        if error.errno != errno.ENOSPC:
            hint = f"Make it writable, or set {STATE_VARIABLE} to another folder. Until then nothing can be changed."
            return Check("state folder", "missing", f"{about} cannot be written: {error.strerror}", hint)
    if is_low(paths.root):
        hint = "Free some space there: no new work starts before that."
        return Check("state folder", "missing", f"{about}, {free} MB free: the disk is full", hint)
    return Check("state folder", "ok", f"{about}, {free // 1024} GB free")


def _database(paths: StatePaths) -> Iterator[Check]:
    """Whether the database can be opened and is intact."""
    if not paths.database.exists():
        yield Check("database", "ok", "none yet; the first command creates it")
        return
    try:
        with closing(open_reader(paths.database)) as connection:
            said = quick_check(connection)
    except sqlite3.Error as error:
        raise translated(error, paths.database) from error
    if said != "ok":
        found = f"{paths.database} is damaged: {said}"
        yield Check("database", "missing", found, f"Backups are in {paths.backups}.")
        return
    yield Check("database", "ok", str(paths.database))


def _sandbox(*, unsandboxed: bool) -> Iterator[Check]:
    """Tried with every flag that a run uses: `bwrap true` succeeds where a network namespace is refused."""
    from navigator.sandbox.probe import probe

    found = probe()
    if found.works:
        scope = ", control groups by systemd" if found.scope else ""
        yield Check("bubblewrap", "ok", found.bwrap + scope)
    else:
        state: Literal["warn", "missing"] = "warn" if unsandboxed else "missing"
        yield Check("bubblewrap", state, f"{found.reason}: proposals are not tested", found.hint)
    if unsandboxed:
        words = "projects' tests run UNSANDBOXED: code that a model wrote runs as you"
        yield Check("tests", "warn", words, "Remove unsandboxed from [checks] in the settings.")


def _prompts() -> Iterator[Check]:
    """Whether the user's own prompt templates can be used."""
    from navigator.journey.prompts.library import PromptLibrary

    library = PromptLibrary([resource_dir("prompts"), config_path().parent / "prompts"])
    library.check()
    mine = ", ".join(prompt.version for prompt in library.own)
    yield Check("prompts", "ok", f"yours: {mine}" if mine else "the packaged ones")


def _agent(settings: Settings) -> Check:
    """The coding agent that writes: started in the sandbox and ended again."""
    from navigator.agents.session import try_agent

    try:
        return Check("agent", "ok", f"{asyncio.run(try_agent(settings))} starts")
    except NavigatorError as error:
        return Check("agent", "missing", error.message, error.hint)


def strategy_items(settings: Settings, paths: StatePaths) -> Iterator[Check]:
    """The strategy, made as a run makes it, its own checks, and the servers. Nothing is started."""
    from navigator.cli.doctor_servers import answer_item, context_items
    from navigator.swap import look_at_servers, make_strategy, strategy_names

    if settings.swap.strategy is None:
        hint = (
            "`navigator setup` finds your servers and writes the settings. Or set strategy under [swap] to one of "
            f"{', '.join(strategy_names())} (docs/strategies.md); `navigator demo` needs none."
        )
        yield Check("swap strategy", "missing", "none is set", hint)
        return
    try:
        strategy = make_strategy(settings, paths)
    except NavigatorError as error:
        yield Check("swap strategy", "missing", f"{settings.swap.strategy}: {error.message}", error.hint)
        return
    yield Check("swap strategy", "ok", f"{strategy.name}: {strategy.about}")
    own = asyncio.run(strategy.diagnose())
    yield from own
    if strategy.embedded or any(item.name == "ssh" and item.state == "missing" for item in own):
        return  # the servers are behind the connection: once is enough
    for look in look_at_servers(settings, paths):
        yield answer_item(look, swapped=strategy.restarts_servers and look.role is not Role.FINAL)
        if look.state == "ready":
            yield from context_items(settings, look.role)


# `navigator doctor --plan`: what a pair of models takes on a card, and which strategy follows

_STANDARD = "qwen3.5-96gb"
_STRATEGIES = {
    "resident": 'strategy = "resident"',
    "sleep": 'strategy = "sleep"',
    "swap": 'strategy = "systemd" or "managed"',
}


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
    host = int(ram * 1024) if ram else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MIB
    found = plan(
        _sized_model(settings, Role.GENERATOR, planned["generator"]),
        _sized_model(settings, Role.REVIEWER, planned["reviewer"]),
        card=memory,
        ram=host,
        tokens=131_072,
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
    output.prose(
        "At once: how many whole contexts fit, with their states, while that model is alone on the GPU. All figures are"
        " computed; 2,000 MiB per server is an estimate of what the formulas leave out."
    )
    output.say()
    output.prose(f"{_STRATEGIES.get(found.way, 'It does not fit')}: {found.why}", bold=True)
