"""`navigator task suggestions | accept | dismiss`."""

from __future__ import annotations

import click

from navigator.cascade.verbs.suggestions import Accept, Dismiss, SuggestionArgs, scan_of
from navigator.cli import output
from navigator.cli.session import carry_out, complete_tasks, reading
from navigator.domain.models import Suggestion

_JSON = click.option("--json", "as_json", is_flag=True)
_ALL = click.option("--all", "everything", is_flag=True, help="All open suggestions.")
_TASK = click.argument("identifier", metavar="T", shell_complete=complete_tasks)


@click.command("suggestions")
@_TASK
@_JSON
def suggestions(identifier: str, as_json: bool) -> None:
    """List what a scan suggests, by rank."""
    with reading() as store:
        scan = scan_of(store, identifier)
        found = store.suggestions(scan.id, attempt=scan.attempt)
    if as_json:
        output.print_json({"task": scan.id, "suggestions": [one.model_dump(mode="json") for one in found]})
        return
    if not found:
        output.say(f"{scan.id} is {scan.state.value.replace('_', ' ')} and has no suggestions.")
        return
    for one in found:
        _say(one)
    if any(one.state == "open" for one in found):
        output.note(
            f"`navigator task accept {scan.id} N…` queues tasks for them; `task dismiss` dismisses them."
        )


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
@_TASK
@click.argument("ranks", nargs=-1, type=click.IntRange(1), metavar="[N…]")
@_ALL
@_JSON
def accept(identifier: str, ranks: tuple[int, ...], everything: bool, as_json: bool) -> None:
    """Queue a task for each of these suggestions of a scan."""
    _settle(Accept(), identifier, ranks, everything, as_json)


@click.command("dismiss")
@_TASK
@click.argument("ranks", nargs=-1, type=click.IntRange(1), metavar="[N…]")
@_ALL
@_JSON
def dismiss(identifier: str, ranks: tuple[int, ...], everything: bool, as_json: bool) -> None:
    """Dismiss suggestions of a scan."""
    _settle(Dismiss(), identifier, ranks, everything, as_json)


def _settle(
    verb: Accept | Dismiss, identifier: str, ranks: tuple[int, ...], everything: bool, as_json: bool
) -> None:
    carry_out(verb, SuggestionArgs(task=identifier, ranks=ranks, everything=everything), as_json=as_json)


COMMANDS = (suggestions, accept, dismiss)
