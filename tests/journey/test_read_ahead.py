"""What the conductor does about the page cache: read ahead while a role is resident, and keep how warm a swap began."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from navigator.cli.session import locked_dependencies
from navigator.config.paths import StatePaths
from navigator.config.settings import load_settings
from navigator.engine.conductor_state import ConductorState
from navigator.engine.residency import Batches, Residency
from navigator.engine.summary import SessionSummary
from navigator.engine.swapping import WeightReadAhead
from navigator.journey.recovery import Storage
from navigator.model.states import Role
from navigator.swap import page_cache, read_ahead, strategy_class
from navigator.swap.base import PhaseLog, SwapStrategy
from navigator.swap.page_cache import MIB
from navigator.swap.read_ahead import ReadLimits
from tests.client.test_read_ahead import cold

SIZE = 16 * MIB


class Switch(SwapStrategy):
    """A strategy that swaps at once."""

    name = "command"
    about = "a switch"

    def __init__(self, name: str = "command") -> None:
        super().__init__(load_settings())
        self.reads_weights = strategy_class(name).reads_weights  # type: ignore[misc]
        self.holds: Role | None = Role.GENERATOR

    async def resident(self) -> Role | None:
        return self.holds

    async def _change(self, to: Role, previous: Role | None, log: PhaseLog, detail: str) -> None:
        self.holds = to


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The reviewer's two weight files, cold, and settings that name their folder."""
    folder = tmp_path / "reviewer"
    folder.mkdir()
    files = cold([folder / f"model-{number}.safetensors" for number in (1, 2)], SIZE)
    config = tmp_path / "config.toml"
    config.write_text(f'[reviewer]\nmodel = "{folder}"\n[swap]\nstrategy = "resident"\n')
    monkeypatch.setattr(read_ahead, "ReadLimits", lambda: ReadLimits(0, 0))
    monkeypatch.setenv("NAVIGATOR_CONFIG", str(config))
    return files


def about(size: int) -> object:
    """What is in the page cache after `size` bytes were read: the kernel may take pages back at any moment."""
    return pytest.approx(size, rel=0.1)


async def test_a_resident_generator_warms_the_reviewer(weights: list[Path]) -> None:
    warmth = WeightReadAhead(load_settings(), Switch())
    await warmth.rest(Role.GENERATOR)
    assert warmth._ahead is not None
    await warmth._ahead.wait()
    assert await warmth.measured(await warmth.before(Role.REVIEWER)) == (2 * SIZE, about(2 * SIZE))
    await warmth.close()


async def test_a_swap_stops_the_reading(weights: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_ahead, "ReadLimits", lambda: ReadLimits(MIB, 0))
    warmth = WeightReadAhead(load_settings(), Switch())
    await warmth.rest(Role.GENERATOR)
    measuring = await warmth.before(Role.REVIEWER)
    assert warmth._ahead is not None and (report := warmth._ahead.report()) is not None
    assert report.ended == "stopped"
    total, warm = await warmth.measured(measuring)
    assert total == 2 * SIZE and warm < total


async def test_strategies_that_read_no_files_are_left_alone(weights: list[Path]) -> None:
    warmth = WeightReadAhead(load_settings(), Switch("resident"))
    await warmth.rest(Role.GENERATOR)
    assert await warmth.before(Role.REVIEWER) is None
    assert await warmth.measured(None) == (0, 0)
    assert page_cache.residency(weights).resident == 0


def test_a_swap_is_kept_with_how_warm_it_began(weights: list[Path], tmp_path: Path) -> None:
    weights[0].read_bytes()
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    with locked_dependencies(StatePaths(state).ensure()) as world:
        world.servers.__dict__["strategy"] = Switch()

        async def swap() -> None:
            storage, summary = Storage(world, lambda reason: None), SessionSummary(world)
            hand = Residency(world, ConductorState(), summary, storage, Batches(world), lambda: None)
            await hand.swap(Role.REVIEWER)
            await hand.warmth.close()

        asyncio.run(swap())
        made = world.reader.swaps(1)[0]
    assert (made.weight_bytes, made.warm_bytes) == (2 * SIZE, about(SIZE))
