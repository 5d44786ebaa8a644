"""Measures what the GPU draws while the conductor runs, by what it is doing."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from navigator.cascade.dependencies import Dependencies
from navigator.cascade.storage_faults import Storage
from navigator.domain.costs import EnergySpan, Phase
from navigator.domain.models import utc_now
from navigator.serving.energy import NoReading, read_watts

log = logging.getLogger(__name__)

KEPT_EVERY = 300.0
"""Seconds after which what was measured is stored, so that a crash loses no more."""

_LONGEST_PAUSE = 300.0
"""Seconds between two tries at most while the command fails."""

_GAP = 3.0
"""Intervals without a reading after which nothing is known of the time between."""


@dataclass
class _Span:
    started: str
    seconds: float = 0.0
    missed: float = 0.0
    joules: float = 0.0
    samples: int = 0


class EnergyMeter:
    """Reads the energy command every few seconds and adds up energy by phase.

    Between two readings the power is taken as their mean, for the phase in which the first one was read. A stretch without
    a reading counts as missed, never as zero.

    Args:
        doing: what the GPU is doing now, and which role is resident ("" for none).
    """

    def __init__(self, deps: Dependencies, storage: Storage, doing: Callable[[], tuple[Phase, str]]) -> None:
        self._deps = deps
        self._storage = storage
        self._doing = doing
        self._settings = deps.settings.energy
        self._spans: dict[tuple[Phase, str], _Span] = {}
        self._last = time.monotonic()
        self._kept = self._last
        self._watts: float | None = None
        self._phase = doing()
        self._problem = ""
        self._failures = 0

    async def run(self) -> None:
        """For as long as the conductor lives; what was not stored yet is stored at the end."""
        try:
            while True:
                began = time.monotonic()
                watts = await self._read()
                self._add(watts)
                if time.monotonic() - self._kept >= KEPT_EVERY:
                    self.keep()
                took = time.monotonic() - began
                await asyncio.sleep(max(0.0, self._pause() - took))
        finally:
            self.keep()

    def _pause(self) -> float:
        every = self._settings.interval_seconds
        return min(_LONGEST_PAUSE, every * 2**self._failures) if self._failures else every

    async def _read(self) -> float | None:
        try:
            watts = await read_watts(self._settings.command)
        except NoReading as error:
            self._failures = min(self._failures + 1, 16)
            if error.message != self._problem:
                self._problem = error.message
                log.warning("energy is not measured: %s %s", error.message, error.hint)
            return None
        if self._problem:
            log.info("energy is measured again")
        self._failures, self._problem = 0, ""
        return watts

    def _add(self, watts: float | None) -> None:
        """Count the time since the reading before."""
        now = time.monotonic()
        passed, before, phase = now - self._last, self._watts, self._phase
        self._last, self._watts, self._phase = now, watts, self._doing()
        span = self._spans.setdefault(phase, _Span(utc_now()))
        gap = passed > _GAP * self._settings.interval_seconds + 1.0
        if watts is None or before is None or gap:
            span.missed += passed
        else:
            span.seconds += passed
            span.joules += (before + watts) / 2 * passed
        span.samples += watts is not None

    def keep(self) -> None:
        """Store what was measured since the last time."""
        spans, self._spans, self._kept = self._spans, {}, time.monotonic()
        if not spans:
            return
        at = utc_now()
        with self._storage.writing("what the GPU drew"), self._deps.store.transaction() as tx:
            for (phase, resident), span in spans.items():
                tx.add_energy(
                    EnergySpan(
                        phase=phase,
                        resident=resident,
                        started=span.started,
                        ended=at,
                        seconds=round(span.seconds, 3),
                        missed=round(span.missed, 3),
                        watt_hours=span.joules / 3600,
                        samples=span.samples,
                    )
                )
