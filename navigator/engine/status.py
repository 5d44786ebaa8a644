"""One glance at everything, as JSON. Imports no model, HTTP client or git: it must answer at once."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from navigator.actions.wire import NoConductor, NotResponding
from navigator.config.paths import StatePaths, config_path
from navigator.engine.acting import open_reading
from navigator.engine.client import request
from navigator.store.database import is_low, open_reader
from navigator.store.lock import StateLock
from navigator.store.reads.cards import GlanceReads

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
