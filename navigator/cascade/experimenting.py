"""Experiments at swaps: draws the arm of each residency before its model is loaded, applies it, and ends when it is decided.

The draw is in the store before the swap begins, so a crash changes nothing: a residency that was drawn and did not begin is
the next one. An arm is a prompt, which the role is asked with while it is loaded, or a launch profile, which the swap strategy
starts its server with. After the end every residency gets the first arm again; nothing is adopted by itself.
"""

from __future__ import annotations

import logging
import secrets
from typing import TYPE_CHECKING, Any

from navigator.cascade.dependencies import Dependencies
from navigator.cascade.prompts.library import MAIN, PromptLibrary
from navigator.cascade.storage_faults import Storage
from navigator.config.settings import ExperimentSettings
from navigator.domain.errors import ConfigError, NavigatorError
from navigator.domain.experiment import Experiment, Residency
from navigator.domain.models import utc_now
from navigator.domain.states import Role
from navigator.evidence.experiment import compare, draw

if TYPE_CHECKING:
    from navigator.serving.swap.base import SwapStrategy

log = logging.getLogger(__name__)


def words_of(found: tuple[Experiment, Residency] | None) -> str:
    """The experiment and the arm that something was made in: "NAME: ARM"."""
    return "" if found is None else f"{found[0].name}: {found[1].arm}"


class Experimenting:
    """The experiment of one conductor's session. Without one in the settings nothing here does anything."""

    def __init__(self, deps: Dependencies, storage: Storage) -> None:
        self._deps = deps
        self._storage = storage
        self._running: Experiment | None = None
        self._held: Residency | None = None

    def report(self) -> dict[str, Any] | None:
        """What `status` tells: the experiment, how many residencies it has had, and the arm of the one that is loaded."""
        running = self._running
        if running is None:
            return None
        newest = self._deps.reader.newest_residency(running.id)
        return {
            "name": running.name,
            "what": running.what,
            "outcome": running.outcome,
            "arm": self._held.arm if self._held else "",
            "number": newest.number if newest else 0,
            "residencies": running.residencies,
        }

    def begin(self) -> None:
        """Take up the experiment of the settings, or begin it, and end one that they ask for no more.

        Raises:
            ConfigError: an arm does not exist, or cannot be used here.
        """
        wanted, reader = self._deps.settings.experiment, self._deps.reader
        if wanted.name:
            require_arms(wanted, self._deps.strategy, self._deps.prompts)
        found = reader.running_experiment()
        if found is not None and not _is(found, wanted):
            self._end(found, "changed")
            found = None
        if found is None and wanted.name and not self._is_over(wanted):
            found = self._new(wanted)
        self._running = found
        if found is None:
            return
        newest = reader.newest_residency(found.id)
        if newest is not None and not newest.ended and found.about == "profile":
            self._deps.strategy.use_profile(found.role, newest.arm)

    def found(self, role: Role | None, *, same: bool = True) -> None:
        """A model that this session did not load answers: the residency goes on, or another one begins.

        Args:
            same: it may be the residency that is noted as open; False after a swap by other hands.
        """
        running = self._running
        if running is None:
            return
        newest = self._deps.reader.newest_residency(running.id)
        opened = newest is not None and bool(newest.began) and not newest.ended
        if role is not running.role or (opened and not same):
            self._left()
            self._judge()
            opened = False
        if self._running is None or role is not running.role:
            return
        if opened:
            self._hold(newest)
        elif running.about == "prompt" or (newest is not None and not newest.began and same):
            self.before(role)
            self.loaded(role)
        # Else somebody launched the server: nobody knows with which profile, and the residency belongs to no arm.

    def before(self, role: Role) -> None:
        """A swap to `role` begins: draw, and have the strategy launch what was drawn."""
        running = self._running
        if running is None or role is not running.role:
            self._deps.strategy.use_profile(role, "")
            return
        newest = self._deps.reader.newest_residency(running.id)
        if newest is None or newest.ended:
            number = newest.number + 1 if newest else 1
            arm = running.arms[draw(running.seed, number, running.share)]
            with self._storage.writing("a residency's draw"), self._deps.store.transaction() as tx:
                tx.draw_residency(running, number, arm)
            newest = self._deps.reader.newest_residency(running.id)
            log.info("experiment %s: residency %d gets %s", running.name, number, arm)
        profile = newest.arm if running.about == "profile" and newest is not None else ""
        self._deps.strategy.use_profile(role, profile)

    def loaded(self, role: Role, length: float | None = None) -> None:
        """`role` answers after a swap: its residency begins, or that of the other role is over.

        Args:
            length: the accept length of the residency that is over.
        """
        running = self._running
        if running is None:
            return
        if role is not running.role:
            self._left(length)
            self._judge()
            return
        newest = self._deps.reader.newest_residency(running.id)
        if newest is None or newest.ended:
            return
        if not newest.began:
            with self._storage.writing("that a residency begins"), self._deps.store.transaction() as tx:
                tx.begin_residency(newest.id)
        self._hold(newest)

    async def accept_length(self, role: Role | None) -> float | None:
        """What speculation yields in the residency that is about to end, where its experiment compares that."""
        running = self._running
        if running is None or self._held is None or role is not running.role:
            return None
        if running.outcome != "accept-length":
            return None
        from navigator.cascade.canary import accept_length

        try:
            async with self._deps.lent_client(running.role) as client:
                return accept_length(await client.server_info())
        except NavigatorError as error:
            log.warning("the accept length is unknown: %s", error)
            return None

    async def close(self) -> None:
        """The session ends. A rehearsal's server ends with it; any other one stays, and with it the residency."""
        if self._held is not None and self._running is not None and self._deps.strategy.embedded:
            self._left(await self.accept_length(self._running.role))
            self._judge()

    def _hold(self, residency: Residency | None) -> None:
        running = self._running
        assert running is not None
        self._held = residency
        if residency is None:
            return
        deps = self._deps
        deps.drawn[running.role] = residency.id
        if running.about == "prompt":
            deps.arms[running.role] = deps.prompts.standing_in(
                MAIN[running.role.value], deps.prompts.get(residency.arm)
            )

    def _left(self, length: float | None = None) -> None:
        running = self._running
        assert running is not None
        self._held = None
        self._deps.drawn.pop(running.role, None)
        self._deps.arms.pop(running.role, None)
        newest = self._deps.reader.newest_residency(running.id)
        if newest is not None and newest.began and not newest.ended:
            with self._storage.writing("that a residency ended"), self._deps.store.transaction() as tx:
                tx.end_residency(newest.id, length)

    def _judge(self) -> None:
        running = self._running
        assert running is not None
        found = compare(running, self._deps.reader.residency_outcomes(running))
        if found.decided_at is not None:
            self._end(running, "decided")
        elif found.over:
            self._end(running, "undecided")

    def _end(self, experiment: Experiment, ending: str) -> None:
        log.info("experiment %s ends: %s", experiment.name, ending)
        with self._storage.writing("that an experiment ended"), self._deps.store.transaction() as tx:
            tx.end_experiment(experiment, ending)
        self._running = None

    def _new(self, wanted: ExperimentSettings) -> Experiment:
        made = Experiment(
            name=wanted.name,
            what=wanted.what,
            arms=wanted.arms,
            share=wanted.share,
            outcome=wanted.outcome,
            residencies=wanted.residencies,
            seed=f"rehearsal {self._deps.seed}" if self._deps.reader.rehearsal else secrets.token_hex(8),
            started=utc_now(),
        )
        with self._deps.store.transaction() as tx:
            return made.model_copy(update={"id": tx.add_experiment(made)})

    def _is_over(self, wanted: ExperimentSettings) -> bool:
        """Whether just this experiment was decided, or ended undecided: it does not begin again by itself."""
        return any(
            _is(one, wanted) and one.ending in ("decided", "undecided")
            for one in self._deps.reader.experiments()
        )


def require_arms(wanted: ExperimentSettings, strategy: SwapStrategy, prompts: PromptLibrary) -> None:
    """Check what the settings name as arms.

    Raises:
        ConfigError: an arm does not exist, or cannot be used here.
    """
    role, _, about = wanted.what.partition("-")
    if strategy.both_resident:
        raise ConfigError(
            f'[experiment] needs swaps, and strategy "{strategy.name}" keeps both models loaded.',
            hint='Set name = "" under [experiment].',
        )
    if about == "profile":
        strategy.check_profiles(wanted.arms)
        return
    fitting = ", ".join(prompt.name for prompt in prompts if prompts.replaces(prompt) == MAIN[role])
    for arm in wanted.arms:
        prompt = next((prompt for prompt in prompts if prompt.name == arm), None)
        if prompt is None or prompts.replaces(prompt) != MAIN[role]:
            why = "does not exist" if prompt is None else f"is not for {MAIN[role]!r}"
            raise ConfigError(
                f"[experiment] names the prompt {arm!r}, which {why}.",
                hint=f"Prompts for {MAIN[role]!r}: {fitting}. docs/experiments.md says how to write another one.",
            )
        prompts.check_one(prompt)


def _is(experiment: Experiment, wanted: ExperimentSettings) -> bool:
    fields = ("name", "what", "arms", "share", "outcome", "residencies")
    return all(getattr(experiment, name) == getattr(wanted, name) for name in fields)
