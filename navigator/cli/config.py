"""`navigator config`: where the settings file is, what it sets, whether it is valid."""

from __future__ import annotations

from typing import Any

import click

from navigator.cli import output
from navigator.cli.lazy import Commands
from navigator.config.paths import config_path
from navigator.config.reference import key_meanings, toml
from navigator.config.settings import Section, describe, load_settings


@click.group(cls=Commands)
def config() -> None:
    """Show and check the settings."""


@config.command("path")
def path() -> None:
    """Print the path of the settings file, which need not exist."""
    output.say(str(config_path()))


@config.command("show")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(as_json: bool) -> None:
    """Print every setting, its meaning, and whether the file or the default set it."""
    settings = load_settings()
    described = describe(settings)
    if as_json:
        output.print_json(described)
        return
    output.say(f"# {described['file'] or f'no file at {config_path()}: all defaults'}")
    for name in type(settings).model_fields:
        table = getattr(settings, name)
        if isinstance(table, Section):
            _show_table(name, table, described[name])
    for entry, values in zip(settings.project, described["projects"], strict=True):
        output.say("\n[[project]]")
        _show_keys(type(entry), values)


def _show_table(name: str, table: Section, values: dict[str, Any]) -> None:
    """A table as it could be written into the file, with its inner tables after it."""
    output.say(f"\n[{name}]")
    _show_keys(type(table), values)
    for key, inner in values.items():
        if "from" not in inner:
            _show_table(f"{name}.{key}", getattr(table, key), inner)


def _show_keys(model: type[Section], values: dict[str, Any]) -> None:
    meanings = key_meanings(model)
    for key, entry in values.items():
        if "from" not in entry:
            continue
        if meanings.get(key):
            output.say(f"# {meanings[key]}")
        origin = "" if entry["from"] == "file" else "  # default"
        output.say(
            f"# {key} is not set" if entry["value"] is None else f"{key} = {toml(entry['value'])}{origin}"
        )


@config.command("check")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(as_json: bool) -> None:
    """Check that the settings file can be used."""
    from navigator.swap import strategy_class, strategy_names

    settings = load_settings()
    strategy = settings.swap.strategy
    if strategy is not None:
        strategy_class(strategy).check(settings)
    if as_json:
        output.print_json({"file": str(settings.source) if settings.source else None, "sound": True})
        return
    if settings.source is None:
        output.say(
            f"There is no settings file at {config_path()}; all defaults apply. `navigator setup` writes one."
        )
    else:
        output.say(f"{settings.source} is valid.")
    if strategy is None:
        listed = ", ".join(strategy_names())
        output.say(
            f"No swap strategy is set: `navigator setup` finds one, or set strategy under [swap] to one of {listed}."
        )
