"""`navigator context`: what a model is shown of a project for a task, why, how many tokens it takes, and what is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from navigator.cli import output
from navigator.cli.session import reading, state_paths

if TYPE_CHECKING:
    from navigator.actions.preview import Preview

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
        found = [preview(paths, settings, store, identifier, budget=budget) for identifier in ids]
    if as_json:
        output.print_json({"contexts": [shown.document() for shown in found]})
        return
    for number, shown in enumerate(found):
        if number:
            output.say()
        _show_preview(shown)


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
