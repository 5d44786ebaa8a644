"""`navigator prompts` and `navigator context`: prompt templates, and what a model is shown of a task."""

from __future__ import annotations

from typing import Annotated, Any

import click

from navigator.cli import output
from navigator.cli.command import Commands, TaskIds, Value, command
from navigator.cli.session import reading, state_paths
from navigator.config.paths import config_path
from navigator.config.settings import load_settings
from navigator.journey.prompts.library import Prompt, PromptLibrary
from navigator.model.errors import ConfigError
from navigator.model.text import safe_text


@click.group(cls=Commands)
def prompts() -> None:
    """List, show and try prompt templates."""


@command(prompts, "list")
def list_prompts() -> None:
    """List all templates with version, role and purpose. Exit code 1: one of yours cannot be used."""
    library = PromptLibrary()
    problems = {prompt.name: _problem(library, prompt) for prompt in library.own}
    broken = any(problems.values())
    rows = [
        {"name": p.name, "version": p.version, "path": str(p.path), "own": p in library.own, **p.meta}
        | {"problem": problems.get(p.name, "")}
        for p in library
    ]

    def text(_: object) -> None:
        output.table(
            library,
            ("version", lambda prompt: prompt.version),
            ("role", lambda prompt: prompt.meta.get("role", "")),
            ("whose", lambda prompt: "yours" if prompt in library.own else ""),
            ("about", lambda prompt: prompt.meta.get("about", "")),
        )
        output.note(
            f"Put your own into {config_path().parent / 'prompts'}. A file with the name of a packaged prompt replaces it "
            "the next time `navigator run` starts."
        )
        for name, problem in problems.items():
            if problem:
                output.say(f"✗ {name}: {problem}", fg="red")

    output.show({"prompts": rows, "ok": not broken}, text, code=broken)


def _problem(library: PromptLibrary, prompt: Prompt) -> str:
    """Why a template cannot be used: its syntax, values that it needs, values that are not known."""
    try:
        library.check_one(prompt)
    except ConfigError as error:
        return str(error)
    return ""


@command(prompts, json=False)
def show(name: str) -> None:
    """Print a template; yours, where it replaces the packaged one."""
    output.say(PromptLibrary().get(name).path.read_text(encoding="utf-8"))


@command(prompts, "try")
def try_one(ids: TaskIds, *, prompt: Annotated[str, Value("NAME")] = "") -> None:
    """Render a task's prompt with a template and count its tokens. Nothing is sent.

    Args:
        prompt: Template to try: a packaged one or your own.
    """
    from navigator.actions.preview import try_prompt

    paths, settings = state_paths(), load_settings()
    with reading(paths) as store:
        trials = [try_prompt(paths, settings, store, one, name=prompt) for one in ids]
    output.show({"trials": trials}, lambda _: list(map(_show_trial, trials)))


def _show_trial(trial: dict[str, Any]) -> None:
    output.say(f"{trial['task']}  {trial['prompt_version']}, for the {trial['role']}", bold=True)
    how, shown = "counted" if trial["exact"] else "estimated", trial["prompts"]
    for number, one in enumerate(shown, 1):
        part = f"part {number} of {len(shown)}: " if len(shown) > 1 else ""
        output.say(f"  {part}{one['tokens']:,} tokens ({how}); the server has room for {trial['room']:,}.")
        for message in one["messages"]:
            output.say(f"\n── {message['role']} ──", fg="cyan")
            output.emit(safe_text(message["content"]))
    for words in trial["too_large"]:
        output.say(f"  Too large: {words}.", fg="red")


@command()
def context(ids: TaskIds) -> None:
    """Show the prompt of a task: each part with its reason and tokens, and what is left out and why.

    Nothing is sent or changed. A waiting task is shown on the base that it would start from now.
    """
    from navigator.actions.preview import preview

    paths, settings = state_paths(), load_settings()
    with reading(paths) as store:
        found = [preview(paths, settings, store, identifier) for identifier in ids]
    output.show({"contexts": found}, lambda _: list(map(_show_preview, found)))


def _show_preview(shown: dict[str, Any]) -> None:
    output.say(f"{shown['task']}  {shown['project']}  for {shown['model']}", bold=True)
    output.say(f"  base {shown['base'][:12]}: {shown['base_note']}")
    output.table(
        shown["pieces"],
        ("part", lambda piece: piece["part"]),
        ("tokens", lambda piece: f"{piece['tokens']:,}"),
        ("", lambda piece: "shared" if piece["shared"] else ""),
        ("where", lambda piece: f"{piece['path']}:{piece['lines']}" if piece["lines"] else piece["path"]),
        ("why", lambda piece: piece["why"]),
    )
    output.say(
        f"{shown['tokens']:,} tokens in total; context {shown['context_tokens']:,} of {shown['budget']:,},"
        f" {shown['shared_tokens']:,} of them shared by all tasks on this base; the server has room for {shown['room']:,}."
    )
    how = "counted with the model's tokenizer" if shown["exact"] else f"estimated: {shown['why_estimate']}"
    output.say(f"Tokens: {how}.")
    if shown["left_out"]:
        output.say("Left out, or shown in part:")
        output.table(
            shown["left_out"], ("path", lambda left: left["path"]), ("why", lambda left: left["why"])
        )
    if shown["hidden"]:
        told = "; ".join(f"{count} {reason}" for reason, count in shown["hidden"].items())
        output.say(f"Never shown in this project: {told}.")
