"""`navigator task`: queue tasks and follow them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from navigator.cli import output, session
from navigator.cli.command import Commands, ProjectName, TaskId, TaskIds, Value, command, switch_given
from navigator.model.errors import UsageError
from navigator.model.json_text import MOST_VARIANTS, read_toml
from navigator.model.states import TaskKind, TaskState
from navigator.store.lock import read_holder
from navigator.store.reads.cards import GlanceReads

if TYPE_CHECKING:
    from navigator.model.models import Suggestion, Task
    from navigator.store.reads.cards import Card

_DETAIL = 120
"""Characters of an event's details that are shown."""


@click.group(cls=Commands)
def task() -> None:
    """Queue, list, cancel and retry tasks; accept or dismiss what a scan suggests."""


def _do(verb: str, **arguments: Any) -> None:
    """Have a verb performed. Only now its module is imported: lists are to be there at once."""
    from navigator.actions import registry

    session.carry_out(registry.verb(verb).read(arguments))


@command(task)
def add(
    words: Annotated[tuple[str, ...], Value("[PROJECT] TEXT")] = (),
    *,
    all_: bool = False,
    kind: TaskKind = TaskKind.IMPLEMENT,
    file: Annotated[tuple[str, ...], Value("PATH")] = (),
    priority: int = 0,
    after: tuple[TaskId, ...] = (),
    variants: Annotated[int, Value(type=click.IntRange(1, MOST_VARIANTS))] = 1,
    from_: Path | None = None,
) -> None:
    """Queue a task: [PROJECT] TEXT, or --all TEXT, or --from FILE.

    Without PROJECT it is for the repository of the current folder; TEXT is then one word or quoted.

    Args:
        all_: Queue it for every project.
        kind: Kind of work.
        file: A file the task is about; may be repeated.
        priority: Higher priority goes first.
        after: Start when this task landed or is approved, on top of it; of any project; may be repeated.
        variants: Write this many proposals for it; they are tested and reviewed together, and you approve one.
        from_: Queue many tasks from a TOML file.
    """
    session.take_config_projects()
    if from_ is not None:
        if words or all_:
            raise UsageError("--from takes no other arguments.", hint="The file names projects and texts.")
        tasks = _from_file(from_)
    else:
        shared = {
            "kind": kind,
            "priority": priority,
            "files": list(file),
            "after": list(after),
            "variants": variants,
        }
        tasks = [{"project": name, "text": text, **shared} for name, text in _targets(words, all_)]
    _do("task.add", tasks=tasks)
    if not switch_given("--json") and read_holder(session.state_paths().lock) is None:
        output.note("`navigator run` writes and reviews what is queued.")


def _targets(words: tuple[str, ...], everywhere: bool) -> list[tuple[str, str]]:
    """The names of the projects that a task is for, each with its text."""
    from navigator.cli.project import project_of

    with session.reading() as store:
        names = [held.name for held in store.projects()]
    if not words or (not everywhere and words[0] in names and len(words) == 1):
        raise UsageError("The text of the task is missing.", hint='`navigator task add [PROJECT] "…"`')
    if not everywhere:
        return [(words[0], " ".join(words[1:]))] if words[1:] else [(project_of(Path.cwd()), words[0])]
    if not names:
        raise UsageError("There are no projects yet.", hint="`navigator project add PATH`")
    return [(name, " ".join(words)) for name in names]


def _from_file(source: Path) -> list[dict[str, Any]]:
    """The `[[task]]` tables of a TOML file, see examples/tasks.toml; one with `all = true` becomes a task of each project.

    Raises:
        UsageError: the file cannot be read, or has none.
    """
    try:
        document = read_toml(source.read_text(encoding="utf-8"))
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
        with session.reading() as store:
            tasks += [entry | {"project": held.name} for held in store.projects()]
    return tasks


@command(task, "list")
def list_tasks(*, state: tuple[TaskState, ...] = (), project: ProjectName | None = None) -> None:
    """List all tasks, or those in some states or of one project.

    Args:
        state: Only tasks in this state; may be repeated.
        project: Only tasks of one project.
    """
    session.known_project(project)
    if switch_given("--json"):
        with session.reading() as store:
            output.print_json({"tasks": store.tasks(states=set(state) or None, project=project)})
        return
    with session.glancing(GlanceReads) as glance:
        tasks = glance.cards_in(set(state) or None, project)
    output.table(
        tasks,
        ("task", lambda held: held.task),
        ("project", lambda held: held.project),
        ("kind", lambda held: "review" if held.change else held.kind),
        ("state", lambda held: held.state.value),
        ("round", lambda held: f"r{held.round}"),
        ("text", lambda held: held.text),
        ("", _notes),
        empty="There are none." if state else 'No tasks. `navigator task add PROJECT "…"` queues one.',
    )


def _notes(held: Card) -> str:
    """What a task waits for, and which variant it is."""
    notes = [f"variant {held.variant} of {held.variant_of}"] if held.variant_of else []
    if held.after and held.state is TaskState.QUEUED:
        notes.append(f"after {', '.join(held.after)}")
    return " ".join(notes)


@command(task)
def show(identifier: TaskId) -> None:
    """Show one task: its text, its state and why, and its history."""
    from navigator.sheet.variants import predecessor_words, standing_lines, standings, why_it_waits
    from navigator.sheet.writing import agent_words, look_lines, looks_words

    with session.reading() as store:
        held = store.task(identifier)
        looks = store.looks(held.id)
        turns = store.agent_turns(held.id)
        before, behind = store.predecessors(held.id), store.successors(held.id)
        variants = standings(store, held.variant_of)
        document = {
            "task": held,
            "after": before,
            "before": behind,
            "variants": [
                {"task": one.task.id, "proposal": one.card.proposal, "words": one.words} for one in variants
            ],
            "proposals": store.proposals(task_id=held.id),
            "suggestions": store.suggestions(held.id, attempt=held.attempt),
            "events": store.task_events(held.id),
            "looks": looks,
            "agent": turns,
        }
    about = standing_lines(variants)
    if before:
        about.append(f"after: {predecessor_words(before, held.project_id)}")
    if behind:
        about.append(f"before: {', '.join(behind)}")
    unmet = [(one.id, one.state) for one in before if not one.met]
    if held.state is TaskState.QUEUED and unmet:
        about.append(why_it_waits(held.id, unmet))
    made = [f"before it wrote: {looks_words(looks)}", *indented(look_lines(looks))] if looks else []
    made += [f"written by {agent_words(turns)}"] if turns else []
    output.show(document, lambda found: _say_task(found, about, made))


def indented(lines: Iterable[str]) -> list[str]:
    """Two blanks before each."""
    return [f"  {line}" for line in lines]


def _say_task(found: dict[str, Any], about: list[str], made: list[str]) -> None:
    """A task as `task show` prints it: `about` what it is linked to, `made` how it was written."""
    from navigator.sheet.writing import event_words

    held: Task = found["task"]
    what = f"review of {held.ref}" if held.ref else f"{held.kind.value}, {held.complexity.value}"
    output.say(f"{held.id}  {held.project}  {what}  {held.state.value}")
    lines = [f"{name}: {text}" for name, text in (("from", held.origin), ("why", held.reason)) if text]
    lines += [f"| {line}" for line in held.text.splitlines()]
    lines += [f"note: {held.note}"] if held.note else []
    output.say("\n".join(indented(lines)))
    if held.report:
        output.say(held.report)
    for proposal in found["proposals"]:
        word = proposal.review.verdict.value if proposal.review else "not reviewed"
        round_ = f"attempt {proposal.attempt + 1} round {proposal.round}"
        about.append(f"{proposal.id}  {round_}  {proposal.state.value}  {word}")
    for line in indented(about):
        output.say(line)
    for one in found["suggestions"]:
        _show_suggestion(one)
    if any(one.state == "open" for one in found["suggestions"]):
        output.note(
            f"`navigator task accept {held.id} N…` queues tasks for them; `task dismiss` dismisses them."
        )
    for line in indented(made):
        output.say(line)
    for event in found["events"]:
        kind, detail = event_words(event)
        cut = detail if len(detail) <= _DETAIL else f"{detail[: _DETAIL - 1]}…"
        output.say(f"  {event.at[11:19]}  {kind:<16} {cut}".rstrip())


@command(task)
def cancel(ids: TaskIds) -> None:
    """Cancel tasks that have not ended."""
    _do("task.cancel", ids=ids)


@command(task)
def retry(ids: TaskIds) -> None:
    """Retry tasks that failed, became stale, or were rejected, cancelled or undone."""
    _do("task.retry", ids=ids)


@command(task, "after")
def after_others(identifier: TaskId, others: TaskIds = ()) -> None:
    """Make a queued task start after others, in place of those it waited for; without others, at once."""
    _do("task.after", ids=(identifier,), after=others)


@command(task)
def done(ids: TaskIds) -> None:
    """Put away reports, scans, and answers that no change is needed."""
    _do("task.done", ids=ids)


_Ranks = Annotated[tuple[int, ...], Value("[N…]", type=click.IntRange(1))]


@command(task)
def accept(identifier: TaskId, ranks: _Ranks = (), *, all_: bool = False) -> None:
    """Queue a task for each of these suggestions of a scan.

    Args:
        all_: All open suggestions.
    """
    _do("suggestions", task=identifier, ranks=ranks, everything=all_)


@command(task)
def dismiss(identifier: TaskId, ranks: _Ranks = (), *, all_: bool = False) -> None:
    """Dismiss suggestions of a scan.

    Args:
        all_: All open suggestions.
    """
    _do("suggestions", task=identifier, ranks=ranks, everything=all_, accept=False)


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
