"""`navigator task`: queue tasks and follow them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from navigator.actions.task_add import AddTasks
from navigator.actions.tasks import After, Cancel, PutAway, Retry, Settle
from navigator.cli import output
from navigator.cli.here import project_of
from navigator.cli.lazy import Commands
from navigator.cli.session import (
    carry_out,
    complete_projects,
    complete_tasks,
    known_project,
    reading,
    state_paths,
    take_config_projects,
)
from navigator.journey.change import MOST
from navigator.model.errors import UsageError
from navigator.model.json_text import read_toml
from navigator.model.models import Suggestion, Task
from navigator.model.states import Complexity, TaskKind, TaskState
from navigator.store.lock import read_holder

_KINDS = click.Choice([kind.value for kind in TaskKind])
_LARGEST_FILE = 4 << 20
"""Bytes of a file of tasks."""

_DETAIL = 120
"""Characters of an event's details that are shown."""
_COMPLEXITIES = click.Choice([complexity.value for complexity in Complexity])


_AFTER = click.option(
    "--after",
    "after",
    multiple=True,
    metavar="T",
    shell_complete=complete_tasks,
    help="Start when this task landed or is approved, on top of it; of any project; may be repeated.",
)


@click.group(cls=Commands)
def task() -> None:
    """Queue, list, cancel and retry tasks; accept or dismiss what a scan suggests."""


@task.command("add")
@click.argument("words", nargs=-1, metavar="[PROJECT] TEXT", shell_complete=complete_projects)
@click.option("--all", "everywhere", is_flag=True, help="Queue it for every project.")
@click.option(
    "--kind", type=_KINDS, default=None, help="Kind of work; guessed from the text where it is not given."
)
@click.option(
    "--complexity",
    type=_COMPLEXITIES,
    default=Complexity.MEDIUM.value,
    show_default=True,
    help="Your estimate.",
)
@click.option(
    "--file", "files", multiple=True, metavar="PATH", help="A file the task is about; may be repeated."
)
@click.option("--priority", type=int, default=0, help="Higher priority goes first.")
@_AFTER
@click.option(
    "--variants",
    type=click.IntRange(1, MOST),
    default=1,
    help="Write this many proposals for it; they are tested and reviewed together, and you approve one.",
)
@click.option("--from", "source", type=click.Path(path_type=Path), help="Queue many tasks from a TOML file.")
@output.JSON
def add(
    words: tuple[str, ...],
    everywhere: bool,
    kind: str | None,
    complexity: str,
    files: tuple[str, ...],
    priority: int,
    after: tuple[str, ...],
    variants: int,
    source: Path | None,
    as_json: bool,
) -> None:
    """Queue a task: [PROJECT] TEXT, or --all TEXT, or --from FILE.

    Without PROJECT it is for the repository of the current folder; TEXT is then one word or quoted.
    """
    take_config_projects()
    if source is not None:
        if words or everywhere:
            raise UsageError("--from takes no other arguments.", hint="The file names projects and texts.")
        tasks = _from_file(source)
    else:
        shared = {
            "kind": kind,
            "complexity": complexity,
            "priority": priority,
            "files": list(files),
            "after": list(after),
            "variants": variants,
        }
        tasks = [{"project": name, "text": text, **shared} for name, text in _targets(words, everywhere)]
    carry_out(AddTasks.read({"tasks": tasks}), as_json=as_json)
    if not as_json and read_holder(state_paths().lock) is None:
        output.note("`navigator run` writes and reviews what is queued.")


def _targets(words: tuple[str, ...], everywhere: bool) -> list[tuple[str, str]]:
    if everywhere:
        if not words:
            raise UsageError("The text of the task is missing.", hint='`navigator task add --all "…"`')
        with reading() as store:
            names = [held.name for held in store.projects()]
        if not names:
            raise UsageError("There are no projects yet.", hint="`navigator project add PATH`")
        return [(name, " ".join(words)) for name in names]
    if not words:
        raise UsageError("The text of the task is missing.", hint='`navigator task add [PROJECT] "…"`')
    if len(words) == 1:
        with reading() as store:
            if words[0] in {held.name for held in store.projects()}:
                raise UsageError(
                    "The text of the task is missing.", hint=f'`navigator task add {words[0]} "…"`'
                )
        return [(project_of(Path.cwd()), words[0])]
    return [(words[0], " ".join(words[1:]))]


def _from_file(source: Path) -> list[dict[str, Any]]:
    """`[[task]]` tables with project (or all = true), text, kind, complexity, files, priority, name, after, variants."""
    try:
        with source.open("rb") as stream:
            content = stream.read(_LARGEST_FILE + 1)
        if len(content) > _LARGEST_FILE:
            raise UsageError(f"{source} has more than {_LARGEST_FILE >> 20} MiB.")
        document = read_toml(content.decode())
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise UsageError(f"{source} is not valid TOML: {error}.") from error
    tables = document.get("task")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise UsageError(f"{source} has no [[task]] table.", hint="See examples/tasks.toml.")
    tasks: list[dict[str, Any]] = []
    for table in tables:
        entry = dict(table)
        if not entry.pop("all", False):
            tasks.append(entry)
            continue
        with reading() as store:
            tasks += [entry | {"project": held.name} for held in store.projects()]
    return tasks


@task.command("list")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice([state.value for state in TaskState]),
    help="Only tasks in this state; may be repeated.",
)
@click.option(
    "--project", "name", default=None, shell_complete=complete_projects, help="Only tasks of one project."
)
@output.JSON
def list_tasks(states: tuple[str, ...], name: str | None, as_json: bool) -> None:
    """List all tasks, or those in some states or of one project."""
    with reading() as store:
        known_project(store, name)
        wanted = {TaskState(state) for state in states} or None
        tasks = store.tasks(states=wanted, project=name)
    if as_json:
        output.print_json({"tasks": [held.model_dump(mode="json") for held in tasks]})
        return
    if not tasks:
        output.say('No tasks. `navigator task add PROJECT "…"` queues one.')
        return
    rows = [
        (
            held.id,
            held.project,
            "review" if held.ref else held.kind.value,
            held.state.value,
            f"r{held.round}",
            held.text.splitlines()[0][:70],
            _notes(held),
        )
        for held in tasks
    ]
    output.emit(output.table(("task", "project", "kind", "state", "round", "text", ""), rows))


def _notes(held: Task) -> str:
    """What a task waits for, and which variant it is."""
    notes = [f"variant {held.variant} of {held.variant_of}"] if held.variant_of else []
    if held.after and held.state is TaskState.QUEUED:
        notes.append(f"after {', '.join(held.after)}")
    return " ".join(notes)


@task.command("show")
@click.argument("identifier", metavar="T", shell_complete=complete_tasks)
@output.JSON
def show(identifier: str, as_json: bool) -> None:
    """Show one task: its text, its state and why, and its history."""
    from navigator.sheet.variants import predecessor_words, standing_lines, standings, why_it_waits
    from navigator.sheet.writing import (
        agent_lines,
        agent_words,
        agents_document,
        event_words,
        look_lines,
        looks_document,
        looks_words,
    )

    with reading() as store:
        held = store.task(identifier)
        looks = store.looks(held.id)
        turns = store.agent_turns(held.id)
        proposals = store.proposals(task_id=held.id)
        before, behind = store.predecessors(held.id), store.successors(held.id)
        found = store.suggestions(held.id, attempt=held.attempt)
        events = store.task_events(held.id)
        variants = standings(store, held.variant_of)
    if as_json:
        document = {
            "task": held.model_dump(mode="json"),
            "after": [one.model_dump(mode="json") for one in before],
            "before": behind,
            "variants": [
                {"task": one.task.id, "proposal": one.card.proposal, "words": one.words} for one in variants
            ],
            "proposals": [proposal.model_dump(mode="json") for proposal in proposals],
            "suggestions": [one.model_dump(mode="json") for one in found],
            "events": [event.model_dump(mode="json") for event in events],
            "looks": looks_document(looks),
            "agent": agents_document(turns),
        }
        output.print_json(document)
        return
    _say_task(held)
    for line in standing_lines(variants):
        output.say(f"  {line}")
    if before:
        output.say(f"  after: {predecessor_words(before, held.project_id)}")
    if behind:
        output.say(f"  before: {', '.join(behind)}")
    if held.state is TaskState.QUEUED and any(not one.met for one in before):
        output.say(f"  {why_it_waits(held.id, [(one.id, one.state) for one in before if not one.met])}")
    for proposal in proposals:
        word = proposal.review.verdict.value if proposal.review else "not reviewed"
        output.say(
            f"  {proposal.id}  attempt {proposal.attempt + 1} round {proposal.round}  {proposal.state.value}  {word}"
        )
    for one in found:
        _show_suggestion(one)
    if any(one.state == "open" for one in found):
        output.note(
            f"`navigator task accept {held.id} N…` queues tasks for them; `task dismiss` dismisses them."
        )
    if looks:
        output.say(f"  before it wrote: {looks_words(looks)}")
        for line in look_lines(looks):
            output.say(f"    {line}")
    if turns:
        output.say(f"  written by {agent_words(turns)}")
        for line in agent_lines(turns):
            output.say(f"    {line}")
    for event in events:
        kind, detail = event_words(event)
        cut = detail if len(detail) <= _DETAIL else f"{detail[: _DETAIL - 1]}…"
        output.say(f"  {event.at[11:19]}  {kind:<16} {cut}".rstrip())


def _say_task(held: Task) -> None:
    what = f"review of {held.ref}" if held.ref else f"{held.kind.value}, {held.complexity.value}"
    output.say(f"{held.id}  {held.project}  {what}  {held.state.value}")
    if held.origin:
        output.say(f"  from: {held.origin}")
    if held.reason:
        output.say(f"  why: {held.reason}")
    for line in held.text.splitlines():
        output.say(f"  | {line}")
    if held.note:
        output.say(f"  note: {held.note}")
    if held.report:
        output.say(held.report)


_IDS = click.argument("ids", nargs=-1, required=True, metavar="T…", shell_complete=complete_tasks)


@task.command("cancel")
@_IDS
@output.JSON
def cancel(ids: tuple[str, ...], as_json: bool) -> None:
    """Cancel tasks that have not ended."""
    carry_out(Cancel(ids=ids), as_json=as_json)


@task.command("retry")
@_IDS
@output.JSON
def retry(ids: tuple[str, ...], as_json: bool) -> None:
    """Retry tasks that failed, became stale, or were rejected, cancelled or undone."""
    carry_out(Retry(ids=ids), as_json=as_json)


@task.command("after")
@click.argument("identifier", metavar="T", shell_complete=complete_tasks)
@click.argument("others", nargs=-1, metavar="[T…]", shell_complete=complete_tasks)
@output.JSON
def after_others(identifier: str, others: tuple[str, ...], as_json: bool) -> None:
    """Make a queued task start after others, in place of those it waited for; without others, at once."""
    carry_out(After(ids=(identifier,), after=others), as_json=as_json)


@task.command("done")
@_IDS
@output.JSON
def done(ids: tuple[str, ...], as_json: bool) -> None:
    """Put away reports, scans, and answers that no change is needed."""
    carry_out(PutAway(ids=ids), as_json=as_json)


_SCAN = click.argument("identifier", metavar="T", shell_complete=complete_tasks)
_EVERY = click.option("--all", "everything", is_flag=True, help="All open suggestions.")


def _show_suggestion(one: Suggestion) -> None:
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


@task.command("accept")
@_SCAN
@click.argument("ranks", nargs=-1, type=click.IntRange(1), metavar="[N…]")
@_EVERY
@output.JSON
def accept(identifier: str, ranks: tuple[int, ...], everything: bool, as_json: bool) -> None:
    """Queue a task for each of these suggestions of a scan."""
    _settle(True, identifier, ranks, everything, as_json)


@task.command("dismiss")
@_SCAN
@click.argument("ranks", nargs=-1, type=click.IntRange(1), metavar="[N…]")
@_EVERY
@output.JSON
def dismiss(identifier: str, ranks: tuple[int, ...], everything: bool, as_json: bool) -> None:
    """Dismiss suggestions of a scan."""
    _settle(False, identifier, ranks, everything, as_json)


def _settle(accept: bool, identifier: str, ranks: tuple[int, ...], everything: bool, as_json: bool) -> None:
    verb = Settle(task=identifier, ranks=ranks, everything=everything, accept=accept)
    carry_out(verb, as_json=as_json)
