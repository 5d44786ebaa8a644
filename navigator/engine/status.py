"""One glance at everything, as JSON. Imports no HTTP client and no git: it must answer at once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from navigator.actions.wire import NoConductor, NotResponding
from navigator.config.paths import StatePaths
from navigator.config.settings import load_settings
from navigator.engine.acting import reading
from navigator.engine.client import request
from navigator.store.lock import StateLock
from navigator.store.space import is_low

_PATIENCE = 2.0
"""Seconds that a conductor has for its answer."""


def status_document(paths: StatePaths) -> dict[str, Any]:
    """What waits, what the GPU holds (last known, with its age in seconds) and what is running.

    `conductor` is its own report, None where none runs; `not_responding` the process id of one that does not answer.
    """
    with reading(paths) as store:
        counts = store.counts()
        projects = len(store.projects())
        noted = store.last_event("resident")
    conductor: dict[str, Any] | None = None
    silent: int | None = None
    try:
        conductor = request(paths.socket, "status", {}, timeout=_PATIENCE)
    except NotResponding:
        # The lock is the kernel's: its holder lives, whatever it does.
        silent = (StateLock(paths).holder() or {}).get("pid", 0)
    except NoConductor:
        pass  # said by `conductor`
    age = _age(noted.at) if noted else None
    return {
        "projects": projects,
        **counts,
        "resident": (conductor or {}).get("resident") or counts["resident"] or None,
        "resident_age_seconds": 0.0 if conductor else age,
        "conductor": conductor,
        "not_responding": silent,
        "disk_full": is_low(paths.root),
        "unsandboxed": load_settings().checks.unsandboxed,
        "given_up": conductor["given_up"] if conductor else {},
    }


def _age(stamp: str) -> float:
    moment = datetime.fromisoformat(stamp.replace("Z", "+00:00"))
    return round(max(0.0, (datetime.now(UTC) - moment).total_seconds()), 1)
