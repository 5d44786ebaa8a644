"""How a command reaches the state: through the conductor if one runs, else directly under the lock."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import click

from navigator.cli import output
from navigator.cli.command import switch_given
from navigator.config.paths import StatePaths, state_dir
from navigator.engine import acting
from navigator.model.errors import Conflict, UsageError
from navigator.model.states import Role
from navigator.model.text import SIMULATED, safe_line
from navigator.store.reads.cards import GlanceReads

if TYPE_CHECKING:
    from navigator.actions.base import Done, Told, Verb
    from navigator.journey.dependencies import Dependencies
    from navigator.store.reads.reader import Reader


def state_paths() -> StatePaths:
    """The state folder of this call, made if absent."""
    return StatePaths(state_dir()).ensure()


@cache
def _say_simulated() -> None:
    output.note(SIMULATED)


def reading(paths: StatePaths | None = None) -> AbstractContextManager[Reader]:
    """The store, read-only. A state folder without a database gets an empty one first. A rehearsal's is named on stderr, once."""
    from navigator.store.reads.reader import Reader

    return glancing(Reader, paths)


@contextmanager
def glancing(reads: type[acting.G], paths: StatePaths | None = None) -> Iterator[acting.G]:
    """The store, as far as it is read without models, for what is to be there at once; else as `reading`."""
    with acting.glancing(paths or state_paths(), reads) as store:
        if store.rehearsal:
            _say_simulated()
        yield store


def known_project(name: str | None) -> None:
    """Nothing for the name of a project, also of one that was removed, and for None.

    Raises:
        NotFound: there never was such a project.
    """
    if name is None:
        return
    with glancing(GlanceReads) as glance:
        if glance.has_project(name):
            return
    with reading() as store:
        store.project(name)  # names the nearest one


def act(verb: Verb) -> Done:
    """Perform a verb: the conductor does it, or this process under the state folder's lock.

    Raises:
        NavigatorError: what the verb refuses; `Conflict` when another command holds the lock.
    """
    return acting.act(state_paths(), verb, output.note)


V = TypeVar("V", bound="Verb")


def ask(verb: V) -> V:
    """Put a verb's question at the terminal; returns the verb with the answers. With --yes nothing is asked.

    Raises:
        click.Abort: the answer was no.
        UsageError: there is a question, and no terminal to ask it at.
    """
    if switch_given("--yes"):
        return verb
    with reading() as store:
        if len(getattr(verb, "proposals", ())) == 1:
            verb.require(store)  # of several, each is answered for itself
        question = verb.question(store)
        if question is None:
            return verb
        if not sys.stdin.isatty():
            verb.require(store)
    for item in question.items:
        confirmed(f"{item.title}. Have you looked at it?", ())
    confirmed(question.title, question.lines)
    return verb.answered(confirm=[item.key for item in question.items])


def confirmed(question: str, lines: Sequence[str] = ()) -> None:
    """Ask at the terminal, below `lines`, before something is done; with --yes nothing is asked.

    Raises:
        click.Abort: the answer was no.
        UsageError: there is no terminal to ask at.
    """
    if switch_given("--yes"):
        return
    if not sys.stdin.isatty():
        raise UsageError("There is no terminal to confirm at, and nothing was done.", hint="Add --yes.")
    for line in lines:
        output.note(f"  {line}")
    click.confirm(safe_line(question.removesuffix("?")), abort=True, err=True)


def carry_out(verb: Verb) -> None:
    """Ask where the command has --yes, perform, and show the outcome. Exits with 1 on an error."""
    done = act(verb if switch_given("--yes") is None else ask(verb))
    report(done.told, done.data)


_SUBJECTS = ("conductor", *(role.value for role in Role))
"""What an outcome can be about that has no id: it reads as a sentence."""


def report(told: Sequence[Told], document: Any) -> None:
    """Show an outcome: as JSON the document, else a line for each thing and the hints. Exits with 1 on an error."""
    output.show(document, lambda _: _say_told(told), code=any(one.level == "error" for one in told))


def _say_told(told: Sequence[Told]) -> None:
    for one in told:
        subject = f"The {one.id} " if one.id in _SUBJECTS else f"{one.id}  "
        output.say(f"{subject}{one.text}", **({"fg": "red"} if one.level == "error" else {}))
    for hint in dict.fromkeys(one.hint for one in told if one.hint):
        output.note(hint)


def live_status() -> dict[str, Any] | None:
    """What the conductor that runs says of itself; None where none does."""
    from navigator.engine.wire import NoConductor

    try:
        return acting.request(state_paths().socket, "status", {}, timeout=5)
    except NoConductor:
        return None


def require_no_conductor() -> None:
    """Refuse what works beside no conductor.

    Raises:
        Conflict: one runs.
    """
    if live_status() is not None:
        raise Conflict(
            "A conductor is running.",
            hint="`navigator status` shows what it does; `navigator run --stop` stops it.",
        )


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
    """`engine.alone.locked_dependencies`; `[[project]]` entries that could not be added are named on stderr."""
    from navigator.engine import alone

    with alone.locked_dependencies(paths, on_problem=output.note, **options) as deps:
        yield deps
