"""The screens' line to the conductor: finds it, starts it, asks it, listens to it, and comes back when it was lost."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from navigator.config.paths import StatePaths
from navigator.engine.wire import NoConductor
from navigator.model.errors import NavigatorError
from navigator.tui.deck_snapshot import LiveStatus, SwapProgress

# What speaks to a conductor or starts one is imported then: the first paint does not wait for it.
if TYPE_CHECKING:
    from navigator.engine.following import ConductorClient


_RETRY = 0.5
_ANSWERS_WITHIN = 5.0
_STATUS_PAUSE = 2.0
_RATE_SPAN = 3.0
"""Seconds over which a stream's speed is measured."""
_ENOUGH = 0.2
"""Seconds of a stream that say how fast it is."""
_SILENT = 15.0
"""Seconds after which a stream that says nothing is no longer shown."""
_SPOKEN, _ENDED = "navigator: ", "The conductor did not start: "
"""How the command line begins what it says, and what comes of a conductor that did not start."""
_SHORT_HINT = 120
"""Characters of a hint that a toast takes."""


class ConductorLink:
    """One connection to the conductor of a state folder, kept up while `keep` runs.

    Args:
        paths: the state folder.
        on_event: an event was committed (its JSON form); called on the event loop.
        on_live: what is shown live changed in kind (a swap began or ended, the conductor came or went).
        time_scale: the rehearsal's, given to a conductor started from here.
    """

    def __init__(
        self,
        paths: StatePaths,
        on_event: Callable[[dict[str, Any]], None],
        on_live: Callable[[], None],
        *,
        time_scale: float | None = None,
    ) -> None:
        self._paths = paths
        self._on_event = on_event
        self._on_live = on_live
        self._time_scale = time_scale
        self._client: ConductorClient | None = None
        self._lost = asyncio.Event()
        self._starting: asyncio.Task[None] | None = None
        self._conductor = "absent"
        self._problem = ""
        self._status: dict[str, Any] = {}
        self._heard: dict[str, deque[tuple[float, int]]] = {}
        self._swap: SwapProgress | None = None

    @property
    def here(self) -> bool:
        """Whether a conductor answers."""
        return self._client is not None and self._client.connected

    @property
    def live(self) -> LiveStatus:
        """What is known now, as an immutable picture."""
        now = time.monotonic()
        heard = [moments for moments in self._heard.values() if now - moments[-1][0] < _SILENT]
        return LiveStatus(
            conductor=self._conductor,
            problem=self._problem,
            streams=len(heard),
            chars_per_second=sum(map(_speed, heard)),
            swap=self._swap,
            status=self._status,
        )

    async def keep(self) -> None:
        """Stay connected until cancelled."""
        try:
            while True:
                await self._connect_once()
                await asyncio.sleep(_RETRY)
        finally:
            if self._client is not None:
                await self._client.close()

    async def request(self, op: str, args: dict[str, Any] | None = None) -> dict[str, Any]:
        """Have one thing done: by the conductor, or here under the state folder's lock where none lives.

        Raises:
            NavigatorError: what the operation refuses.
        """
        if self._client is not None and self._client.connected:
            return await self._client.request(op, args or {})
        if op in ("conduct", "status"):
            raise NoConductor("No conductor is running.", hint="ctrl+n starts one.")
        from navigator.engine.alone import act_alone

        return await asyncio.to_thread(act_alone, self._paths, op, args or {})

    async def start(self) -> bool:
        """Start a conductor as a process that outlives this one; says whether one answers within a few seconds.

        Raises:
            NavigatorError: it ended at once; the message is its own.
        """
        if self.here:
            return True
        if self._starting is None or self._starting.done():
            self._starting = asyncio.create_task(self._start())
        await asyncio.shield(self._starting)
        deadline = time.monotonic() + _ANSWERS_WITHIN
        while not self.here and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        return self.here

    async def _start(self) -> None:
        from navigator.process.runner import start

        self._say("starting")
        scale = self._time_scale
        flags = [] if scale is None else ["--time-scale", str(scale)]
        env = os.environ | {"NAVIGATOR_STATE": str(self._paths.root)}
        with tempfile.TemporaryFile() as errors:
            try:
                words = [sys.executable, "-m", "navigator", "run", "--detach", *flags]
                code = await start(words, stderr=errors, env=env).ended()
            except OSError as error:
                self._say("absent", f"The conductor cannot be started: {error.strerror}.")
                raise NavigatorError(self._problem) from error
            if code == 0:
                return  # `keep` finds its socket
            errors.seek(0)
            lines = errors.read().decode("utf-8", "replace").strip().splitlines()
        said_last = lines[-1] if lines else f"The conductor ended with exit code {code}."
        if self.here:
            return  # somebody else started one at the same moment
        problem, _, hint = said_last.rpartition(_SPOKEN)[2].removeprefix(_ENDED).partition(". ")
        problem = f"{problem.removesuffix('.')}."
        self._say("absent", problem)
        raise NavigatorError(
            problem, hint=hint if len(hint) <= _SHORT_HINT else "`navigator doctor` says how."
        )

    async def _connect_once(self) -> None:
        from navigator.engine.following import ConductorClient

        self._lost.clear()
        client = ConductorClient(self._paths.socket, self._message, self._lost.set)
        try:
            await client.connect()
            self._status = await client.request("status")
        except NavigatorError:
            await client.close()
            return
        self._client = client
        self._say("here")
        while not self._lost.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._lost.wait(), _STATUS_PAUSE)
                break
            with suppress(NavigatorError):
                self._set_status(await client.request("status"))
        await client.close()
        self._client = None
        self._status, self._swap = {}, None
        self._heard.clear()
        self._say("absent")

    def _set_status(self, status: dict[str, Any]) -> None:
        if status == self._status:
            return
        self._status = status
        if not status.get("swapping_to"):
            self._swap = None
        self._on_live()

    def _say(self, conductor: str, problem: str = "") -> None:
        if (conductor, problem) == (self._conductor, self._problem):
            return
        self._conductor, self._problem = conductor, problem
        self._on_live()

    # What it says

    def _message(self, document: dict[str, Any]) -> None:
        event, live = document.get("event"), document.get("live")
        if isinstance(event, dict):
            self._note_event(event)
            self._on_event(event)
        elif isinstance(live, dict):
            swap = live.get("swap")
            if isinstance(swap, dict):
                self._note_swap(swap)
            elif isinstance(live.get("task"), str) and "chars" in live:  # the checks of a task are no stream
                self._note_task(live)

    def _note_event(self, event: dict[str, Any]) -> None:
        kind, data = event.get("kind"), event.get("data") or {}
        if kind in ("call_ended", "call_judged", "task_state"):
            self._heard.pop(str(event.get("task_id", "")), None)
        elif kind == "swap_added":
            self._swap = None
            self._on_live()
        elif kind == "resident":
            role = data.get("role")
            self._status = self._status | {"resident": role or None, "swapping_to": None}
            self._swap = None
            self._on_live()

    def _note_swap(self, said: dict[str, Any]) -> None:
        now = time.monotonic()
        phase, state = str(said.get("phase", "")), str(said.get("state", ""))
        swap = self._swap
        if phase == "begin" or swap is None or swap.to != said.get("to"):
            swap = SwapProgress(str(said.get("from") or ""), str(said.get("to") or ""), now)
        if state == "begin":
            swap = replace(swap, phase=phase, phase_begun=now)
        elif state in ("done", "fail"):
            swap = replace(swap, done=(*swap.done, (phase, float(said.get("seconds") or 0.0))))
        self._swap = swap
        self._heard.clear()
        self._on_live()

    def _note_task(self, said: dict[str, Any]) -> None:
        task, chars, now = str(said["task"]), int(said.get("chars") or 0), time.monotonic()
        moments = self._heard.setdefault(task, deque())
        if moments and chars < moments[-1][1]:
            moments.clear()
        moments.append((now, chars))
        while now - moments[0][0] > _RATE_SPAN:
            moments.popleft()


def _speed(moments: deque[tuple[float, int]]) -> float:
    """Characters a second of a stream; 0 before there is enough of it."""
    (began, first), (ended, last) = moments[0], moments[-1]
    return (last - first) / (ended - began) if ended - began > _ENOUGH else 0.0
