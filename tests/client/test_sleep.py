"""Strategy `sleep` against servers that die where real ones would: nothing is resumed, released or asked that may not be."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as bounds
from hypothesis import strategies as st

from navigator.client.errors import Aborted
from navigator.config.settings import ServerSettings, Settings
from navigator.model.errors import ConfigError
from navigator.model.states import Role
from navigator.swap import base, sleepers
from navigator.swap.sleepers import Ledger, Note, SglangSleeper
from navigator.swap.strategies import sleep
from navigator.swap.strategies.sleep import SleepStrategy
from tests.client.machines import Gpu, Machine, Sglang, Vllm, ended, quiet, running, streaming, two_roles

WRITER, READER = "org/writer-35B", "org/reader-122B"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "DRAIN_SECONDS", 0.3)
    for module in (sleepers, sleep):
        monkeypatch.setattr(module, "RELEASE_SECONDS", 2.0)
        monkeypatch.setattr(module, "WAKE_SECONDS", 2.0)


def settings(writer: Machine, reader: Machine) -> Settings:
    return two_roles((WRITER, writer.url), (READER, reader.url), strategy="sleep")


def strategy(folder: Path, writer: Machine, reader: Machine) -> SleepStrategy:
    return SleepStrategy(settings(writer, reader), folder / "sleep.json")


@pytest.fixture
def gpu() -> Gpu:
    return Gpu(total=100)


def pair(gpu: Gpu, **options: Any) -> tuple[Sglang, Sglang]:
    """As a machine is set up: the writer was started, then released by hand's script, then the reader was started."""
    return Sglang(gpu, WRITER, 30, **options), Sglang(gpu, READER, 80, asleep=True, **options)


async def asleep(folder: Path, machine: Sglang, role: Role, mib: int = 0) -> None:
    """Navigator itself had put it to sleep in an earlier session."""
    ledger = Ledger(folder / "sleep.json")
    sleeper = SglangSleeper(role, ServerSettings(model="m", base_url=machine.url), ledger)
    try:
        ledger.write(role, Note("released", machine.url, await sleeper._mark(), mib))
    finally:
        await sleeper.aclose()


@asynccontextmanager
async def rested(
    folder: Path, gpu: Gpu, **options: Any
) -> AsyncIterator[tuple[Sglang, Sglang, SleepStrategy]]:
    """Both run, the reader asleep by Navigator's own hand: they, and a strategy."""
    writer, reader = pair(gpu, **options)
    async with running(writer, reader):
        await asleep(folder, reader, Role.REVIEWER)
        yield writer, reader, strategy(folder, writer, reader)


def untouched(*machines: Machine) -> bool:
    """Whether they were only looked at."""
    return not any(line.startswith("POST") for machine in machines for line in machine.log)


@pytest.mark.parametrize("version", ["0.5.23", "0.5.9"])
async def test_there_and_back(tmp_path: Path, gpu: Gpu, version: str) -> None:
    async with rested(tmp_path, gpu, version=version) as (writer, reader, swaps):
        assert await swaps.resident() is Role.GENERATOR
        there = await swaps.swap(Role.REVIEWER, quiet)
        assert ended(there) == ("done", ["drain", "release", "load", "health", "verify"])
        swaps = strategy(tmp_path, writer, reader)  # another conductor knows it from the ledger
        assert await swaps.resident() is Role.REVIEWER
        assert gpu.held == {READER: 80}
        back = await swaps.swap(Role.GENERATOR, quiet)
        assert (back.outcome, gpu.held) == ("done", {WRITER: 30})
        again = await swaps.swap(Role.GENERATOR, quiet)
        assert ended(again) == ("done", ["health", "verify"])
        assert (writer.death, reader.death) == ("", "")


async def test_a_look_costs_no_token_and_no_life(tmp_path: Path, gpu: Gpu) -> None:
    async with rested(tmp_path, gpu) as (writer, reader, swaps):
        for believed in (Role.GENERATOR, Role.REVIEWER, None) * 5:
            assert (await swaps.look(believed)).resident is Role.GENERATOR
        # The one that works is asked for no token, either.
        assert untouched(writer) and not any("/health" in line for line in writer.log)
        assert await swaps.resident() is Role.GENERATOR
        assert "GET /health" not in reader.log
        assert not reader.death
        writer.die("killed")
        seen = await swaps.look(Role.GENERATOR)
        assert (seen.resident, seen.dead, seen.failure) == (None, True, "crashed")


async def test_a_server_that_was_restarted_is_awake_and_never_resumed(tmp_path: Path, gpu: Gpu) -> None:
    # Without /ready only its mark tells.
    async with rested(tmp_path, gpu, version="0.5.9") as (writer, _, swaps):
        await swaps.swap(Role.REVIEWER, quiet)
        gpu.held.clear()
        await writer.restart()  # while Navigator believes that it sleeps
        gpu.held.pop(READER, None)
        done = await swaps.swap(Role.GENERATOR, quiet)
        assert done.outcome == "done"
        assert "POST /resume_memory_occupation" not in writer.log
        assert not writer.death


@pytest.mark.parametrize("step", ["releasing", "waking"])
async def test_cut_off_in_mid_step_nothing_is_guessed(tmp_path: Path, gpu: Gpu, step: Any) -> None:
    async with rested(tmp_path, gpu) as (writer, reader, swaps):
        ledger = Ledger(tmp_path / "sleep.json")
        note = ledger.read(Role.REVIEWER)
        ledger.write(Role.REVIEWER, Note(step, note.url, note.mark))
        result = await swaps.swap(Role.REVIEWER, quiet)
        assert (result.outcome, result.failure) == ("went_back", "unsure")
        assert "Restart that server" in result.reason
        assert untouched(reader, writer)
        assert await swaps.resident() is Role.GENERATOR
        # What is asked for is done, and it goes on.
        gpu.held.clear()
        await reader.restart()
        gpu.held = {READER: 80}
        assert (await swaps.swap(Role.REVIEWER, quiet)).outcome == "done"


async def test_paused_and_not_released_is_only_continued(tmp_path: Path, gpu: Gpu) -> None:
    async with rested(tmp_path, gpu) as (writer, _, swaps):
        writer.refusing["/release_memory_occupation"] = 500
        result = await swaps.swap(Role.REVIEWER, quiet)
        # The answer was an error: whether it released cannot be told, and nothing more is asked of it.
        assert (result.outcome, result.failure) == ("failed", "refused")
        assert "Restart that server" in result.reason
        ledger = Ledger(tmp_path / "sleep.json")
        ledger.write(Role.GENERATOR, Note("pausing", writer.url, ledger.read(Role.GENERATOR).mark))
        assert (await swaps.swap(Role.GENERATOR, quiet)).outcome == "done"
        assert "POST /resume_memory_occupation" not in writer.log
        assert not writer.paused


async def test_a_stream_that_outlasts_the_drain_survives_the_sleep(tmp_path: Path, gpu: Gpu) -> None:
    """Somebody else's request: retracted, kept with its connection open, and finished after the way back."""
    async with rested(tmp_path, gpu) as (writer, reader, swaps):
        async with streaming(writer, settings(writer, reader).generator) as stream:
            assert (await swaps.swap(Role.REVIEWER, quiet)).outcome == "done"
            writer.hold.set()
            await asyncio.sleep(0.05)
            assert not stream.done()
            assert (await swaps.swap(Role.GENERATOR, quiet)).outcome == "done"
            assert (await stream).text
        assert not writer.death


async def test_our_own_requests_are_aborted_by_id_when_the_drain_is_over(tmp_path: Path, gpu: Gpu) -> None:
    async with rested(tmp_path, gpu) as (writer, reader, _):
        chosen = settings(writer, reader)
        async with streaming(writer, settings(writer, reader).generator) as stream:
            swaps = SleepStrategy(chosen, tmp_path / "sleep.json", in_flight=lambda: list(writer.running))
            assert (await swaps.swap(Role.REVIEWER, quiet)).outcome == "done"
            with pytest.raises(Aborted):
                await stream
        assert len(writer.aborted) >= 1
        assert not writer.death


async def test_a_target_that_does_not_run_is_said_before_anything_is_taken(tmp_path: Path, gpu: Gpu) -> None:
    writer, reader = pair(gpu)
    async with running(writer):
        reader.url = "http://127.0.0.1:9"
        result = await strategy(tmp_path, writer, reader).swap(Role.REVIEWER, quiet)
        assert (result.outcome, result.failure) == ("went_back", "unreachable")
        assert untouched(writer)


async def test_a_target_that_does_not_fit_dies_and_the_one_before_comes_back(
    tmp_path: Path, gpu: Gpu
) -> None:
    async with rested(tmp_path, gpu) as (_, reader, swaps):
        reader.size = 120
        result = await swaps.swap(Role.REVIEWER, quiet)
        assert (result.outcome, result.failure) == ("went_back", "crashed")
        assert ended(result)[1][-3:] == ["load", "health", "verify"]
        assert await swaps.resident() is Role.GENERATOR
        assert "out of memory" in reader.death


async def test_memory_that_comes_free_late_is_waited_for_and_a_swap_without_it_taken_back(
    tmp_path: Path, gpu: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The release has answered and the memory is still held: waking the other one then would end it."""
    writer, reader = pair(gpu, lag=0.3)
    reader.lag = 0.0
    _nvidia_smi(tmp_path, gpu, monkeypatch)
    async with running(writer, reader):
        await asleep(tmp_path, reader, Role.REVIEWER, 80)
        swaps = strategy(tmp_path, writer, reader)
        assert (await swaps.swap(Role.REVIEWER, quiet)).outcome == "done"
        assert not reader.death
        # What it took is kept, so that the next swap waits for it without being told.
        assert Ledger(tmp_path / "sleep.json").read(Role.REVIEWER).mib == 80
        assert (await swaps.swap(Role.GENERATOR, quiet)).outcome == "done"
        gpu.held["a game"] = 50
        monkeypatch.setattr(sleep, "RELEASE_SECONDS", 0.5)
        woken = reader.log.count("POST /resume_memory_occupation")
        result = await swaps.swap(Role.REVIEWER, quiet)
        assert (result.outcome, result.failure) == ("went_back", "no_memory")
        assert not reader.death
        assert reader.log.count("POST /resume_memory_occupation") == woken
        assert await swaps.resident() is Role.GENERATOR


class _Told(dict[str, int]):
    """What the pretended GPU holds, written down for nvidia-smi at each change."""

    def __init__(self, folder: Path, gpu: Gpu) -> None:
        super().__init__(gpu.held)
        self.folder, self.gpu = folder, gpu
        self.tell()

    def tell(self) -> None:
        beside = self.folder / "gpu.new"
        beside.write_text(f"Pretended, {self.gpu.total}, {sum(self.values())}, 1\n")
        beside.rename(self.folder / "gpu")

    def __setitem__(self, name: str, mib: int) -> None:
        super().__setitem__(name, mib)
        self.tell()

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        self.tell()

    def pop(self, *name: Any) -> Any:
        mib = super().pop(*name)
        self.tell()
        return mib


def _nvidia_smi(folder: Path, gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of that name which says what the pretended GPU holds."""
    program = folder / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\ncat "{folder}/gpu"\n')
    program.chmod(0o755)
    gpu.held = _Told(folder, gpu)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


async def test_vllm_says_itself_whether_it_sleeps(tmp_path: Path, gpu: Gpu) -> None:
    writer, reader = Vllm(gpu, WRITER, 30), Vllm(gpu, READER, 80, asleep=True)
    async with running(writer, reader):
        swaps = strategy(tmp_path, writer, reader)
        assert await swaps.resident() is Role.GENERATOR
        assert (await swaps.swap(Role.REVIEWER, quiet)).outcome == "done"
        assert (await swaps.swap(Role.GENERATOR, quiet)).outcome == "done"
        assert gpu.held == {WRITER: 30}
        assert not (tmp_path / "sleep.json").exists()
        # Put to sleep by other hands, and the other one woken: both are seen.
        writer.asleep, reader.asleep = True, False
        assert (await swaps.look(Role.GENERATOR)).resident is Role.REVIEWER


async def test_vllm_is_drained_before_it_sleeps_and_has_to_be_able_to(
    tmp_path: Path, gpu: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = Vllm(gpu, WRITER, 30, mode=False), Vllm(gpu, READER, 30, mode=False)
    async with running(*without):
        result = await strategy(tmp_path, *without).swap(Role.REVIEWER, quiet)
    assert result.outcome == "failed"
    assert "--enable-sleep-mode" in result.reason
    gpu.held.clear()
    writer, reader = Vllm(gpu, WRITER, 30), Vllm(gpu, READER, 80, asleep=True)
    async with running(writer, reader), streaming(writer, settings(writer, reader).generator) as stream:
        monkeypatch.setattr(base, "DRAIN_SECONDS", 30)
        swap = asyncio.create_task(strategy(tmp_path, writer, reader).swap(Role.REVIEWER, quiet))
        await asyncio.sleep(0.1)
        assert "POST /sleep?level=1" not in writer.log
        writer.hold.set()
        assert (await stream).text
        assert (await swap).outcome == "done"


async def test_the_first_server_is_put_to_rest_so_that_the_second_can_be_started(
    tmp_path: Path, gpu: Gpu
) -> None:
    writer = Sglang(gpu, WRITER, 30)
    reader = Sglang(gpu, READER, 80, asleep=True)
    reader.url = "http://127.0.0.1:9"  # not started yet
    async with running(writer):
        rested = await strategy(tmp_path, writer, reader).rest(quiet)
        assert ended(rested) == ("done", ["drain", "release"]) and gpu.held == {}
        assert (await strategy(tmp_path, writer, reader).rest(quiet)).outcome == "done"  # and once is enough
        reader.fresh()
        gpu.take(READER, 80)
        async with running(reader):
            swaps = strategy(tmp_path, writer, reader)
            assert await swaps.resident() is Role.REVIEWER
            assert (await swaps.swap(Role.GENERATOR, quiet)).outcome == "done"
            assert gpu.held == {WRITER: 30}
        assert (writer.death, reader.death) == ("", "")


async def test_one_address_for_both_is_refused(gpu: Gpu, tmp_path: Path) -> None:
    writer, _ = pair(gpu)
    async with running(writer):
        with pytest.raises(ConfigError, match="two addresses"):
            strategy(tmp_path, writer, writer)


_MOVES = st.lists(
    st.sampled_from(
        ["to generator", "to reviewer", "look", "restart writer", "restart reader", "cut", "new"]
    ),
    max_size=12,
)


@bounds(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves=_MOVES, version=st.sampled_from(["0.5.23", "0.5.9"]))
def test_whatever_happens_no_server_is_asked_what_ends_it(
    tmp_path_factory: pytest.TempPathFactory, moves: list[str], version: str
) -> None:
    """Swaps, restarts, swaps that are cut off at any moment and new conductors, in any order. Memory is ample here, so
    that a death can only come of a wrong question."""
    asyncio.run(_any_order(tmp_path_factory.mktemp("order"), moves, version))


async def _any_order(folder: Path, moves: list[str], version: str) -> None:
    gpu = Gpu(total=1000)
    writer, reader = Sglang(gpu, WRITER, 30, version=version), Sglang(gpu, READER, 80, version=version)
    async with running(writer, reader):
        swaps = strategy(folder, writer, reader)
        for move in moves:
            if move == "look":
                await swaps.look(await swaps.resident())
            elif move == "new":
                swaps = strategy(folder, writer, reader)
            elif move.startswith("restart"):
                await (writer if move.endswith("writer") else reader).restart()
            elif move == "cut":
                cut = asyncio.create_task(swaps.swap(Role.REVIEWER, quiet))
                await asyncio.sleep(0.004)
                cut.cancel()
                await asyncio.gather(cut, return_exceptions=True)
            else:
                to = Role(move.removeprefix("to "))
                result = await swaps.swap(to, quiet)
                if result.outcome == "done":
                    assert await swaps.resident() is to or gpu.held.keys() == {WRITER, READER}
                else:
                    assert result.failure in ("unsure", "timeout"), result
            assert (writer.death, reader.death) == ("", ""), move


def test_a_ledger_that_cannot_be_read_is_blank(tmp_path: Path) -> None:
    path = tmp_path / "sleep.json"
    broken = ('{"generator": 3}', '{"generator": {"step": "flying"}}', '{"generator": {"mib": "x"}}')
    for text in ("", "[]", "{", *broken):
        path.write_text(text)
        assert Ledger(path).read(Role.GENERATOR) == Note()
    Ledger(path).write(Role.REVIEWER, Note("released", "u", "m", 7))
    assert Ledger(path).read(Role.REVIEWER) == Note("released", "u", "m", 7)
    assert path.stat().st_mode & 0o777 == 0o600
