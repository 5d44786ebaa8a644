"""What a monitoring system reads of a conductor: Prometheus text, by the library prometheus-client of the extra `metrics`.

Labels are roles, verdicts and outcomes: no project, path, model or word of a task is among them. Counters are what the store
holds, so a restart loses nothing.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cached_property
from typing import TYPE_CHECKING, Any

from navigator.config.paths import StatePaths
from navigator.config.settings import MetricsSettings
from navigator.figures.page import counters
from navigator.model.errors import MissingPart, NavigatorError
from navigator.model.snapshot import SchedulerSnapshot
from navigator.model.states import Role
from navigator.store.database import open_reader
from navigator.store.reads.reader import Reader

if TYPE_CHECKING:
    from wsgiref.simple_server import WSGIServer

log = logging.getLogger(__name__)


class MetricsServer:
    """Serves `/metrics` in a thread of its own, from `start` to `close`.

    Args:
        looked_at: what the scheduler saw last.
    """

    def __init__(
        self,
        settings: MetricsSettings,
        paths: StatePaths,
        looked_at: Callable[[], SchedulerSnapshot],
    ) -> None:
        self._settings = settings
        self._paths = paths
        self._looked_at = looked_at
        self._running: tuple[WSGIServer, threading.Thread] | None = None

    def start(self) -> None:
        """Listen at the address of the settings.

        Raises:
            MissingPart: the library is not installed, or the address cannot be used.
        """
        try:
            from prometheus_client import CollectorRegistry, start_http_server
        except ImportError:
            raise MissingPart(
                "Metrics need the library prometheus-client.",
                hint="pip install 'navigator-cascade[metrics]', or empty listen under [metrics].",
            ) from None
        host, port = self._settings.address
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        try:
            self._running = start_http_server(port, addr=host, registry=registry)
        except OSError as error:
            raise MissingPart(
                f"Metrics cannot be served at {self._settings.listen}: {error.strerror}.",
                hint="Choose another address for listen under [metrics].",
            ) from error
        log.info("metrics at http://%s/metrics", self._settings.listen)

    def close(self) -> None:
        """Listen no more."""
        if self._running is not None:
            server, thread = self._running
            server.shutdown()
            server.server_close()
            thread.join()
            self._running = None

    @cached_property
    def _rehearsal(self) -> str:
        """Whether everything is simulated, as a label's value."""
        connection = open_reader(self._paths.database)
        try:
            return str(Reader(connection).rehearsal).lower()
        finally:
            connection.close()

    def describe(self) -> list[Any]:
        """Nothing: the names are known when they are asked for."""
        return []

    def collect(self) -> Iterator[Any]:
        """Every metric. Called in a thread of the server."""
        from prometheus_client.core import GaugeMetricFamily

        seen, now = self._looked_at(), time.monotonic()
        waiting = {role: [task for task in seen.tasks if task.standing.role is role] for role in Role}
        idle = {role: [task for task in tasks if task.id not in seen.busy] for role, tasks in waiting.items()}
        oldest = {role: min((task.since for task in tasks), default=now) for role, tasks in idle.items()}
        held = set(seen.capacity) - {Role.FINAL} if seen.both_resident else {seen.resident}
        gauges: dict[str, tuple[str, Callable[[Role], float]]] = {
            "queue_depth": ("Tasks that wait for the role.", lambda role: len(idle[role])),
            "queue_oldest_seconds": (
                "Seconds since the oldest of them began to wait; 0 without one.",
                lambda role: max(0.0, now - oldest[role]),
            ),
            "running": ("Tasks that the role works on.", lambda role: len(waiting[role]) - len(idle[role])),
            "resident": ("1 while the role's model is loaded.", lambda role: int(role in held)),
        }
        for name, (about, value) in gauges.items():
            family = GaugeMetricFamily(f"navigator_{name}", about, labels=("role", "rehearsal"))
            for role in Role:
                family.add_metric((role.value, self._rehearsal), float(value(role)))
            yield family
        try:
            yield from self._counters()
        except (NavigatorError, sqlite3.Error) as error:
            # Without counters a scrape still tells what waits; those that scale by it need that most of all.
            log.warning("metrics without counters: %s", error)

    def _counters(self) -> list[Any]:
        from prometheus_client.core import CounterMetricFamily

        families = []
        with closing(open_reader(self._paths.database)) as connection:
            counted = list(counters(Reader(connection)))
        for name, about, labels, counts in counted:
            family = CounterMetricFamily(f"navigator_{name}", about, labels=(*labels, "rehearsal"))
            for values, count in counts:
                family.add_metric((*values, self._rehearsal), count)
            families.append(family)
        return families
