"""`navigator context`: what a model is shown of a project for a task, why, what it costs, and what is left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from navigator.cli import output
from navigator.cli.session import reading, state_paths

if TYPE_CHECKING:
    from navigator.cascade.prompts.preview import Preview
    from navigator.domain.models import Usage
    from navigator.domain.records import ModelCall

LEAST_BUDGET = 1_000


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="T…")
@click.option(
    "--budget",
    type=click.IntRange(min=LEAST_BUDGET),
    default=None,
    metavar="N",
    help="Tokens of context to aim at, instead of 24,000.",
)
@click.option("--json", "as_json", is_flag=True)
def context(ids: tuple[str, ...], budget: int | None, as_json: bool) -> None:
    """What a task's writer is shown: every part with its reason and its tokens, and what is left out and why.

    Nothing is sent, pinned or changed. A task that waits is shown on the base that it would begin on now.
    """
    from navigator.cascade.prompts.preview import preview
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
        _say(shown)
        say_cache(calls)


def _say(shown: Preview) -> None:
    made, chosen = shown.prompted, shown.prompted.context
    output.say(f"{shown.task.id}  {shown.project.name}  for {shown.model}", bold=True)
    output.say(f"  base {shown.base[:12]}: {shown.base_note}")
    rows = [
        (
            piece.part,
            f"{piece.tokens:,}",
            "shared" if piece.shared else "",
            _where(piece.path, piece.lines),
            piece.why,
        )
        for piece in shown.pieces
    ]
    output.emit(output.table(("part", "tokens", "", "where", "why"), rows, right=(1,)))
    output.say(
        f"{made.tokens:,} tokens in all; context {chosen.tokens:,} of {chosen.budget:,},"
        f" {chosen.shared_tokens:,} of them the same for every task of this base; the server leaves {made.room:,}."
    )
    how = "counted by the model's own tokenizer" if shown.exact else f"estimated: {shown.why_estimate}"
    output.say(f"Tokens are {how}.")
    if chosen.left_out:
        output.say("Left out, or not whole:")
        output.emit(output.table(("path", "why"), [(left.path, left.why) for left in chosen.left_out]))
    if chosen.hidden:
        told = "; ".join(f"{count} {reason}" for reason, count in chosen.hidden.items())
        output.say(f"Never shown in this project: {told}.")


def _where(path: str, lines: str) -> str:
    return f"{path}:{lines}" if lines else path


def usage_of(calls: Iterable[ModelCall]) -> Usage:
    """What the calls' prompts and answers came to."""
    from navigator.domain.models import Usage

    total = Usage()
    for call in calls:
        total += call.usage
    return total


def cache_document(calls: Iterable[ModelCall]) -> dict[str, object]:
    """What the servers read for a task so far, and how much of it came out of their prefix caches, by role."""
    by_role: dict[str, list[ModelCall]] = {}
    for call in calls:
        by_role.setdefault(call.role.value, []).append(call)
    return {
        role: {
            "calls": len(some),
            "prompt_tokens": usage_of(some).prompt_tokens,
            "cached_tokens": usage_of(some).cached_tokens,
            "cached_share": _share(some),
            "rehearsal": any(call.rehearsal for call in some),
        }
        for role, some in by_role.items()
    }


def _share(calls: Iterable[ModelCall]) -> float | None:
    total = usage_of(calls)
    return total.cached_tokens / total.prompt_tokens if total.prompt_tokens else None


def say_cache(calls: Iterable[ModelCall]) -> None:
    """One line a role: prompt tokens read so far, and the share that the server had in its prefix cache."""
    by_role: dict[str, list[ModelCall]] = {}
    for call in calls:
        by_role.setdefault(call.role.value, []).append(call)
    for role, some in by_role.items():
        total = usage_of(some)
        if not total.prompt_tokens:
            continue
        simulated = "  REHEARSAL" if any(call.rehearsal for call in some) else ""
        output.say(
            f"  {role}: {total.prompt_tokens:,} prompt tokens in {len(some)} calls,"
            f" {output.percent(_share(some))} from the server's cache{simulated}"
        )
