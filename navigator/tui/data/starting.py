"""Starting a conductor: only when the developer asked for work, or says so."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from textual.app import App
from textual.notifications import SeverityLevel

from navigator.config.settings import Settings
from navigator.domain.errors import NavigatorError
from navigator.tui.data.conductor_link import ConductorLink

_LOOKS = 100
"""Looks for the new conductor's socket, a twentieth of a second apart."""


class StartsConductor(App[None], inherit_bindings=False):
    """The part of the app that starts a conductor. Opening the screens alone moves no model."""

    settings: Settings
    link: ConductorLink

    def toast(self, message: str, severity: SeverityLevel = "information") -> None:
        """Say something for a few seconds; the app itself knows how."""
        raise AssertionError("the app that this is a part of says it")

    def want_work(self) -> None:
        """The developer asked for work: have a conductor do it, where there is a way to swap."""
        if self.settings.swap.strategy is not None:
            self.run_worker(self._start_quietly(), group="start", exclusive=True)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A conductor is started only where none works."""
        if action == "start_conductor":
            return not self.link.here
        return super().check_action(action, parameters)

    async def action_start_conductor(self) -> None:
        """Start a conductor, and say what hinders it."""
        self.run_worker(self._start_aloud(), group="start", exclusive=True)

    async def _start_aloud(self) -> None:
        await self.started()

    async def started(self) -> bool:
        """Start a conductor unless one works; whether one answers within a few seconds. What hinders it is said."""
        try:
            await self.link.start()
        except NavigatorError as error:
            self.toast(str(error), "error")
            return False
        for _ in range(_LOOKS):
            if self.link.here:
                return True
            await asyncio.sleep(0.05)
        return self.link.here

    async def _start_quietly(self) -> None:
        """Start a conductor unless one is found soon."""
        await asyncio.sleep(0.3)
        if self.link.here:
            return
        with suppress(NavigatorError):  # the strip says why; asking again is up to the developer
            await self.link.start()
