"""How a command reaches the state: through the conductor if one runs, else directly under the lock."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import click

from navigator.cli import output
from navigator.config.paths import StatePaths, state_dir
from navigator.engine import acting
from navigator.model.errors import Conflict, NavigatorError, UsageError
from navigator.model.states import Role
from navigator.model.text import SIMULATED, safe_line, safe_text

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from navigator.actions.base import Done, Told, Verb
    from navigator.journey.dependencies import Dependencies
    from navigator.store.reads.reader import Reader


def state_paths() -> StatePaths:
    """The state folder of this call, made if absent."""
    return StatePaths(state_dir()).ensure()


@contextmanager
def reading(paths: StatePaths | None = None) -> Iterator[Reader]:
    """The store, read-only. A state folder without a database gets an empty one first. A rehearsal's is named on stderr, once."""
    with acting.reading(paths or state_paths()) as store:
        if store.rehearsal:
            _say_simulated()
        yield store


@cache
def _say_simulated() -> None:
    output.note(SIMULATED)


def known_project(store: Reader, name: str | None) -> None:
    """Nothing for the name of a project, also of one that was removed, and for None.

    Raises:
        NotFound: there never was such a project.
    """
    if name is not None and name not in {held.name for held in store.projects(include_removed=True)}:
        store.project(name)


def act(verb: Verb) -> Done:
    """Perform a verb: the conductor does it, or this process under the state folder's lock.

    Raises:
        NavigatorError: what the verb refuses; `Conflict` when another command holds the lock.
    """
    return acting.act(state_paths(), verb, _print_problem)


V = TypeVar("V", bound="Verb")


def ask(verb: V, *, yes: bool = False) -> V:
    """Put a verb's question at the terminal; returns the verb with the answers. With `yes` nothing is asked.

    Raises:
        click.Abort: the answer was no.
        UsageError: there is a question, and no terminal to ask it at.
    """
    if yes:
        return verb
    with reading() as store:
        if len(getattr(verb, "proposals", ())) == 1:
            verb.require(store)  # of several, each is answered for itself
        question = verb.question(store)
        if question is None:
            return verb
        if not sys.stdin.isatty():
            verb.require(store)
            raise _no_terminal()
    for item in question.items:
        click.echo(safe_text("\n".join(f"  {line}" for line in item.lines)), err=True)
        click.confirm(safe_line(f"{item.title}. Have you looked at it?"), abort=True, err=True)
    if question.lines:
        click.echo(safe_text("\n".join(f"  {line}" for line in question.lines)), err=True)
    click.confirm(safe_line(question.title.removesuffix("?")), abort=True, err=True)
    return verb.answered(confirm=[item.key for item in question.items])


def confirmed(question: str, *, yes: bool) -> None:
    """Ask at the terminal before something is done; with `yes` nothing is asked.

    Raises:
        click.Abort: the answer was no.
        UsageError: there is no terminal to ask at.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise _no_terminal()
    click.confirm(safe_line(question.removesuffix("?")), abort=True, err=True)


def _no_terminal() -> UsageError:
    return UsageError("There is no terminal to confirm at, and nothing was done.", hint="Add --yes.")


def carry_out(verb: Verb, *, as_json: bool, yes: bool | None = None) -> None:
    """Ask where `yes` is False, perform, and show the outcome. Exits with 1 on an error."""
    done = act(verb if yes is None else ask(verb, yes=yes))
    report(done.told, done.data if as_json else None)


_SUBJECTS = ("conductor", *(role.value for role in Role))
"""What an outcome can be about that has no id: it reads as a sentence."""


def report(told: Sequence[Told], document: dict[str, Any] | None = None) -> None:
    """Show an outcome: the JSON document where there is one, else a line per thing and the hints. Exits with 1 on an error."""
    if document is not None:
        output.print_json(document)
    else:
        for one in told:
            subject = f"The {one.id} " if one.id in _SUBJECTS else f"{one.id}  "
            output.say(f"{subject}{one.text}", **({"fg": "red"} if one.level == "error" else {}))
        for hint in dict.fromkeys(one.hint for one in told if one.hint):
            output.note(hint)
    if any(one.level == "error" for one in told):
        sys.exit(1)


def take_config_projects() -> None:
    """Add the settings' `[[project]]` entries to the store, where they are missing.

    A conductor reads its settings when it starts; an entry added since is taken at its next start.
    """
    from navigator.config.settings import load_settings

    entries = {str(entry.location) for entry in load_settings().project}
    if not entries:
        return
    paths = state_paths()
    with reading(paths) as store:
        known = {project.path for project in store.projects()}
    if entries <= known:
        return
    with suppress(Conflict), locked_dependencies(paths):
        pass  # taking the lock adds them; a Conflict means that a conductor runs, which added its own


@contextmanager
def locked_dependencies(paths: StatePaths, **options: Any) -> Iterator[Dependencies]:
    """`socket.alone.locked_dependencies`; `[[project]]` entries that could not be added are named on stderr."""
    from navigator.actions import alone

    with alone.locked_dependencies(paths, on_problem=_print_problem, **options) as deps:
        yield deps


def _print_problem(problem: str) -> None:
    click.echo(safe_line(problem), err=True)


# Shell completion of names and ids

Completer = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


def completing(rows: Callable[[Reader], Iterator[tuple[str, str]]]) -> Completer:
    """Complete an argument from what the store holds: (value, help) pairs. Makes no state folder, and never fails."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        try:
            paths = StatePaths(state_dir())
            if not paths.database.exists():
                return []
            with acting.reading(paths) as store:
                found = list(rows(store))
        except NavigatorError:
            return []
        wanted = incomplete.lower()
        return [CompletionItem(value, help=text) for value, text in found if value.lower().startswith(wanted)]

    return complete


def _projects(store: Reader) -> Iterator[tuple[str, str]]:
    return ((held.name, held.path) for held in store.projects())


def _tasks(store: Reader) -> Iterator[tuple[str, str]]:
    return ((held.id, f"{held.state.value}: {safe_line(held.text[:60])}") for held in store.tasks())


def _proposals(store: Reader) -> Iterator[tuple[str, str]]:
    return ((held.id, f"{held.project}: {safe_line(held.title)}") for held in store.proposals())


complete_projects, complete_tasks, complete_proposals = map(completing, (_projects, _tasks, _proposals))
