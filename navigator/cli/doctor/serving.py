"""`navigator doctor`, the part about model servers on this machine: the card, the models, the units, the doors."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from navigator.cli.doctor.item import Item
from navigator.cli.doctor.strategy import managed_items
from navigator.domain.errors import NavigatorError
from navigator.domain.states import Role

if TYPE_CHECKING:
    from navigator.config.settings import ServerSettings, Settings
    from navigator.serving.setup.memory import Shape
    from navigator.serving.setup.places import Places
    from navigator.serving.setup.profiles import ModelProfile

_ROLES = (Role.GENERATOR, Role.REVIEWER)
_ON_THIS_MACHINE = ("systemd", "sleep", "command", "managed", "adapter", "resident")
_BY_UNITS = ("systemd", "sleep")
_ANSWER_SECONDS = 5.0
_SLOW_DISK = 1.0e9
_TELLING = 64 << 20


def card_items() -> Iterator[Item]:
    """The cards, as nvidia-smi shows them."""
    from navigator.serving.setup.gpu import cards

    for card in cards():
        held = f"{card.used_mib} MiB of {card.total_mib} MiB in use, driver {card.driver}"
        yield Item("GPU", "ok", f"{card.name}, {held}")


def serving_items(settings: Settings, *, disk: bool) -> Iterator[Item]:
    """Everything about servers that run here. Nothing is started, stopped or warmed.

    Args:
        settings: the whole settings.
        disk: also measure how fast the models can be read: 512 MB past the page cache.
    """
    if settings.swap.strategy not in _ON_THIS_MACHINE:
        return
    from navigator.serving.swap.gpu import is_local

    local = [role for role in _ROLES if is_local(settings.server(role).base_url)]
    if settings.swap.strategy in _BY_UNITS:
        yield from _units(settings)
    if settings.swap.strategy == "managed":
        yield from managed_items(settings, local)
    else:
        yield from _files(settings, local, disk=disk)
    for role in local:
        yield from _door(settings, role)


def _files(settings: Settings, local: list[Role], *, disk: bool) -> Iterator[Item]:
    """The models as files of this machine, which a server of the user's own loads whole."""
    for role in local:
        yield from _model(settings, role)
    yield from _page_cache(settings, local)
    if disk:
        yield from _disk(settings, local)


# Units


def _places(settings: Settings) -> Places:
    from navigator.serving.setup.places import system_places, user_places

    return user_places() if settings.swap.systemd.scope == "user" else system_places("root")


def _units(settings: Settings) -> Iterator[Item]:
    from navigator.serving.setup.files import read_text, state_of
    from navigator.serving.setup.host_probe import program_of_unit

    places = _places(settings)
    own = settings.swap.systemd
    install = "navigator swap install --dry-run shows what it would write."
    for name in (own.generator_unit, own.reviewer_unit):
        path = places.unit(name)
        state = state_of(path)
        label = name.removesuffix(".service").removeprefix("navigator-") + " unit"
        if state == "absent":
            yield Item(label, "warn", f"{path} is not there", install)
            continue
        words = {
            "ours": "as installed",
            "changed": "changed since it was installed",
            "foreign": "not Navigator's",
        }
        found = f"{name}: {words[state]}, {_unit_state(places, name)}"
        program = program_of_unit(read_text(path) or "")
        if program and not Path(program).exists():
            yield Item(label, "missing", f"{found}; its program {program} does not exist", install)
        elif state == "changed":
            yield Item(label, "warn", found, "A drop-in keeps your change over updates: systemctl edit.")
        else:
            yield Item(label, "ok", found)
    yield from _installed_versions(places, (own.generator_unit, own.reviewer_unit))
    if not places.swap_conf.exists():
        hint = "navigator swap install writes it; without it model-swap.sh knows only its defaults."
        yield Item("swap.conf", "warn", f"{places.swap_conf} is not there", hint)


def _installed_versions(places: Places, units: tuple[str, str]) -> Iterator[Item]:
    """The SGLang that each unit would start; one that both share is named once."""
    from navigator.serving.setup.files import read_text
    from navigator.serving.setup.host_probe import program_of_unit
    from navigator.serving.setup.sglang_flags import find_sglang

    texts = [text for name in units if (text := read_text(places.unit(name))) is not None]
    programs = {program_of_unit(text) for text in texts if "sglang" in text}
    for program in sorted(filter(None, programs)):
        if not Path(program).name.startswith(("python", "sglang")):
            continue  # a script of the user's own: what it starts cannot be told
        with contextlib.suppress(NavigatorError):  # without SGLang in it the unit fails, and says so itself
            found = find_sglang(program)
            assert found is not None
            keyless = any(program in text and "--config" not in text for text in texts)
            yield _holes("SGLang", found.version, keyless)


def _unit_state(places: Places, unit: str) -> str:
    from navigator.serving.setup.install import unit_state

    return unit_state(places, unit) if shutil.which("systemctl") else "systemctl is not here"


# Models and memory


def _model(settings: Settings, role: Role) -> Iterator[Item]:
    from navigator.serving.setup.memory import shape_from_config
    from navigator.serving.setup.weights import model_folder, total_bytes, weight_files

    server = settings.server(role)
    dirs = settings.swap.read_ahead.model_dirs
    files = weight_files(server.model, dirs)
    where = model_folder(server.model, dirs)
    profile = _profile_for(server.model)
    label = f"{role.value} files"
    if files:
        yield Item(label, "ok", f"{_size(total_bytes(files))} in {len(files)} files, {where}")
    else:
        hint = f"hf download {server.model}; or name the folder: [swap.read_ahead] model_dirs."
        yield Item(label, "warn", f"no weight files of {server.model} are found", hint)
    shape = shape_from_config(where / "config.json") if where is not None and where.is_dir() else None
    shape = shape or (profile.shape if profile else None)
    weight_bytes = total_bytes(files) or (int(profile.weights_gb * 1e9) if profile else 0)
    if shape is None or not weight_bytes:
        return
    flags = {**_profile_flags(profile), **_unit_flags(settings, role)}
    card = _card_mib()
    assumed = card or _profile_card(server.model)
    if assumed:
        yield _memory(server, role, shape, weight_bytes, assumed, flags, seen=bool(card))
    yield from _limits(server, role, flags)


def _memory(
    server: ServerSettings,
    role: Role,
    shape: Shape,
    weight_bytes: int,
    card: int,
    flags: dict[str, str],
    *,
    seen: bool,
) -> Item:
    from navigator.serving.setup.memory import budget

    counted = budget(
        shape,
        card_mib=card,
        static_fraction=_number(flags.get("--mem-fraction-static"), 0.85),
        weight_bytes=weight_bytes,
        context_tokens=server.context_tokens,
        running=int(_number(flags.get("--max-running-requests"), server.max_inflight)),
        kv_element=1 if flags.get("--kv-cache-dtype", "auto").startswith("fp8") else 2,
        states_per_request=3 if "extra_buffer" in flags.values() else 1,
        draft_tokens=int(_number(flags.get("--speculative-num-draft-tokens"), 0)),
        state_ratio=_number(flags.get("--mamba-full-memory-ratio"), 0.9),
    )
    states = f", {counted.states} of {counted.state_room} MiB for states" if counted.states else ""
    found = (
        f"{counted.weights} MiB weights{states}, {counted.context} MiB for a context of {server.context_tokens} tokens "
        f"({counted.context_fp8} with fp8 keys and values): {counted.at_once} such contexts at once in the "
        f"{counted.static} MiB that SGLang takes of {card}"
    )
    found += "" if seen else " (the profile's card: none is seen here)"
    label = f"{role.value} memory"
    if counted.fits:
        return Item(label, "ok", found)
    hint = (
        f"{counted.missing} MiB are short: fewer context_tokens, --kv-cache-dtype fp8_e5m2, or a smaller model."
        if counted.missing
        else "Lower --mem-fraction-static: the rest of the card is for graphs and working memory."
    )
    return Item(label, "warn", found, hint)


def _limits(server: ServerSettings, role: Role, flags: dict[str, str]) -> Iterator[Item]:
    """Where the settings ask for more than the unit gives."""
    given = int(_number(flags.get("--context-length"), server.context_tokens))
    if given < server.context_tokens:
        words = f"context_tokens is {server.context_tokens}, the server's --context-length {given}"
        yield Item(f"{role.value} context", "warn", words, "Long prompts will be refused: make them agree.")


def _profile_for(model: str) -> ModelProfile | None:
    return next((found for found, _ in _profiles(model)), None)


def _profile_card(model: str) -> int | None:
    return next((card for _, card in _profiles(model)), None)


def _profiles(model: str) -> Iterator[tuple[ModelProfile, int]]:
    """The packaged profiles' servers for a model, with the card they are for."""
    from navigator.config.resources import resource_dir
    from navigator.serving.setup.profiles import load_profile, profile_names

    folder = resource_dir("swap") / "profiles"
    for name in profile_names(folder):
        profile = load_profile(name, folder)
        for role in _ROLES:
            if profile.role(role).model.rpartition("/")[2] == model.rstrip("/").rpartition("/")[2]:
                yield profile.role(role), profile.gpu_mib


def _profile_flags(profile: ModelProfile | None) -> dict[str, str]:
    flags = profile.flags if profile else {}
    return {key.rstrip("?").split("|")[0]: str(value) for key, value in flags.items()}


def _unit_flags(settings: Settings, role: Role) -> dict[str, str]:
    """The flags of the unit that is installed, which count for more than a profile's."""
    from navigator.serving.setup.files import read_text
    from navigator.serving.setup.host_probe import flags_of_unit

    if settings.swap.strategy not in _BY_UNITS:
        return {}
    own = settings.swap.systemd
    unit = own.generator_unit if role is Role.GENERATOR else own.reviewer_unit
    return flags_of_unit(read_text(_places(settings).unit(unit)) or "")


def _card_mib() -> int:
    from navigator.serving.setup.gpu import cards

    return max((card.total_mib for card in cards()), default=0)


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"


def _number(text: str | None, default: float) -> float:
    with contextlib.suppress(ValueError):
        return float(text) if text else default
    return default


# Memory and disk of the machine


def _page_cache(settings: Settings, roles: list[Role]) -> Iterator[Item]:
    from navigator.serving.read_ahead.page_cache import available_bytes, residency
    from navigator.serving.setup.weights import total_bytes, weight_files

    chosen = settings.swap.read_ahead
    files = {role: weight_files(settings.server(role).model, chosen.model_dirs) for role in roles}
    total = sum(total_bytes(each) for each in files.values())
    if not total:
        return
    room = available_bytes() - chosen.floor_mb * (1 << 20)
    warm = []
    for role, each in files.items():
        seen = residency(each)
        warm.append(f"{role.value} {100 * seen.share:.0f}%" if seen.known else f"{role.value} unknown")
    found = f"{_size(total)} of weights, room for {_size(max(0, room))}; in memory now: {', '.join(warm)}"
    if not chosen.enabled:
        yield Item("read-ahead", "ok", f"off; {found}")
    elif room >= total:
        yield Item("read-ahead", "ok", found)
    else:
        hint = (
            "A swap reads the rest from the disk. More memory, or a lower [swap.read_ahead] floor_mb, helps."
        )
        yield Item("read-ahead", "warn", found, hint)


def _disk(settings: Settings, roles: list[Role]) -> Iterator[Item]:
    from navigator.serving.setup.host_probe import disk_speed
    from navigator.serving.setup.weights import total_bytes, weight_files

    for role in roles:
        files = weight_files(settings.server(role).model, settings.swap.read_ahead.model_dirs)
        if not files:
            continue
        label = f"{role.value} disk"
        if total_bytes(files) < _TELLING:
            yield Item(label, "ok", f"{_size(total_bytes(files))} are too little to measure a disk by")
            continue
        try:
            measured = disk_speed(files)
        except OSError as error:
            yield Item(label, "warn", f"{files[0].parent}: {error.strerror}", "Can this user read the files?")
            continue
        speed = measured.bytes_per_second
        how = (
            "past the page cache"
            if measured.direct
            else "this file system has no direct reads: may be cached"
        )
        found = f"{speed / 1e9:.2f} GB/s ({measured.read >> 20} MiB read, {how})"
        if speed:
            found += f": {total_bytes(files) / speed:.0f} s for this model's files"
        slow = speed < _SLOW_DISK
        hint = (
            "A swap waits for this. Put the models on an NVMe drive, or have memory for both." if slow else ""
        )
        yield Item(label, "warn" if slow else "ok", found, hint)


# Doors: what is open to whom


def _door(settings: Settings, role: Role) -> Iterator[Item]:
    from navigator.serving.setup.host_probe import open_to_others

    server = settings.server(role)
    port = urlsplit(server.base_url).port or 80
    others = open_to_others(port)
    label = f"{role.value} door"
    if others is None:
        return
    if others:
        hint = "Start it with --host 127.0.0.1; whoever reaches this port can use, and may take over, the server."
        yield Item(label, "warn", f"port {port} is open to the network", hint)
    try:
        version, keyless, one_key = asyncio.run(_ask(server))
    except (NavigatorError, TimeoutError):
        return
    if keyless:
        hint = "navigator swap install makes keys; without any, every program on this machine may use the server."
        yield Item(label, "warn", f"{server.base_url} asks for no key", hint)
    elif one_key:
        hint = "Set --admin-api-key too (navigator swap install does): else who may ask may also change the weights."
        yield Item(label, "warn", f"{server.base_url} has one key for everything", hint)
    elif not others:
        yield Item(label, "ok", f"port {port} is open to this machine only, and asks for a key")
    if version:
        yield _holes(f"{role.value} version", version, keyless)


async def _ask(server: ServerSettings) -> tuple[str, bool, bool]:
    """SGLang's version, "" for another server; whether it answers without a key; whether one key opens everything."""
    from navigator.serving.client.client import ModelClient

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


def _holes(label: str, version: str, keyless: bool) -> Item:
    from navigator.serving.setup.advisories import READ, advisories_for

    open_ones = [each for each in advisories_for(version) if keyless or not each.without_keys]
    if not open_ones:
        return Item(label, "ok", f"SGLang {version}: no hole listed here (as of {READ})")
    listed = "; ".join(f"{each.name}: {each.what}" for each in open_ones)
    return Item(label, "warn", f"SGLang {version}: {listed}", "Install 0.5.21 or newer, and set both keys.")
