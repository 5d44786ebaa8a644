"""`navigator doctor`: whether a server is started with flags that are known to go wrong in its version."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from navigator.config.settings import ServerSettings, Settings
from navigator.model.errors import NavigatorError
from navigator.model.states import Role
from navigator.swap.base import Check

_ANSWER_SECONDS = 5.0
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
    from navigator.lab.speculation.launch import to_look_at
    from navigator.setup.host_probe import flags_of_unit, program_of_unit
    from navigator.setup.known_faults import known_faults

    try:
        version, flags = asyncio.run(_running(settings.server(role)))
    except (NavigatorError, TimeoutError):
        version, flags = "", {}
    if not version:
        version, flags = _version_of(program_of_unit(text)), flags_of_unit(text)
    for fault in known_faults(version, flags, hybrid=hybrid):
        known = f"SGLang {version}" if version else "SGLang"
        yield Check(f"{role.value} flags", "warn", f"{known}, {fault.name}: {fault.what}", fault.remedy)
    if changed := to_look_at(text, version):
        hint = "Measure again: `navigator lab speculation measure PLAN --write`."
        yield Check(f"{role.value} speculation", "warn", f"decided for another {changed}", hint)


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
