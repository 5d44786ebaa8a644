"""`navigator run`: the conductor, in this terminal or detached from it. `navigator mcp`: a server for other programs."""

from __future__ import annotations

import asyncio
import logging
import logging.handlers
import os
import signal
import sys
import time
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import click

from navigator.cli import output, session
from navigator.cli.command import Value, command, switch_given
from navigator.config.paths import CONFIG_VARIABLE, STATE_VARIABLE, StatePaths, config_path
from navigator.model.errors import MissingPart, NavigatorError
from navigator.model.models import Event, utc_now
from navigator.model.secrets import Redactor
from navigator.process.runner import start
from navigator.rehearsal.engine import time_scale as scale_of
from navigator.sheet.writing import progress_line

_LOG_BYTES = 4 * 1024 * 1024
_LOG_FILES = 3
_DETACH_WAIT = 15.0


@command()
def run(
    *,
    until: Literal["idle", "reviewed"] | None = None,
    max_swaps: Annotated[int | None, Value(type=click.IntRange(min=0))] = None,
    detach: bool = False,
    stop: bool = False,
    time_scale: float | None = None,
) -> None:
    """Run the conductor: write, swap, review, swap back, revise; then wait for your decisions.

    Args:
        until: When to end. idle: nothing is left to do, revisions included. reviewed: only revisions are left that would need
            another swap back. Without it, run until stopped.
        max_swaps: Maximum number of swaps.
        detach: Run in the background; the terminal can be closed.
        stop: Instead, stop the conductor that runs. Work in progress is done again by the next one.
        time_scale: Rehearsal only: factor on simulated times; 0 means no waiting.
    """
    scale = scale_of(time_scale)
    if stop:
        _stop()
        return
    if detach:
        _detach()
        return
    began = utc_now()
    document = conduct(
        session.state_paths(),
        until=until or "",
        max_swaps=max_swaps,
        quiet=bool(switch_given("--json")),
        time_scale=scale,
    )
    failed = bool(document["failed"] or document["failed_swaps"] or document["problems"])
    output.show(document, lambda found: show_session(found, began), code=failed)


def conduct(
    paths: StatePaths,
    *,
    until: str,
    max_swaps: int | None = None,
    only: frozenset[str] = frozenset(),
    quiet: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Run one session to its end and return its document. With `only`, it works on these tasks and leaves the others.

    SIGINT, SIGTERM and SIGHUP end it cleanly; unfinished work is resumed by the next run.
    """
    from navigator.engine.conductor import Conductor, RunOptions

    redact = Redactor()
    log_to(paths, redact)
    with session.locked_dependencies(paths, redact=redact, **options) as deps:

        async def whole() -> dict[str, Any]:
            shown = (lambda event: None) if quiet else Progress().event
            conductor = Conductor(deps, RunOptions(until=until, max_swaps=max_swaps, only=only), shown)
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, conductor.stop, f"stopped by {number.name}")
            return (await conductor.run()).document()

        return asyncio.run(whole())


class _PrivateLog(logging.handlers.RotatingFileHandler):
    """A rotating log whose every file is 0600 from its first byte."""

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return cast(
            "TextIOWrapper", os.fdopen(descriptor, self.mode, encoding=self.encoding, errors=self.errors)
        )

    def handleError(self, record: logging.LogRecord) -> None:
        """Drop a line that cannot be written: a full disk must not fill the terminal with tracebacks."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)


class _RedactedLines(logging.Formatter):
    """Log lines without secrets: tracebacks and servers' words hold whatever they hold."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """The whole record, traceback included."""
        return self._redact(super().format(record))


def log_to(paths: StatePaths, redact: Callable[[str], str]) -> None:
    """Send Navigator's log to a rotating file in the state folder, 0600; nothing of it to the terminal.

    Raises:
        StoreError: the file cannot be opened for writing.
    """
    try:
        handler = _PrivateLog(
            paths.log,
            maxBytes=_LOG_BYTES,
            backupCount=_LOG_FILES,
            encoding="utf-8",
            errors="backslashreplace",
        )
    except OSError as error:
        raise _unwritable(paths.log, error) from error
    handler.setFormatter(_RedactedLines(redact))
    logger = logging.getLogger("navigator")
    logger.handlers = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False


def _unwritable(path: Path, error: OSError) -> NavigatorError:
    from navigator.store.errors import StoreError

    return StoreError(
        f"{path} cannot be opened for writing: {error.strerror}.",
        hint=f"Make the state folder writable, or set {STATE_VARIABLE} to one that is. `navigator doctor` checks it.",
    )


def show_session(document: dict[str, Any], began: str) -> None:
    """What happened in a session that began at a UTC time, and why it ended."""
    from navigator.cli.stats import tell_account

    with session.reading() as store, store.snapshot():
        tell_account(store, began)
    if document["reason"]:
        output.say(f"Ended: {document['reason'].rstrip('.')}.")
    if document["states"].get("awaiting_approval"):
        output.note("Next: `navigator proposals` lists what waits for you; `navigator` opens the screens.")


def _stop() -> None:
    from navigator.actions.conducting import Conduct
    from navigator.engine.acting import read_done, request
    from navigator.engine.wire import NoConductor, NotResponding

    try:
        found = request(session.state_paths().socket, Conduct.op, {"do": "stop"}, timeout=30)
    except NotResponding:
        raise
    except NoConductor as error:
        # Already stopped: the hint to start one would be wrong.
        raise NoConductor("No conductor is running.") from error
    session.report(read_done(found).told, {"stopping": True})


def _detach() -> None:
    """Start the same command as a process of its own session, and wait until it answers."""
    paths = session.state_paths()
    session.require_no_conductor()
    arguments = [argument for argument in sys.argv[1:] if argument not in ("--detach", "--json")]
    errors = paths.root / "conductor.err"
    try:
        stream = errors.open("wb")
    except OSError as error:
        raise _unwritable(errors, error) from error
    with stream:
        os.fchmod(stream.fileno(), 0o600)
        # What was named relative to this folder is looked for in another one.
        named = {STATE_VARIABLE: str(paths.root), CONFIG_VARIABLE: str(config_path())}
        named = {name: place for name, place in named.items() if name in os.environ}
        command = [sys.executable, "-m", "navigator", *arguments, "--json"]
        child = start(command, stderr=stream, cwd="/", env=os.environ | named)
    deadline = time.monotonic() + _DETACH_WAIT
    told = f"The conductor is running in the background (process {child.pid}). `navigator status` shows it."
    while session.live_status() is None:
        if child.poll() == 0:
            told = "The conductor had nothing left to do, and has ended."
            break
        if child.returncode is not None:
            said = errors.read_text(encoding="utf-8", errors="replace").strip().removeprefix("navigator: ")
            kind = MissingPart if child.returncode == MissingPart.exit_code else NavigatorError
            raise kind(f"The conductor did not start: {said or f'exit code {child.returncode}'}")
        if time.monotonic() > deadline:
            told = f"The conductor (process {child.pid}) has not answered for {_DETACH_WAIT:g} s. See `navigator status`."
            break
        time.sleep(0.05)
    output.show({"pid": child.pid}, lambda _: output.say(told))


# Progress of a session: a line per event on stderr, so that stdout stays for the result.

log = logging.getLogger(__name__)


class Progress:
    """Shows events as they come. A terminal that was closed shows nothing more, and the session continues."""

    _closed = False

    def event(self, event: Event) -> None:
        """Show one event."""
        line = progress_line(event)
        if not line or self._closed:
            return
        try:
            output.note(f"{event.at[11:19]} {line}")
        except OSError as error:
            # The terminal was closed (EIO) or the reader of stderr ended. Neither may fail the work in progress.
            self._closed = True
            log.info("Progress is no longer shown: %s", error.strerror)


@command(json=False)
def mcp(
    *,
    read_only: bool = False,
) -> None:
    """Serve the Model Context Protocol on stdin and stdout, for editors and agents that start it.

    Its tools list, queue and show; none decides, lands or changes settings. docs/mcp.md names them and shows how to configure a
    client.

    Args:
        read_only: Leave out the tools that queue tasks and reviews.
    """
    from navigator.mcp.server import McpServer
    from navigator.mcp.tools import Tools

    if sys.stdin.isatty():
        output.note("Waiting for an MCP client on stdin; Ctrl-D ends it.")
    session.take_config_projects()
    McpServer(Tools(session.state_paths(), read_only=read_only)).serve(sys.stdin.buffer, sys.stdout.buffer)
