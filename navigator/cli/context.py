"""`navigator context`: what a model is shown of a project for a task, why, how many tokens it takes, and what is left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from navigator.actions.base import plural
from navigator.cli import output
from navigator.cli.session import reading, state_paths

if TYPE_CHECKING:
    from navigator.actions.preview import Preview
    from navigator.model.models import Usage
    from navigator.model.records import ModelCall

LEAST_BUDGET = 1_000


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="T…")
@click.option(
    "--budget",
    type=click.IntRange(min=LEAST_BUDGET),
    default=None,
    metavar="N",
    help="Target size of the context in tokens; 24,000 by default.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def context(ids: tuple[str, ...], budget: int | None, as_json: bool) -> None:
    """Show the prompt of a task: each part with its reason and tokens, and what is left out and why.

    Nothing is sent or changed. A waiting task is shown on the base that it would start from now.
    """
    from navigator.actions.preview import preview
    from navigator.config.settings import load_settings

    paths, settings = state_paths(), load_settings()
    with reading(paths) as store:
        found = [
            (preview(paths, settings, store, identifier, budget=budget), store.calls(task_id=identifier))
            for identifier in ids
        ]
    if as_json:
        documents = [shown.document() | {"served": cache_document(calls)} for shown, calls in found]
        output.print_json({"contexts": documents})
        return
    for number, (shown, calls) in enumerate(found):
        if number:
            output.say()
        _show_preview(shown)
        say_cache(calls)


def _show_preview(shown: Preview) -> None:
    source, made = shown.material.source, shown.material.prompted
    chosen = made.context
    output.say(f"{shown.material.task.id}  {source.project.name}  for {shown.model}", bold=True)
    output.say(f"  base {source.treeish[:12]}: {shown.base_note}")
    rows = [
        (
            piece.part,
            f"{piece.tokens:,}",
            "shared" if piece.shared else "",
            _path_and_lines(piece.path, piece.lines),
            piece.why,
        )
        for piece in shown.pieces
    ]
    output.emit(output.table(("part", "tokens", "", "where", "why"), rows, right=(1,)))
    output.say(
        f"{made.tokens:,} tokens in total; context {chosen.tokens:,} of {chosen.budget:,},"
        f" {chosen.shared_tokens:,} of them shared by all tasks on this base; the server has room for {made.room:,}."
    )
    how = "counted with the model's tokenizer" if shown.exact else f"estimated: {shown.why_estimate}"
    output.say(f"Tokens: {how}.")
    if chosen.left_out:
        output.say("Left out, or shown in part:")
        output.emit(output.table(("path", "why"), [(left.path, left.why) for left in chosen.left_out]))
    if chosen.hidden:
        told = "; ".join(f"{count} {reason}" for reason, count in chosen.hidden.items())
        output.say(f"Never shown in this project: {told}.")


def _path_and_lines(path: str, lines: str) -> str:
    return f"{path}:{lines}" if lines else path


def usage_of(calls: Iterable[ModelCall]) -> Usage:
    """The sum of the calls' tokens."""
    from navigator.model.models import Usage

    total = Usage()
    for call in calls:
        total += call.usage
    return total


def cache_document(calls: Iterable[ModelCall]) -> dict[str, object]:
    """Prompt tokens read for a task so far, and how many came from the servers' prefix caches, by role."""
    by_role: dict[str, list[ModelCall]] = {}
    for call in calls:
        by_role.setdefault(call.role.value, []).append(call)
    return {
        role: {
            "calls": len(some),
            "prompt_tokens": usage_of(some).prompt_tokens,
            "cached_tokens": usage_of(some).cached_tokens,
            "cached_share": _cached_share(some),
        }
        for role, some in by_role.items()
    }


def _cached_share(calls: Iterable[ModelCall]) -> float | None:
    total = usage_of(calls)
    return total.cached_tokens / total.prompt_tokens if total.prompt_tokens else None


def say_cache(calls: Iterable[ModelCall]) -> None:
    """One line per role: prompt tokens read so far, and the share that came from the server's prefix cache."""
    by_role: dict[str, list[ModelCall]] = {}
    for call in calls:
        by_role.setdefault(call.role.value, []).append(call)
    for role, some in by_role.items():
        total = usage_of(some)
        if not total.prompt_tokens:
            continue
        output.say(
            f"  {role}: {total.prompt_tokens:,} prompt tokens in {plural(len(some), 'call')},"
            f" {output.percent(_cached_share(some))} from the server's cache"
        )
