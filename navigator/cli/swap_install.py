"""`navigator swap install`: the servers' units, their keys and swap.conf, rendered for the installed SGLang."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from navigator.cli import output
from navigator.cli.command import command, given
from navigator.cli.session import confirmed
from navigator.config.paths import config_path, resource_dir
from navigator.model.errors import MissingPart, UsageError
from navigator.model.text import plural
from navigator.setup.files import action_for, refuse_others, shown_diff
from navigator.setup.install import Places, carry_out, places_of, reload_systemd, user_places
from navigator.setup.profiles import load_profile, profile_names
from navigator.setup.render import Servers, commands, render, settings_snippet

if TYPE_CHECKING:
    from navigator.setup.files import PlannedFile
    from navigator.setup.render import Servers
    from navigator.setup.sglang_flags import FlagSource


@command(yes=True)
def install(
    *,
    profile: str | None = None,
    host: str | None = None,
    sglang: str | None = None,
    sleep: bool = False,
    overwrite: bool = False,
    dry_run: bool = False,
) -> None:
    """Write the model servers' units, their keys and swap.conf, after showing them and asking.

    Args:
        profile: A packaged pair of models, or the path of a .toml file.
        host: Install on another machine, by ssh: a name that ssh knows, or user@host.
        sglang: SGLang's virtual environment, or its python.
        sleep: Set up servers that both stay up (strategy sleep).
        overwrite: Also overwrite files that were changed, or not written by Navigator.
        dry_run: Show the changes without writing them.
    """
    places = user_places() if host is None else _places_on(host)
    data = resource_dir("swap")
    if profile is None:
        listed = ", ".join(profile_names(data / "profiles"))
        raise UsageError("No profile is named.", hint=f"Use --profile NAME. Profiles: {listed}.")
    pair = load_profile(profile, data / "profiles")
    source = _flag_source(data / "flags" / "list_flags.py", sglang, places)
    python, known = source.installed.python, source.table()
    wanted = Servers(pair, places, python, known, data / "units", asleep=sleep)
    left_out = _checked(wanted, source)
    files = render(wanted)
    changes = [planned for planned in files if action_for(planned) != "same"]
    document: dict[str, Any] = {
        "host": places.on.host,
        "profile": pair.name,
        "sglang": {"version": known.version, "python": python, "left_out": left_out},
        "files": [{"host": each.on.host, "path": each.path, "action": action_for(each)} for each in files],
        "dry_run": dry_run,
        "written": False,
        "reload": "",
        "settings": settings_snippet(wanted),
    }
    _show_changes(wanted, changes, left_out)
    if changes and not dry_run:
        if not overwrite:
            refuse_others(changes)
        confirmed(f"Write {plural(len(changes), 'file')}?")
        carry_out(changes)
        document |= {"written": True, "reload": reload_systemd(places)}
    output.show(document, lambda found: _say_next(wanted, found))
    if document["reload"]:
        sys.exit(1)


def _places_on(host: str) -> Places:
    from navigator.config.settings import SystemdSettings
    from navigator.swap.machine import There
    from navigator.swap.ssh import SshConnection

    try:
        SystemdSettings(host=host)
    except ValueError:
        raise UsageError(
            f"{host!r} is no host for ssh.", hint="Use a name from ~/.ssh/config, or user@host."
        ) from None
    connection = SshConnection(host)
    click.get_current_context().call_on_close(connection.close)
    return places_of("user", There(connection))


def _flag_source(program: Path, named: str | None, places: Places) -> FlagSource:
    """The SGLang that the units will run, which says what its flags are."""
    from navigator.setup.sglang_flags import FlagSource, find_sglang

    found = find_sglang(named, places.on)
    if found is None:
        raise MissingPart(
            f"No SGLang was found{f' on {places.on.host}' if places.on.host else ''}, so its flags are unknown.",
            hint=(
                "Install it from Navigator's checkout with `pip install '.[serve]'` in an environment of its own and give that"
                " with --sglang PATH."
            ),
        )
    output.note(f"Asking SGLang {found.version} at {found.python} for its flags …")
    return FlagSource(found, program)


def _checked(wanted: Servers, source: FlagSource) -> list[str]:
    """Have every command line checked; returns the flags that were left out."""
    built = commands(wanted)
    # Without --config: the file it names may not be written yet.
    lines = [_without_config(command.words) for command in built.values()]
    for (role, _), wrong in zip(built.items(), source.errors(lines), strict=True):
        if wrong:
            raise MissingPart(
                f"SGLang {wanted.known.version} refuses the {role.value}'s command line: {wrong}",
                hint=f"Copy the profile {wanted.profile.name}, change it, and pass the copy with --profile.",
            )
    return sorted({name for command in built.values() for name in command.left_out})


def _without_config(words: tuple[str, ...]) -> list[str]:
    if "--config" not in words:
        return list(words)
    at = words.index("--config")
    return [*words[:at], *words[at + 2 :]]


def _show_changes(wanted: Servers, changes: list[PlannedFile], left_out: list[str]) -> None:
    output.note(f"Every flag was checked by the parser of SGLang {wanted.known.version}.")
    if left_out:
        output.note(f"Left out, because this version does not have them: {', '.join(left_out)}.")
    if not given("--json"):
        output.say("\n".join(map(shown_diff, changes)) or "Everything is up to date.")


def _say_next(wanted: Servers, document: dict[str, Any]) -> None:

    if document["reload"]:
        output.note(f"Written, but systemd did not reload: {document['reload']}.")
        output.note(f"Run it later: {' '.join([*wanted.places.systemctl, 'daemon-reload'])}")
    output.note(f"Add to {config_path()}:\n\n{document['settings']}")
    if document["dry_run"]:
        output.note("Nothing was written.")
        return
    output.note(
        f"Navigator reads the key from a variable: run `set -a; . {wanted.places.keys_env}` before it."
    )
    if host := wanted.places.on.host:
        output.note(f"To keep the servers running without a login there: ssh {host} loginctl enable-linger")
    elif shutil.which("loginctl"):
        output.note("To keep the servers running after you log out: loginctl enable-linger")
    output.note("Next: navigator swap to generator")
