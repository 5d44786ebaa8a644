"""The lab's runs: what each one measures, how far it is, what it decided. One small file for each, in the state folder.

A run's results are its own file; what is kept here is for people, and for going on: the command that continues it. Whether a
run is at work is told by a kernel lock that its process holds, so a crash needs no cleaning up.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from navigator.config.paths import private_folder, state_dir, write_private
from navigator.model.errors import Conflict, NavigatorError
from navigator.store.lock import FileLock, read_holder

_MOST_WORDS = 1 << 16
State = Literal["running", "complete", "stopped", "failed", "interrupted"]
"""`interrupted`: its process ended without a word. The command of all but `complete` goes on with it."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class LabRun(_Record):
    """One run.

    Attributes:
        name: of its file.
        kind: "speculation", "compare" or "bench".
        about: what is measured, in one line.
        command: words after `navigator` that continue it; they name every file by its whole path.
        results: the file with everything that was measured.
        simulated: the figures are a rehearsal's, or those of models with random weights: why they say nothing about real models.
        started, updated: UTC times (ISO 8601) of the first begin and of the last change.
        done, total: progress, in starts of a server or in turns.
        decision: one sentence, as far as it can be said yet.
        ended: how the last process ended; None while it works, or when it crashed.
        problem: why it failed.
        pid: of the process that holds the lock.
        state: as `ended`, told apart from a crash by the lock; filled in by `runs`.
    """

    name: str
    kind: str
    about: str = ""
    command: tuple[str, ...]
    results: str
    simulated: str = ""
    started: str
    updated: str
    done: int = 0
    total: int = 0
    decision: str = ""
    ended: Literal["complete", "stopped", "failed"] | None = None
    problem: str = ""
    pid: int = 0
    state: State = "interrupted"


class Recorder:
    """Keeps the file of the run that this process works on. Each call is on disk when it returns."""

    def __init__(self, path: Path, run: LabRun) -> None:
        self._path, self.run = path, run
        self._change()

    def progress(self, done: int, total: int) -> None:
        """So much is done."""
        self._change(done=done, total=total)

    def decided(self, decision: str, *, simulated: str = "") -> None:
        """What follows from the results so far, in one sentence."""
        self._change(decision=decision, simulated=simulated)

    def ended(self, how: Literal["complete", "stopped", "failed"], problem: str = "") -> None:
        """Called by `recording`."""
        self._change(ended=how, problem=problem)

    def _change(self, **values: object) -> None:
        self.run = self.run.model_copy(update=values | {"updated": _now()})
        write_private(self._path, self.run.model_dump_json(indent=1, exclude={"state"}).encode())


def add_lines(path: Path, lines: Iterable[str]) -> None:
    """Add lines to a file of results, all at once; they are on disk when this returns."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "ab") as stream:
        stream.write("".join(f"{line}\n" for line in lines).encode())
        stream.flush()
        os.fsync(stream.fileno())


def whole_lines(path: Path) -> list[str]:
    """The lines of a file of results, [] without one; a last line that a crash cut off is removed from it."""
    raw = path.read_bytes() if path.exists() else b""
    whole = raw[: raw.rfind(b"\n") + 1]
    if whole != raw:
        write_private(path, whole)
    return whole.decode("utf-8").splitlines()


def lab_folder() -> Path:
    """The lab's folder in the state folder."""
    return private_folder(state_dir() / "lab")


def runs_folder() -> Path:
    """Where runs are noted; made if absent."""
    return private_folder(lab_folder() / "runs")


def run_name(kind: str, results: Path) -> str:
    """A name for the run that writes `results`: the same whenever it goes on."""
    digest = hashlib.sha256(os.fsencode(results.resolve())).hexdigest()[:6]
    stem = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in results.stem)[:40]
    return stem if results.resolve().parent == lab_folder() else f"{kind}-{stem}-{digest}"


@contextlib.contextmanager
def recording(kind: str, results: Path, command: Sequence[str], *, about: str = "") -> Iterator[Recorder]:
    """Note the run that this process works on, from its begin to its end, however it ends.

    It counts as complete where all that was announced by `progress` is done.

    Args:
        kind: see `LabRun`.
        results: the file that is written; it names the run.
        command: words after `navigator` that continue it.
        about: what is measured, in one line.

    Raises:
        Conflict: another process works on this run.
    """
    folder, name = runs_folder(), run_name(kind, results)
    lock = FileLock(folder / f"{name}.lock")
    if not lock.acquire():
        raise Conflict(f"Another process works on {name}.", hint="`navigator lab runs` names it.")
    try:
        now, before = _now(), _read_run(folder / f"{name}.json")
        record = Recorder(
            folder / f"{name}.json",
            LabRun(
                name=name,
                kind=kind,
                about=about,
                command=tuple(command),
                results=str(results.resolve()),
                started=before.started if before and before.ended != "complete" else now,
                updated=now,
                decision=before.decision if before else "",
                simulated=before.simulated if before else "",
                done=before.done if before else 0,
                total=before.total if before else 0,
                pid=os.getpid(),
            ),
        )
        try:
            yield record
        except KeyboardInterrupt:
            record.ended("stopped")
            raise
        except NavigatorError as error:
            record.ended("failed", f"{error.message} {error.hint or ''}".strip())
            raise
        except Exception as error:
            record.ended("failed", f"{type(error).__name__}: {error}"[:300])
            raise
        record.ended("complete" if record.run.done >= record.run.total else "stopped")
    finally:
        lock.release()


def runs() -> list[LabRun]:
    """Every run that was noted, those at work first, then the newest first."""
    folder = lab_folder() / "runs"
    found = [run for path in sorted(folder.glob("*.json")) if (run := _read_run(path)) is not None]
    known = [run.model_copy(update={"state": _run_state(folder, run)}) for run in found]
    known.sort(key=lambda run: run.updated, reverse=True)
    return sorted(known, key=lambda run: run.state != "running")


def _run_state(folder: Path, run: LabRun) -> State:
    working = read_holder(folder / f"{run.name}.lock") is not None
    return "running" if working else run.ended or "interrupted"


def _read_run(path: Path) -> LabRun | None:
    """A run's file; None where it is none, or is not one of this version."""
    try:
        return LabRun.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
