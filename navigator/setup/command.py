"""The command line of one server: what a profile asks for, in the flags that the installed SGLang has."""

from __future__ import annotations

from dataclasses import dataclass

from navigator.model.errors import MissingPart
from navigator.setup.profiles import FlagTable as Wanted
from navigator.setup.profiles import ModelProfile
from navigator.setup.sglang_flags import FlagTable

_ALWAYS: Wanted = {
    "--host": "127.0.0.1",
    "--enable-metrics": True,
    "--enable-cache-report": True,
    # Without it a constrained answer may run to its end in blanks.
    "--constrained-json-disable-any-whitespace": True,
    # Without it an idle server keeps a core busy.
    "--sleep-on-idle?": True,
}

_ASLEEP: Wanted = {"--enable-memory-saver": True, "--enable-weights-cpu-backup": True}


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
    model_path: str = "",
    key_file: str = "",
    speculation: bool = False,
    asleep: bool = False,
) -> Command:
    """The command of one role's server.

    Args:
        server: the profile.
        known: the flags of the SGLang that will run it.
        model_path: the model's folder, if its name does not say it.
        key_file: the YAML file with both keys; "" starts a server without keys.
        speculation: with the profile's speculative decoding.
        asleep: both servers stay up and share the memory in turns.

    Raises:
        MissingPart: this SGLang lacks a flag that the profile cannot do without, or speculation is asked of a profile
            that has none.
    """
    if speculation and server.speculation is None:
        raise MissingPart(
            f"The profile of {server.model} has no speculative decoding.", hint="Remove --speculate."
        )
    extra = server.speculation if speculation and server.speculation is not None else None
    fixed: Wanted = {
        "--model-path": model_path or server.model,
        "--served-model-name": server.model,
        "--port": str(server.port),
        "--context-length": str(server.context_tokens),
        "--engine-info-bootstrap-port?": str(server.bootstrap_port),
    }
    wanted = {
        **fixed,
        **_ALWAYS,
        **server.flags,
        **(extra.flags if extra else {}),
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
    environment = {**server.environment, **(extra.environment if extra else {})}
    return Command(tuple(words), environment, tuple(left_out))


def _known_name(spelled: str, known: FlagTable) -> str | None:
    names = spelled.rstrip("?").split("|")
    for name in names:
        if name in known:
            return name
    if spelled.endswith("?"):
        return None
    raise MissingPart(
        f"SGLang {known.version} does not have {' or '.join(names)}, which the profile needs.",
        hint="Install another SGLang (0.5.9 and 0.5.23 are known to work), or change a copy of the profile.",
    )
