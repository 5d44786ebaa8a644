"""`navigator prompts`: list, show and try prompt templates, packaged ones and the user's own."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from navigator.cli import output
from navigator.cli.lazy import Commands
from navigator.config.paths import config_path, resource_dir
from navigator.journey.prompts.library import Prompt, PromptLibrary
from navigator.model.errors import ConfigError
from navigator.model.states import Role
from navigator.model.text import safe_text

if TYPE_CHECKING:
    from navigator.actions.preview import Trial


def _own() -> PromptLibrary:
    return PromptLibrary([resource_dir("prompts"), config_path().parent / "prompts"])


@click.group(cls=Commands)
def prompts() -> None:
    """List, show and try prompt templates."""


@prompts.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_prompts(as_json: bool) -> None:
    """List all templates with version, role and purpose. Exit code 1: one of yours cannot be used."""
    library = _own()
    mine = {prompt.name for prompt in library.own}
    for path in library.strays:
        output.note(f"Skipped {path}: not a prompt (it does not begin with ---).")
    problems = {prompt.name: _problem(library, prompt) for prompt in library.own}
    broken = any(problems.values())
    if as_json:
        rows = [
            {"name": p.name, "version": p.version, "path": str(p.path), "own": p.name in mine, **p.meta}
            | {"problem": problems.get(p.name, "")}
            for p in library
        ]
        output.print_json({"prompts": rows, "ok": not broken})
        sys.exit(int(broken))
    rows_shown = [
        (p.version, p.meta.get("role", ""), _whose(library, p), p.meta.get("about", "")) for p in library
    ]
    output.emit(output.table(("version", "role", "whose", "about"), rows_shown))
    output.note(
        f"Put your own into {config_path().parent / 'prompts'}. A file with the name of a packaged prompt replaces it "
        "the next time `navigator run` starts."
    )
    for name, problem in problems.items():
        if problem:
            output.say(f"✗ {name}: {problem}", fg="red")
    sys.exit(int(broken))


def _problem(library: PromptLibrary, prompt: Prompt) -> str:
    """Why a template cannot be used: its syntax, values that it needs, values that are not known."""
    try:
        library.check_one(prompt)
    except ConfigError as error:
        return str(error)
    return ""


def _whose(library: PromptLibrary, prompt: Prompt) -> str:
    if prompt not in library.own:
        return ""
    return "yours" if library.replaces(prompt) == prompt.name else "yours, for `prompts try`"


@prompts.command("show")
@click.argument("name")
def show(name: str) -> None:
    """Print a template; yours, where it replaces the packaged one."""
    output.say(_own().get(name).path.read_text(encoding="utf-8"))


@prompts.command("try")
@click.argument("ids", nargs=-1, required=True, metavar="T…")
@click.option(
    "--prompt",
    "name",
    default="",
    metavar="NAME",
    help="Template to try: a packaged one or your own.",
)
@click.option(
    "--role",
    type=click.Choice([role.value for role in Role]),
    default=None,
    help="Role to render the prompt for.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def try_one(ids: tuple[str, ...], name: str, role: str | None, as_json: bool) -> None:
    """Render a task's prompt with a template and count its tokens. Nothing is sent."""
    from navigator.actions.preview import try_prompt
    from navigator.cli.session import reading, state_paths
    from navigator.config.settings import load_settings

    paths, settings, library = state_paths(), load_settings(), _own()
    wanted = Role(role) if role else None
    documents: list[dict[str, Any]] = []
    for identifier in ids:
        with reading(paths) as store:
            trial = try_prompt(paths, settings, store, library, identifier, name=name, role=wanted)
        if not as_json:
            _show_trial(trial)
        documents.append(trial.document())
    if as_json:
        output.print_json({"trials": documents})


def _show_trial(trial: Trial) -> None:
    instead = "" if trial.place == trial.prompt.name else f" instead of {trial.place}"
    output.say(f"{trial.task.id}  {trial.prompt.version}{instead}, for the {trial.role.value}", bold=True)
    how = "counted" if trial.exact else "estimated"
    for number, (messages, tokens) in enumerate(trial.conversations, 1):
        part = f"part {number} of {len(trial.conversations)}: " if len(trial.conversations) > 1 else ""
        output.say(f"  {part}{tokens:,} tokens ({how}); the server has room for {trial.room:,}.")
        for message in messages:
            output.say(f"\n── {message['role']} ──", fg="cyan")
            output.emit(safe_text(message["content"]))
    for words in trial.too_large:
        output.say(f"  Too large: {words}.", fg="red")
