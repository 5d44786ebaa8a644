"""`navigator doctor`, the part about model servers on this machine: GPU, model files, memory, units, access."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from navigator.config.settings import ServerSettings, Settings
from navigator.model.errors import NavigatorError
from navigator.model.states import Role
from navigator.model.text import plural
from navigator.swap import strategy_class
from navigator.swap.base import ROLES, Check

if TYPE_CHECKING:
    from navigator.setup.memory import Shape
    from navigator.setup.places import Places
    from navigator.setup.profiles import ModelProfile

_ANSWER_SECONDS = 5.0
_SLOW_DISK = 1.0e9
_TELLING = 64 << 20


def card_items() -> Iterator[Check]:
    """The GPUs, as nvidia-smi shows them."""
    from navigator.swap.gpu import cards

    for card in cards():
        held = f"{card.used_mib} MiB of {card.total_mib} MiB in use, driver {card.driver}"
        yield Check("GPU", "ok", f"{card.name}, {held}")


def serving_items(settings: Settings, *, disk: bool) -> Iterator[Check]:
    """Everything about servers on this machine. Nothing is started, stopped or read into the cache.

    Args:
        settings: the whole settings.
        disk: also measure how fast the models can be read: 512 MB past the page cache.
    """
    if settings.swap.strategy is None or strategy_class(settings.swap.strategy).embedded:
        return
    from navigator.swap.gpu import is_local

    strategy = strategy_class(settings.swap.strategy)
    local = [role for role in ROLES if is_local(settings.server(role).base_url)]
    if strategy.uses_units:
        yield from unit_items(settings, _unit_places(settings))
    if strategy.checks_files:
        for role in local:
            yield from _check_model(settings, role, units=strategy.uses_units)
        if strategy.reads_weights:
            yield from _page_cache(settings, local)
        if disk:
            yield from _disk(settings, local)
    for role in local:
        yield from _access(settings, role)
        shape, text = _shape(settings, role), _unit_text(settings, role)
        hybrid = shape is not None and shape.linear_value_heads > 0
        yield from launch_items(settings, role, text, hybrid=hybrid)


# Units


def _unit_places(settings: Settings) -> Places:
    from navigator.setup.places import system_places, user_places

    return user_places() if settings.swap.systemd.scope == "user" else system_places("root")


def unit_items(settings: Settings, places: Places) -> Iterator[Check]:
    """The installed units, what they run, and swap.conf."""
    from navigator.setup.files import read_text, state_of
    from navigator.setup.host_probe import program_of_unit
    from navigator.setup.install import unit_state

    own, on = settings.swap.systemd, places.on
    command = f"navigator swap install{f' --host {on.host}' if on.host else ''}"
    install = f"`{command} --dry-run` shows what it would write."
    for name in (own.generator_unit, own.reviewer_unit):
        path = places.unit(name)
        state = state_of(path, on)
        label = name.removesuffix(".service").removeprefix("navigator-") + " unit"
        if state == "absent":
            yield Check(label, "warn", f"{path} does not exist", install)
            continue
        words = {
            "ours": "as installed",
            "changed": "changed since it was installed",
            "foreign": "not written by Navigator",
        }
        found = f"{name}: {words[state]}, {unit_state(places, name)}"
        program = program_of_unit(read_text(path, on) or "")
        there = on.run(["test", "-e", program], _ANSWER_SECONDS) if program else None
        if there is not None and there.code == 1:
            yield Check(label, "missing", f"{found}; its program {program} does not exist", install)
        elif state == "changed":
            yield Check(
                label, "warn", found, "Put your changes into a drop-in (systemctl edit): it survives updates."
            )
        else:
            yield Check(label, "ok", found)
    yield from _installed_versions(places, (own.generator_unit, own.reviewer_unit))
    if on.read(places.swap_conf) is None:
        hint = f"`{command}` writes it; without it model-swap.sh uses its defaults."
        yield Check("swap.conf", "warn", f"{places.swap_conf} does not exist", hint)


def _installed_versions(places: Places, units: tuple[str, str]) -> Iterator[Check]:
    """The SGLang that each unit starts, named once if both share it."""
    from navigator.setup.files import read_text
    from navigator.setup.host_probe import program_of_unit
    from navigator.setup.sglang_flags import find_sglang

    texts = [text for name in units if (text := read_text(places.unit(name), places.on)) is not None]
    programs = {program_of_unit(text) for text in texts if "sglang" in text}
    for program in sorted(filter(None, programs)):
        if not Path(program).name.startswith(("python", "sglang")):
            continue  # the user's own script: what it starts is unknown
        with contextlib.suppress(NavigatorError):  # without SGLang the unit fails with its own message
            found = find_sglang(program, places.on)
            assert found is not None
            keyless = any(program in text and "--config" not in text for text in texts)
            yield _holes("SGLang", found.version, keyless)


# Models and memory


def _check_model(settings: Settings, role: Role, *, units: bool) -> Iterator[Check]:
    from navigator.setup.weights import model_folder, total_bytes, weight_files

    server = settings.server(role)
    dirs = settings.swap.model_dirs
    files = weight_files(server.model, dirs)
    where = model_folder(server.model, dirs)
    profile = _profile_for(server.model)
    label = f"{role.value} files"
    if files:
        yield Check(
            label, "ok", f"{_bytes_words(total_bytes(files))} in {plural(len(files), 'file')}, {where}"
        )
    elif units:  # another strategy's server knows where its files are
        hint = "Set model_dirs under [swap] to the folder of your models"
        hint += f", or run `hf download {server.model}`." if "/" in server.model else "."
        yield Check(label, "warn", f"no weight files of {server.model} found", hint)
    shape = _shape(settings, role)
    weight_bytes = total_bytes(files) or (int(profile.weights_gb * 1e9) if profile else 0)
    if shape is None or not weight_bytes:
        return
    flags = {**_profile_flags(profile), **_unit_flags(settings, role)}
    card = _card_mib()
    assumed = card or _profile_card(server.model)
    if assumed:
        yield _memory(server, role, shape, weight_bytes, assumed, flags, seen=bool(card))
    yield from _limits(server, role, flags)


def _shape(settings: Settings, role: Role) -> Shape | None:
    """The shape of a role's model: as its config.json says, else as a profile does; None where neither is there."""
    from navigator.setup.memory import shape_from_config
    from navigator.setup.weights import model_folder

    model = settings.server(role).model
    where = model_folder(model, settings.swap.model_dirs)
    shape = shape_from_config(where / "config.json") if where is not None and where.is_dir() else None
    profile = _profile_for(model)
    return shape or (profile.shape if profile else None)


def _memory(
    server: ServerSettings,
    role: Role,
    shape: Shape,
    weight_bytes: int,
    card: int,
    flags: dict[str, str],
    *,
    seen: bool,
) -> Check:
    from navigator.setup.memory import budget

    counted = budget(
        shape,
        card_mib=card,
        static_fraction=_seconds(flags.get("--mem-fraction-static"), 0.85),
        weight_bytes=weight_bytes,
        context_tokens=server.context_tokens,
        running=int(_seconds(flags.get("--max-running-requests"), server.max_inflight)),
        kv_element=1 if flags.get("--kv-cache-dtype", "auto").startswith("fp8") else 2,
        states_per_request=3 if {"extra_buffer", "extra_buffer_lazy"} & set(flags.values()) else 1,
        draft_tokens=int(_seconds(flags.get("--speculative-num-draft-tokens"), 0)),
        state_ratio=_seconds(flags.get("--mamba-full-memory-ratio"), 0.9),
    )
    states = f", {counted.states} of {counted.state_room} MiB for states" if counted.states else ""
    found = (
        f"{counted.weights} MiB weights{states}, {counted.context} MiB for a context of {server.context_tokens} tokens "
        f"({counted.context_fp8} with fp8 keys and values): {counted.at_once} such contexts at once in the "
        f"{counted.static} MiB that SGLang takes of {card}"
    )
    found += "" if seen else " (the profile's GPU; none found on this machine)"
    label = f"{role.value} memory"
    if counted.fits:
        return Check(label, "ok", found)
    hint = (
        f"{counted.missing} MiB too little: lower context_tokens, use --kv-cache-dtype fp8_e5m2, or a smaller model."
        if counted.missing
        else "Lower --mem-fraction-static: graphs and working memory need the rest of the GPU."
    )
    return Check(label, "warn", found, hint)


def _limits(server: ServerSettings, role: Role, flags: dict[str, str]) -> Iterator[Check]:
    """Where the settings ask for more than the unit allows."""
    given = int(_seconds(flags.get("--context-length"), server.context_tokens))
    if given < server.context_tokens:
        words = f"context_tokens is {server.context_tokens}, the server's --context-length {given}"
        yield Check(
            f"{role.value} context",
            "warn",
            words,
            "The server will refuse long prompts: use the same value in both.",
        )


def _profile_for(model: str) -> ModelProfile | None:
    return next((found for found, _ in _profiles(model)), None)


def _profile_card(model: str) -> int | None:
    return next((card for _, card in _profiles(model)), None)


def _profiles(model: str) -> Iterator[tuple[ModelProfile, int]]:
    """The packaged profiles' servers for a model, with the GPU memory they are for."""
    from navigator.config.paths import resource_dir
    from navigator.setup.profiles import load_profile, profile_names

    folder = resource_dir("swap") / "profiles"
    for name in profile_names(folder):
        profile = load_profile(name, folder)
        for role in ROLES:
            if profile.role(role).model.rpartition("/")[2] == model.rstrip("/").rpartition("/")[2]:
                yield profile.role(role), profile.gpu_mib


def _profile_flags(profile: ModelProfile | None) -> dict[str, str]:
    flags = profile.flags if profile else {}
    return {key.rstrip("?").split("|")[0]: str(value) for key, value in flags.items()}


def _unit_flags(settings: Settings, role: Role) -> dict[str, str]:
    """The flags of the installed unit, which override a profile's."""
    from navigator.setup.host_probe import flags_of_unit

    return flags_of_unit(_unit_text(settings, role))


def _unit_text(settings: Settings, role: Role) -> str:
    """The unit of a role's server; "" where the strategy uses none."""
    from navigator.setup.files import read_text

    if settings.swap.strategy is None or not strategy_class(settings.swap.strategy).uses_units:
        return ""
    own = settings.swap.systemd
    unit = own.generator_unit if role is Role.GENERATOR else own.reviewer_unit
    return read_text(_unit_places(settings).unit(unit)) or ""


def _card_mib() -> int:
    from navigator.swap.gpu import cards

    return max((card.total_mib for card in cards()), default=0)


def _bytes_words(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"


def _seconds(text: str | None, default: float) -> float:
    with contextlib.suppress(ValueError):
        return float(text) if text else default
    return default


# Memory and disk of the machine


def _page_cache(settings: Settings, roles: list[Role]) -> Iterator[Check]:
    from navigator.setup.weights import total_bytes, weight_files
    from navigator.swap.page_cache import available_bytes, residency
    from navigator.swap.read_ahead import ReadLimits

    files = {role: weight_files(settings.server(role).model, settings.swap.model_dirs) for role in roles}
    total = sum(total_bytes(each) for each in files.values())
    if not total:
        return
    room = available_bytes() - ReadLimits().floor_bytes
    warm = []
    for role, each in files.items():
        seen = residency(each)
        warm.append(f"{role.value} {100 * seen.share:.0f}%" if seen.known else f"{role.value} unknown")
    found = f"{_bytes_words(total)} of weights, room for {_bytes_words(max(0, room))}; in memory now: {', '.join(warm)}"
    if room >= total:
        yield Check("read-ahead", "ok", found)
    else:
        hint = "A swap reads the rest from disk. Add memory."
        yield Check("read-ahead", "warn", found, hint)


def _disk(settings: Settings, roles: list[Role]) -> Iterator[Check]:
    from navigator.setup.host_probe import disk_speed
    from navigator.setup.weights import total_bytes, weight_files

    for role in roles:
        files = weight_files(settings.server(role).model, settings.swap.model_dirs)
        if not files:
            continue
        label = f"{role.value} disk"
        if total_bytes(files) < _TELLING:
            yield Check(label, "ok", f"{_bytes_words(total_bytes(files))} are too little to measure the disk")
            continue
        try:
            measured = disk_speed(files)
        except OSError as error:
            yield Check(
                label, "warn", f"{files[0].parent}: {error.strerror}", "Check that you can read the files."
            )
            continue
        speed = measured.bytes_per_second
        how = (
            "past the page cache"
            if measured.direct
            else "this file system has no direct reads, so it may be cached"
        )
        found = f"{speed / 1e9:.2f} GB/s ({measured.read >> 20} MiB read, {how})"
        if speed:
            found += f": {total_bytes(files) / speed:.0f} s for this model's files"
        slow = speed < _SLOW_DISK
        hint = (
            "A swap waits for this: put the models on an NVMe drive, or add memory for both." if slow else ""
        )
        yield Check(label, "warn" if slow else "ok", found, hint)


# Access: who can use the server


def _access(settings: Settings, role: Role) -> Iterator[Check]:
    from navigator.setup.host_probe import open_to_others

    server = settings.server(role)
    port = urlsplit(server.base_url).port or 80
    others = open_to_others(port)
    label = f"{role.value} access"
    if others is None:
        return
    if others:
        hint = "Start it with --host 127.0.0.1: anyone who reaches this port can use the server, and may take it over."
        yield Check(label, "warn", f"port {port} is open to the network", hint)
    try:
        version, keyless, one_key = asyncio.run(_ask_server(server))
    except (NavigatorError, TimeoutError):
        return
    if not version:
        return  # only SGLang can be taken over through its API, and only it tells its version
    if keyless:
        hint = "Run `navigator swap install`, which creates keys, or start SGLang with --api-key."
        found = f"{server.base_url} needs no API key; any local program can use it"
        yield Check(label, "warn", found, hint)
    elif one_key:
        hint = "Set --admin-api-key too, as `navigator swap install` does: else every user can change the weights."
        yield Check(label, "warn", f"{server.base_url} has one key for requests and administration", hint)
    elif not others:
        yield Check(label, "ok", f"port {port} is open to this machine only and needs an API key")
    yield _holes(f"{role.value} version", version, keyless)


async def _ask_server(server: ServerSettings) -> tuple[str, bool, bool]:
    """SGLang's version, "" for another server; whether it answers without a key; whether one key allows everything."""
    from navigator.client.client import ModelClient

    async with asyncio.timeout(_ANSWER_SECONDS):
        async with ModelClient(server) as client:
            info = await client.server_info()
        version = str(info.get("version", ""))
        one_key = "admin_api_key" in info and not info["admin_api_key"]
        async with ModelClient(server.model_copy(update={"api_key_env": ""})) as stranger:
            try:
                await stranger.models()
            except NavigatorError:
                return version, False, one_key
    return version, True, one_key


def _holes(label: str, version: str, keyless: bool) -> Check:
    from navigator.setup.sglang_flags import advisories_for, advisories_read

    known = [each for each in advisories_for(version) if keyless or not each.without_keys]
    if not known:
        return Check(label, "ok", f"SGLang {version}: no known vulnerability (as of {advisories_read()})")
    listed = "; ".join(f"{each.name}: {each.what}" for each in known)
    return Check(label, "warn", f"SGLang {version}: {listed}", "Install 0.5.21 or newer, and set both keys.")


_ASKED = {
    "speculative_algorithm": "--speculative-algorithm",
    "mamba_radix_cache_strategy": "--mamba-radix-cache-strategy",
    "mamba_scheduler_strategy": "--mamba-scheduler-strategy",
}
"""What a running SGLang says of its arguments, and the flags that these are."""


def launch_items(settings: Settings, role: Role, text: str, *, hybrid: bool) -> Iterator[Check]:
    """Warn of each known fault.

    Args:
        settings: the whole settings.
        role: whose server.
        text: its unit; "" where there is none. A server that answers is asked instead.
        hybrid: its model has layers with linear attention.
    """
    from navigator.setup.host_probe import flags_of_unit, program_of_unit
    from navigator.setup.sglang_flags import known_faults

    try:
        version, flags = asyncio.run(_running(settings.server(role)))
    except (NavigatorError, TimeoutError):
        version, flags = "", {}
    if not version:
        version, flags = _version_of(program_of_unit(text)), flags_of_unit(text)
    for fault in known_faults(version, flags, hybrid=hybrid):
        known = f"SGLang {version}" if version else "SGLang"
        yield Check(f"{role.value} flags", "warn", f"{known}, {fault.name}: {fault.what}", fault.remedy)


async def _running(server: ServerSettings) -> tuple[str, dict[str, str]]:
    """The version of the SGLang that answers, and the flags it was started with; "" for another server."""
    from navigator.client.client import ModelClient

    async with asyncio.timeout(_ANSWER_SECONDS), ModelClient(server) as client:
        info = await client.server_info()
    flags = {flag: str(info[key]) for key, flag in _ASKED.items() if info.get(key)}
    return str(info.get("version", "")), flags


def _version_of(program: str) -> str:
    """The version of the SGLang that a unit starts; "" where that is unknown."""
    from navigator.setup.sglang_flags import find_sglang

    if not Path(program).name.startswith(("python", "sglang")):
        return ""
    try:
        found = find_sglang(program)
    except NavigatorError:
        return ""
    return found.version if found else ""
