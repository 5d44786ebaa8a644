"""`navigator task suggestions | accept | dismiss`: what a scan proposes, and the developer's choice."""

from __future__ import annotations

from typing import Any

import click

from navigator.cli import output
from navigator.cli.session import act, reading
from navigator.domain.errors import UsageError
from navigator.domain.models import Suggestion
from navigator.domain.states import TaskKind

_JSON = click.option("--json", "as_json", is_flag=True)
_ALL = click.option("--all", "everything", is_flag=True, help="All that are open.")


@click.command("suggestions")
@click.argument("identifier", metavar="T")
@_JSON
def suggestions(identifier: str, as_json: bool) -> None:
    """What a scan proposes, by rank."""
    with reading() as store:
        scan = store.task(identifier)
        if scan.kind is not TaskKind.SCAN:
            raise UsageError(
                f"{scan.id} is no scan: it proposes nothing.",
                hint="`navigator task list` shows every task's kind.",
            )
        found = store.suggestions(scan.id, attempt=scan.attempt)
    if as_json:
        output.print_json({"task": scan.id, "suggestions": [one.model_dump(mode="json") for one in found]})
        return
    if not found:
        output.say(f"{scan.id} is {scan.state.value}; it proposes nothing.")
        return
    for one in found:
        _say(one)
    if any(one.state == "open" for one in found):
        output.note(f"navigator task accept {scan.id} N… makes tasks of them; task dismiss puts them away.")


def _say(one: Suggestion) -> None:
    title, _, body = one.text.partition("\n")
    state = f"  {one.state}{f' as {one.made_task}' if one.made_task else ''}" if one.state != "open" else ""
    output.say(f"{one.rank:>3}  {title}{state}", bold=one.state == "open")
    files = ", ".join(f"{path} (new)" if path in one.new_files else path for path in one.files)
    output.say(f"     {one.kind.value}, {one.complexity.value}{f'  {files}' if files else ''}")
    for line in body.strip().splitlines():
        output.say(f"     {line}")
    if one.why:
        output.say(f"     why: {one.why}")
    if one.quote:
        where = f"{one.quote_path}:{one.quote_line}" if one.grounded else "NOT FOUND in the files shown"
        output.say(f"     {where}  {one.quote}")


@click.command("accept")
@click.argument("identifier", metavar="T")
@click.argument("ranks", nargs=-1, type=click.IntRange(1), metavar="[N…]")
@_ALL
@_JSON
def accept(identifier: str, ranks: tuple[int, ...], everything: bool, as_json: bool) -> None:
    """Queue a task for each of these suggestions of a scan."""
    result = act("suggestions.accept", {"task": identifier, "ranks": list(ranks), "everything": everything})
    if as_json:
        output.print_json(result)
        return
    for made in result["tasks"]:
        output.say(f"{made['id']}  {made['project']}  queued  {made['text'].partition(chr(10))[0]}")
    _say_left(result)


@click.command("dismiss")
@click.argument("identifier", metavar="T")
@click.argument("ranks", nargs=-1, type=click.IntRange(1), metavar="[N…]")
@_ALL
@_JSON
def dismiss(identifier: str, ranks: tuple[int, ...], everything: bool, as_json: bool) -> None:
    """Put suggestions of a scan away."""
    result = act("suggestions.dismiss", {"task": identifier, "ranks": list(ranks), "everything": everything})
    if as_json:
        output.print_json(result)
        return
    _say_left(result)


def _say_left(result: dict[str, Any]) -> None:
    left = [one for one in result["suggestions"] if one["state"] == "open"]
    scan = result["scan"]
    output.say(f"{scan['id']}  {scan['state']}{f', {len(left)} open' if left else ''}")


COMMANDS = (suggestions, accept, dismiss)
