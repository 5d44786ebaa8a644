"""What every face of Navigator does alike: read the store, ask the conductor, have a verb performed by it or alone.

Imports no model, HTTP client or git before they are needed: `navigator status` must answer at once.
"""

from __future__ import annotations

import logging
import socket
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from navigator.config.file import settings_rehearse
from navigator.config.paths import StatePaths, config_path
from navigator.engine import wire
from navigator.engine.wire import START, NoConductor, NotResponding
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.json_text import require_bounded
from navigator.store.database import is_low, open_reader, open_writer
from navigator.store.lock import StateLock
from navigator.store.reads.cards import GlanceReads

if TYPE_CHECKING:
    from navigator.actions.base import Done, Verb
    from navigator.model.models import Project, Proposal
    from navigator.model.secrets import Redactor
    from navigator.store.reads.reader import Reader

log = logging.getLogger(__name__)


def reading(paths: StatePaths) -> AbstractContextManager[Reader]:
    """The store, read-only. A state folder without a database gets an empty one first."""
    from navigator.store.reads.reader import Reader

    return glancing(paths, Reader)


G = TypeVar("G", bound=GlanceReads)


@contextmanager
def glancing(paths: StatePaths, reads: type[G]) -> Iterator[G]:
    """The same for these reads alone, of which some need no model."""
    with closing(open_reading(paths)) as connection:
        yield reads(connection)


def open_reading(paths: StatePaths) -> sqlite3.Connection:
    """A read-only connection to the state folder's database, which is made if absent."""
    rehearsal = settings_rehearse()
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
    from navigator.engine.alone import act_alone

    document = verb.model_dump(mode="json")
    require_bounded(document)
    try:
        return read_done(request(paths.socket, verb.op, document))
    except NoConductor:
        if verb.needs_conductor:
            raise
        # No conductor: the lock decides whether this process may do it.
        return read_done(act_alone(paths, verb.op, document, on_problem=on_problem))


def read_done(document: dict[str, Any]) -> Done:
    """What a verb did, as it came over the socket.

    Raises:
        Conflict: the conductor is of another version.
    """
    from navigator.actions.base import Done, Told

    data = dict(document)
    try:
        return Done(tuple(Told(**one) for one in data.pop("told")), data)
    except (KeyError, TypeError) as error:
        raise Conflict(
            "The conductor's answer is of another version.",
            hint="Restart it: `navigator run --stop`, then `navigator run`.",
        ) from error


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
    from navigator.context.source import learn_withheld
    from navigator.git.facts import read_base
    from navigator.git.private import PrivateRepo

    for project in projects:
        try:
            private = PrivateRepo.open(paths.private, project)
            learn_withheld(redact, project, private, read_base(project.path, project.base))
        except NavigatorError as error:
            on_problem(f"{project.name}: values of its secret files are not redacted: {error.message}")


def learn_changes(redact: Redactor, paths: StatePaths, store: Reader, proposals: Iterable[Proposal]) -> None:
    """Have `redact` know the values in such files on both sides of these proposals.

    A branch under review can hold other secrets than the project's base. A project's private repository that is gone shows
    nothing that could leave, so `NavigatorError` passes through.
    """
    from navigator.context.source import learn_withheld
    from navigator.git.private import PrivateRepo

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


# The other end of the conductor's socket, for what asks one thing. `engine.following` has the one for screens.


def request(path: Path, op: str, args: dict[str, Any], *, timeout: float = 600.0) -> dict[str, Any]:
    """Ask the conductor one thing and wait for the answer.

    Raises:
        NoConductor: nothing listens at `path`, or it went away before it answered.
        RemoteError: what the conductor answered.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        try:
            connection.connect(str(path))
            connection.sendall(wire.encode({"id": 1, "op": op, "args": args}))
            with connection.makefile("rb") as lines:
                line = lines.readline(wire.MAX_LINE)
        except (TimeoutError, BlockingIOError) as error:  # the latter where too many others already wait
            raise NotResponding(
                f"The conductor did not answer within {timeout:g} seconds.",
                hint="Its log says what it does. If it was stopped, continue it (`kill -CONT PID`), or end it (`kill PID`).",
            ) from error
        except OSError as error:
            raise NoConductor("No conductor answers.", hint=START) from error
    if not line.endswith(b"\n"):
        raise NoConductor("The conductor went away before it answered.", hint="Ask again.")
    return result_of(wire.decode(line))


def result_of(answer: dict[str, Any]) -> dict[str, Any]:
    """What the conductor answered.

    Raises:
        RemoteError: it refused, or failed.
    """
    if not answer.get("ok"):
        wire.raise_remote(answer.get("error") or {})
    result = answer.get("result")
    return result if isinstance(result, dict) else {}


# One glance at everything, as JSON.

_PATIENCE = 2.0
"""Seconds that a conductor has for its answer."""


def status_document(paths: StatePaths) -> dict[str, Any]:
    """What waits, what the GPU holds (last known, with its age in seconds) and what is running.

    `conductor` is its own report, None where none runs; `not_responding` the process id of one that does not answer.
    """
    with closing(
        open_reader(paths.database) if paths.database.exists() else open_reading(paths)
    ) as connection:
        store = GlanceReads(connection)
        counts, rehearsal = store.counts(), store.rehearsal
        noted_at, _ = store.newest_event("resident")
    conductor: dict[str, Any] | None = None
    silent: int | None = None
    try:
        conductor = request(paths.socket, "status", {}, timeout=_PATIENCE)
    except NotResponding:
        # The lock is the kernel's: its holder lives, whatever it does.
        silent = (StateLock(paths).holder() or {}).get("pid", 0)
    except NoConductor:
        pass  # said by `conductor`
    age = _age(noted_at) if noted_at else None
    return {
        **counts,
        "rehearsal": rehearsal,
        "resident": (conductor or {}).get("resident") or counts["resident"] or None,
        "resident_age_seconds": 0.0 if conductor else age,
        "conductor": conductor,
        "not_responding": silent,
        "disk_full": is_low(paths.root),
        "unsandboxed": _unsandboxed(),
        "given_up": conductor["given_up"] if conductor else {},
    }


def _unsandboxed() -> bool:
    """Whether tests run without a sandbox. Checking the settings takes longer than all the rest: only where they name it."""
    file = config_path()
    if not file.is_file() or b"unsandboxed" not in file.read_bytes():
        return False
    from navigator.config.settings import load_settings

    return load_settings().checks.unsandboxed


def _age(stamp: str) -> float:
    moment = datetime.fromisoformat(stamp.replace("Z", "+00:00"))
    return round(max(0.0, (datetime.now(UTC) - moment).total_seconds()), 1)
