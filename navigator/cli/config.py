"""`navigator config`: where the settings are, what they say, whether they can be read."""

from __future__ import annotations

import json
from typing import Any

import click

from navigator.cli import output
from navigator.config.paths import config_path
from navigator.config.settings import Settings, describe, load_settings


@click.group()
def config() -> None:
    """The settings: show, path, check."""


@config.command("path")
def path() -> None:
    """Where the settings file is, or would be."""
    output.say(str(config_path()))


@config.command("show")
@click.option("--json", "as_json", is_flag=True)
def show(as_json: bool) -> None:
    """Every setting, and whether the file or the default gave it."""
    described = describe(load_settings())
    if as_json:
        output.print_json(described)
        return
    output.say(f"# {described['file'] or 'no file: all defaults'}")
    for section, values in described.items():
        if isinstance(values, dict):
            _show_table(section, values)
    for entry in described["projects"]:
        output.say("[[project]]")
        for key, value in entry.items():
            if value["from"] == "file":
                output.say(f"{key} = {json.dumps(value['value'])}")


def _show_table(name: str, values: dict[str, Any]) -> None:
    """A table as it could stand in the file, its inner tables after it."""
    output.say(f"[{name}]")
    inner = {key: entry for key, entry in values.items() if "from" not in entry}
    for key, entry in values.items():
        if key in inner:
            continue
        origin = "" if entry["from"] == "file" else "  # default"
        output.say(
            f"{key} = {json.dumps(entry['value'])}{origin}"
            if entry["value"] is not None
            else f"# {key}: not set"
        )
    for key, table in inner.items():
        _show_table(f"{name}.{key}", table)


@config.command("check")
@click.option("--json", "as_json", is_flag=True)
def check(as_json: bool) -> None:
    """Read the settings and say whether they are sound."""
    settings = load_settings()
    _require_two_doors(settings)
    if as_json:
        output.print_json({"file": str(settings.source) if settings.source else None, "sound": True})
        return
    if settings.source is None:
        output.say(f"There is no settings file at {config_path()}; the defaults hold.")
    else:
        output.say(f"{settings.source} is sound.")
    from navigator.serving.swap import AVAILABLE

    strategy = settings.swap.strategy
    if strategy is None or strategy not in AVAILABLE:
        words = (
            "No swap strategy is chosen yet"
            if strategy is None
            else f'Strategy "{strategy}" is not part of this version'
        )
        output.say(f"{words}: `navigator run` needs [swap] strategy = one of {', '.join(AVAILABLE)}.")


def _require_two_doors(settings: Settings) -> None:
    """Refuse what the strategy would refuse when the first run begins."""
    if settings.swap.strategy != "sleep":
        return
    from navigator.config.paths import StatePaths, state_dir
    from navigator.serving.swap import make_strategy

    make_strategy(settings, StatePaths(state_dir()))
