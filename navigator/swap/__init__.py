"""Ways of giving the GPU to a role: one file each in `strategies/`, found by the strategy's name in the settings."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast, get_args

from navigator.model.errors import MissingPart, NavigatorError
from navigator.model.states import Role

if TYPE_CHECKING:
    from navigator.config.paths import StatePaths
    from navigator.config.settings import Settings
    from navigator.swap.base import SwapStrategy
    from navigator.swap.failures import InFlight
    from navigator.swap.status import ServerLook


def strategy_names() -> tuple[str, ...]:
    """Every strategy, by its name in the settings."""
    from navigator.config.settings import SwapStrategyName

    return get_args(SwapStrategyName)


def strategy_class(name: str) -> type[SwapStrategy]:
    """The class of one of `strategy_names`."""
    module = importlib.import_module(f"navigator.swap.strategies.{name}")
    return cast("type[SwapStrategy]", module.STRATEGY)


def make_strategy(
    settings: Settings,
    paths: StatePaths,
    *,
    in_flight: InFlight = tuple,
    time_scale: float = 1.0,
) -> SwapStrategy:
    """The strategy that `[swap] strategy` names; the arguments are `base.Setup`'s.

    Raises:
        MissingPart: none is named, or it needs a program that is not installed. ConfigError: the settings do not fit it.
    """
    from navigator.swap.base import Setup

    if settings.swap.strategy is None:
        finds = "`navigator setup` finds your model servers and writes them."
        if settings.source is None:
            raise MissingPart("There are no settings yet.", hint=finds)
        raise MissingPart(
            f"{settings.source} sets no swap strategy, so Navigator does not know how to change models.",
            hint=f"{finds} Or set strategy under [swap] to one of {', '.join(strategy_names())} (docs/strategies.md).",
        )
    setup = Setup(settings, paths, in_flight, time_scale)
    return strategy_class(settings.swap.strategy).create(setup)


def look_at_servers(settings: Settings, paths: StatePaths) -> tuple[ServerLook, ...]:
    """Ask each configured server what it serves and how busy it is. Blocks, and needs its own event loop."""
    return asyncio.run(looks(settings, paths))


async def looks(settings: Settings, paths: StatePaths) -> tuple[ServerLook, ...]:
    """As `look_at_servers`, from a running event loop."""
    from navigator.swap.status import ServerLook, failed_look, look_at

    strategy = None
    if settings.swap.strategy is not None:
        try:
            strategy = make_strategy(settings, paths)
        except NavigatorError:
            strategy = None  # the servers can be asked all the same; `doctor` says what the strategy lacks

    async def one(role: Role) -> ServerLook:
        if strategy is None or role is Role.FINAL:
            return await look_at(role, settings.server(role))
        try:
            return await strategy.look_at(role)
        except NavigatorError as error:
            server = settings.server(role)
            return failed_look(ServerLook(role, server.model, server.base_url, "silent"), error)

    roles = [Role.GENERATOR, Role.REVIEWER, *([Role.FINAL] if settings.final.enabled else [])]
    found = await asyncio.gather(*map(one, roles))
    if strategy is None or not strategy.restarts_servers:
        return tuple(found)
    return tuple(_not_its_turn(look, found) for look in found)


def _not_its_turn(look: ServerLook, looks: Sequence[ServerLook]) -> ServerLook:
    """A server that serves the other role's model, or is ended while the other one is up, is as it should be."""
    from navigator.client.body import same_model

    others = [
        one for one in looks if one.role in (Role.GENERATOR, Role.REVIEWER) and one.role is not look.role
    ]
    if look.role is Role.FINAL or not any(one.state == "ready" for one in others):
        return look
    serves_other = look.state == "other" and any(
        same_model(one.wanted, name) for one in others for name in look.served.split(", ")
    )
    if serves_other or (look.state == "silent" and look.down):
        return replace(look, state="not loaded", problem="", remedy="")
    return look
