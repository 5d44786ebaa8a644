"""The files of an installation, from a profile and the installed SGLang."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from navigator.config.paths import config_path, resource_dir
from navigator.model.errors import ConfigError, MissingPart
from navigator.model.states import Role
from navigator.setup.files import PlannedFile, read_text, sealed
from navigator.setup.install import SCRIPTS, SERVER_UNITS, Places
from navigator.setup.profiles import ModelPair, ModelProfile, WantedFlags, load_profile
from navigator.setup.sglang_flags import FlagSource, FlagTable, require_sglang
from navigator.swap.machine import HERE

if TYPE_CHECKING:
    from jinja2 import Environment

API_KEY_VARIABLE = "SGLANG_API_KEY"
ADMIN_KEY_VARIABLE = f"{API_KEY_VARIABLE}_ADMIN"

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,+@")


@dataclass(frozen=True, slots=True)
class Servers:
    """What an installation is asked to be.

    Attributes:
        profile: the pair of models.
        places: where the files go.
        python: of SGLang's environment.
        known: the flags of that SGLang.
        templates: the folder with the unit templates.
        asleep: both servers stay up and share the memory in turns (strategy `sleep`).
    """

    profile: ModelPair
    places: Places
    python: Path
    known: FlagTable
    templates: Path
    asleep: bool = False


def prepared(
    profile: str, places: Places, sglang: str | None, *, asleep: bool, note: Callable[[str], None]
) -> tuple[Servers, list[str]]:
    """What to install, and the flags that are left out because the installed SGLang lacks them.

    Args:
        profile: a packaged pair of models, or the path of a .toml file.
        places: where the files go.
        sglang: SGLang's virtual environment or its python; None finds it.
        asleep: both servers stay up and share the memory in turns.
        note: gets a line before SGLang is asked, which takes up to a minute.

    Raises:
        MissingPart: there is no SGLang, or its parser refuses a command line.
        UsageError, ConfigError: as `load_profile`.
    """
    folder = resource_dir("swap")
    pair = load_profile(profile, folder / "profiles")
    found = require_sglang(sglang, places.on)
    note(f"Asking SGLang {found.version} at {found.python} for its flags …")
    source = FlagSource(found, folder / "flags" / "list_flags.py")
    wanted = Servers(pair, places, found.python, source.table(), folder / "units", asleep)
    built = commands(wanted)
    # Without --config: the file it names may not be written yet.
    lines = [_without_config(command.words) for command in built.values()]
    for role, wrong in zip(built, source.errors(lines), strict=True):
        if wrong:
            raise MissingPart(
                f"SGLang {found.version} refuses the {role.value}'s command line: {wrong}",
                hint=f"Copy the profile {pair.name}, change it, and pass the copy with --profile.",
            )
    return wanted, sorted({name for command in built.values() for name in command.left_out})


def _without_config(words: tuple[str, ...]) -> list[str]:
    if "--config" not in words:
        return list(words)
    at = words.index("--config")
    return [*words[:at], *words[at + 2 :]]


def commands(wanted: Servers) -> dict[Role, Command]:
    """Each server's command line; raises as `server_command`."""
    return {
        role: server_command(
            wanted.profile.role(role),
            wanted.known,
            key_file=str(wanted.places.server_keys),
            asleep=wanted.asleep,
        )
        for role in SERVER_UNITS
    }


def render(wanted: Servers) -> list[PlannedFile]:
    """Every file of the installation. Existing keys are kept; missing ones are created."""
    environment = _environment(wanted.templates)
    built = commands(wanted)
    files = [_server_unit(wanted, environment, role, command) for role, command in built.items()]
    if wanted.places.on.host:
        files += _scripts(wanted)
    return [*files, *_key_files(wanted.places), _swap_conf(wanted)]


def settings_snippet(wanted: Servers) -> str:
    """The lines for the settings file by which Navigator finds these servers."""
    lines = []
    for role in SERVER_UNITS:
        server = wanted.profile.role(role)
        lines += [
            f"[{role.value}]",
            f"model = {json.dumps(server.model)}",
            f'base_url = "http://127.0.0.1:{server.port}"',
            f"context_tokens = {server.context_tokens}",
            f"max_inflight = {server.max_inflight}",
            f'api_key_env = "{API_KEY_VARIABLE}"',
            "",
        ]
    lines += ["[swap]", f'strategy = "{"sleep" if wanted.asleep else "systemd"}"', ""]
    if wanted.places.on.host and not wanted.asleep:
        lines += ["[swap.systemd]", f"host = {json.dumps(wanted.places.on.host)}"]
    return "\n".join([*lines, ""])


def next_steps(wanted: Servers, *, reload: str, written: bool) -> Iterator[str]:
    """What is left to do for the user, a line each.

    Args:
        reload: why systemd did not reload; "" where it did.
        written: False where the files were only shown.
    """
    places = wanted.places
    if reload:
        yield f"Written, but systemd did not reload: {reload}."
        yield f"Run it later: {' '.join([*places.systemctl, 'daemon-reload'])}"
    yield f"Add to {config_path()}:\n\n{settings_snippet(wanted)}"
    if not written:
        yield "Nothing was written."
        return
    yield f"Navigator reads the key from a variable: run `set -a; . {places.keys_env}` before it."
    if host := places.on.host:
        yield f"To keep the servers running without a login there: ssh {host} loginctl enable-linger"
    elif shutil.which("loginctl"):
        yield "To keep the servers running after you log out: loginctl enable-linger"
    yield "Next: navigator swap to generator"


def quoted(word: str, *, dollar: str = "$$") -> str:
    """One word for a unit file: systemd's quotes, with its `%` and `$` made plain.

    `dollar` is how a `$` is written: twice in a command line, once in Environment=, which knows no variables.

    Raises:
        ConfigError: a control character, which no unit file can hold safely.
    """
    if not word.isprintable():
        raise ConfigError(f"{word!r} contains a control character.", hint="Correct the profile or the path.")
    if word and set(word) <= _PLAIN:
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped.replace("$", dollar)}"'


def _server_unit(wanted: Servers, environment: Environment, role: Role, command: Command) -> PlannedFile:
    other = Role.REVIEWER if role is Role.GENERATOR else Role.GENERATOR
    words = [str(wanted.python), "-m", "sglang.launch_server", *command.words]
    variables = {
        "HF_HUB_OFFLINE": "1",
        "PYTHONUNBUFFERED": "1",
        **command.environment,
    }
    text = environment.get_template("sglang.service.j2").render(
        role=role.value,
        unit=SERVER_UNITS[role],
        other="" if wanted.asleep else SERVER_UNITS[other],
        environment=list(variables.items()),
        wait_script=str((wanted.places.scripts or wanted.templates) / "wait-for-vram.sh"),
        need_mib=wanted.profile.role(role).need_mib,
        exec_start=_folded(words),
        quote=quoted,
        setting=_setting,
    )
    return PlannedFile(wanted.places.unit(SERVER_UNITS[role]), sealed(text), on=wanted.places.on)


def _scripts(wanted: Servers) -> list[PlannedFile]:
    """The swap script and what the units run first, for a machine without Navigator."""
    folder = wanted.places.scripts
    assert folder is not None
    sources = (wanted.templates.parent / SCRIPTS[0], wanted.templates / SCRIPTS[1])
    return [
        PlannedFile(folder / source.name, sealed(source.read_text("utf-8")), 0o755, on=wanted.places.on)
        for source in sources
    ]


def _setting(name: str, value: str) -> str:
    return quoted(f"{name}={value}", dollar="$")


def _folded(words: list[str]) -> str:
    """One flag with its value per line."""
    lines: list[str] = []
    for word in words:
        if word.startswith("--") or not lines:
            lines.append(quoted(word))
        else:
            lines[-1] += f" {quoted(word)}"
    return " \\\n    ".join(lines)


def _key_files(places: Places) -> list[PlannedFile]:
    """The existing keys, new ones for those that are missing, in the four forms in which they are read."""
    api, admin = (
        (read_text(path, places.on) or "").strip() or secrets.token_urlsafe(32)
        for path in (places.api_key, places.admin_key)
    )
    for key in (api, admin):
        if not key.isprintable() or set(key) & set("\"'\\ $"):
            raise ConfigError(
                f"A key in {places.keys} contains a space, a quote or a control character.",
                hint="Empty its file to get a new key, or write a plainer one.",
            )
    contents = {
        places.server_keys: sealed(f"api-key: {json.dumps(api)}\nadmin-api-key: {json.dumps(admin)}\n"),
        places.keys_env: sealed(f"{API_KEY_VARIABLE}={api}\n{ADMIN_KEY_VARIABLE}={admin}\n"),
        places.api_key: f"{api}\n",
        places.admin_key: f"{admin}\n",
    }
    return [
        PlannedFile(
            path,
            content,
            0o600,
            secret=True,
            on=HERE if path == places.keys_env else places.on,
        )
        for path, content in contents.items()
    ]


def _swap_conf(wanted: Servers) -> PlannedFile:
    places = wanted.places
    lines = ["# Read by model-swap.sh; its keys are explained in swap/README.md."]
    for role, unit in SERVER_UNITS.items():
        server = wanted.profile.role(role)
        lines += [
            f"{role.value}.unit = {unit}",
            f"{role.value}.url = http://127.0.0.1:{server.port}",
            f"{role.value}.model = {server.model}",
            f"{role.value}.vram_mib = {server.need_mib}",
            f"{role.value}.api_key_file = {places.api_key}",
            f"{role.value}.admin_key_file = {places.admin_key}",
        ]
    return PlannedFile(places.swap_conf, sealed("\n".join(lines) + "\n"), on=places.on)


def _environment(folder: Path) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    options: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
    # Nothing of this is HTML: autoescape would break the quotes that `quoted` sets.
    return Environment(
        loader=FileSystemLoader(folder), undefined=StrictUndefined, autoescape=False, **options
    )


_ALWAYS: WantedFlags = {
    "--host": "127.0.0.1",
    "--enable-metrics": True,
    "--enable-cache-report": True,
    # Without it a constrained answer may run to its end in blanks.
    "--constrained-json-disable-any-whitespace": True,
    # Without it an idle server keeps a core busy.
    "--sleep-on-idle?": True,
}

_ASLEEP: WantedFlags = {"--enable-memory-saver": True, "--enable-weights-cpu-backup": True}


@dataclass(frozen=True, slots=True)
class Command:
    """The words after `sglang.launch_server`, the environment, and the flags left out because this SGLang lacks them."""

    words: tuple[str, ...]
    environment: dict[str, str]
    left_out: tuple[str, ...]


def server_command(
    server: ModelProfile,
    known: FlagTable,
    *,
    key_file: str = "",
    asleep: bool = False,
) -> Command:
    """The command of one role's server.

    Args:
        server: the profile.
        known: the flags of the SGLang that will run it.
        key_file: the YAML file with both keys; "" starts a server without keys.
        asleep: both servers stay up and share the memory in turns.

    Raises:
        MissingPart: this SGLang lacks a flag that the profile cannot do without.
    """
    fixed: WantedFlags = {
        "--model-path": server.model,
        "--served-model-name": server.model,
        "--port": str(server.port),
        "--context-length": str(server.context_tokens),
        "--engine-info-bootstrap-port?": str(server.bootstrap_port),
    }
    wanted = {
        **fixed,
        **_ALWAYS,
        **server.flags,
        **(_ASLEEP if asleep else {}),
    }
    if key_file:
        wanted["--config"] = key_file
    left_out: list[str] = []
    named: dict[str, str | bool] = {}  # a later spelling of the same flag replaces an earlier one
    for spelled, value in wanted.items():
        name = _known_name(spelled, known)
        if name is None:
            left_out.append(spelled.rstrip("?"))
        else:
            named[name] = value
    words: list[str] = []
    for name, value in named.items():
        if value is not False:
            words += [name] if value is True else [name, str(value)]
    return Command(tuple(words), server.environment, tuple(left_out))


def _known_name(spelled: str, known: FlagTable) -> str | None:
    names = spelled.rstrip("?").split("|")
    for name in names:
        if name in known.names:
            return name
    if spelled.endswith("?"):
        return None
    raise MissingPart(
        f"SGLang {known.version} does not have {' or '.join(names)}, which the profile needs.",
        hint="Install another SGLang (0.5.9 and 0.5.23 are known to work), or change a copy of the profile.",
    )
