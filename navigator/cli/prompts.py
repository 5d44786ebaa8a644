"""`navigator prompts`: the templates and their versions."""

from __future__ import annotations

import difflib

import click

from navigator.cascade.prompts import PromptLibrary
from navigator.cascade.resources import resource_dir
from navigator.cli import output
from navigator.config.paths import config_path


def _own() -> PromptLibrary:
    return PromptLibrary([resource_dir("prompts"), config_path().parent / "prompts"])


@click.group()
def prompts() -> None:
    """The prompt templates and their versions."""


@prompts.command("list")
@click.option("--json", "as_json", is_flag=True)
def list_prompts(as_json: bool) -> None:
    """All templates: version, role, what for, and where the file is."""
    found = list(_own())
    if as_json:
        rows = [{"name": p.name, "version": p.version, "path": str(p.path), **p.meta} for p in found]
        output.print_json({"prompts": rows})
        return
    rows_shown = [(p.version, p.meta.get("role", ""), p.meta.get("about", "")) for p in found]
    output.emit(output.table(("version", "role", "about"), rows_shown))
    output.note(
        f"Your own go into {config_path().parent / 'prompts'}; a file of the same name replaces ours."
    )


@prompts.command("show")
@click.argument("name")
def show(name: str) -> None:
    """One template as it is used."""
    output.say(_own().get(name).path.read_text(encoding="utf-8"))


@prompts.command("diff")
@click.argument("name")
def diff(name: str) -> None:
    """Your own template against the packaged one."""
    packaged = PromptLibrary([resource_dir("prompts")]).get(name)
    own = _own().get(name)
    if own.path == packaged.path:
        output.say(f"{name} is the packaged one ({packaged.version}).")
        return
    lines = difflib.unified_diff(
        packaged.path.read_text(encoding="utf-8").splitlines(),
        own.path.read_text(encoding="utf-8").splitlines(),
        packaged.version,
        own.version,
        lineterm="",
    )
    output.say("\n".join(lines))
