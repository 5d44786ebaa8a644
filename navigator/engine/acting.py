"""What every face of Navigator does alike: read the store, and have a verb performed by the conductor or alone."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from navigator.actions.wire import NoConductor
from navigator.config.paths import StatePaths
from navigator.engine.client import request
from navigator.model.errors import NavigatorError
from navigator.model.json_text import require_bounded

if TYPE_CHECKING:
    from navigator.actions.base import Done, Verb
    from navigator.model.models import Project, Proposal
    from navigator.model.secrets import Redactor
    from navigator.store.reads.reader import Reader

log = logging.getLogger(__name__)


@contextmanager
def reading(paths: StatePaths) -> Iterator[Reader]:
    """The store, read-only. A state folder without a database gets an empty one first."""
    from navigator.store.reads.reader import Reader

    connection = open_reading(paths)
    try:
        yield Reader(connection)
    finally:
        connection.close()


def open_reading(paths: StatePaths) -> sqlite3.Connection:
    """A read-only connection to the state folder's database, which is made if absent."""
    from navigator.config.settings import load_settings
    from navigator.store.database import open_reader, open_writer
    from navigator.store.lock import StateLock

    rehearsal = load_settings().rehearsal
    if not paths.database.exists():
        lock = StateLock(paths)
        # Another process may be making it right now: wait for it.
        lock.acquire(blocking=True)
        try:
            open_writer(paths.database, rehearsal=rehearsal).close()
        finally:
            lock.release()
    return open_reader(paths.database, rehearsal=rehearsal)


def act(paths: StatePaths, verb: Verb, on_problem: Callable[[str], None] = log.warning) -> Done:
    """Perform a verb: the conductor does it, or this process under the state folder's lock.

    Args:
        on_problem: called with a message for each `[[project]]` entry of the settings that could not be added.

    Raises:
        NavigatorError: what the verb refuses; `Conflict` when another command holds the lock.
    """
    from navigator.actions.alone import act_alone
    from navigator.actions.base import read_done

    document = verb.model_dump(mode="json")
    require_bounded(document)
    try:
        return read_done(request(paths.socket, verb.op, document))
    except NoConductor:
        if verb.needs_conductor:
            raise
        # No conductor: the lock decides whether this process may do it.
        return read_done(act_alone(paths, verb.op, document, on_problem=on_problem))


def learn_secrets(
    redact: Redactor,
    paths: StatePaths,
    projects: Iterable[Project],
    on_problem: Callable[[str], None] = log.warning,
) -> None:
    """Have `redact` know the values in the files of these projects that no model is shown.

    Args:
        on_problem: called with a message for each project whose files cannot be read.
    """
    from navigator.git.facts import WORKTREE, read_base
    from navigator.git.private import PrivateRepo
    from navigator.git.source import learn_withheld

    for project in projects:
        try:
            private = PrivateRepo.open(paths.private, project)
            base = "" if project.base == WORKTREE else project.base
            learn_withheld(redact, project, private, read_base(project.path, base))
        except NavigatorError as error:
            on_problem(f"{project.name}: values of its secret files are not redacted: {error.message}")


def learn_changes(redact: Redactor, paths: StatePaths, store: Reader, proposals: Iterable[Proposal]) -> None:
    """Have `redact` know the values in such files on both sides of these proposals.

    A branch under review can hold other secrets than the project's base. A project's private repository that is gone shows
    nothing that could leave, so `NavigatorError` passes through.
    """
    from navigator.git.private import PrivateRepo
    from navigator.git.source import learn_withheld

    trees = dict.fromkeys(
        (one.project_id, tree) for one in proposals for tree in (one.base_commit, one.tree) if tree
    )
    for project_id in dict.fromkeys(number for number, _ in trees):
        project = store.project(project_id)
        private = PrivateRepo.open(paths.private, project)
        for number, tree in trees:
            if number == project_id:
                learn_withheld(redact, project, private, tree)


def report_page(
    paths: StatePaths, store: Reader, since: str, on_problem: Callable[[str], None] = log.warning
) -> str:
    """The report as HTML, without secrets. `since` is a UTC time; "": the newest night."""
    from navigator.model.secrets import Redactor
    from navigator.sheet.account import report

    redact = Redactor()
    learn_secrets(redact, paths, store.projects(), on_problem)
    return report(store, since, redact.outgoing)
