"""Energy by phase, measured with real processes beside a conductor."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from navigator.cascade.dependencies import Dependencies
from navigator.cascade.energy import EnergyMeter
from navigator.cascade.stages.calls import call_model
from navigator.cascade.storage_faults import Storage
from navigator.cli.session import locked_dependencies
from navigator.config.settings import EnergySettings
from navigator.domain.costs import Phase
from navigator.domain.states import Role
from navigator.serving.client.errors import ServingError
from tests.cascade.support import REHEARSAL, Desk, hurry, make_repository

WATTS = f'[energy]\ncommand = ["{sys.executable}", "-c", "print(240); print(120.0)"]\ninterval_seconds = 1\n'


@contextmanager
def world(folder: Path, monkeypatch: pytest.MonkeyPatch, *command: str) -> Iterator[Dependencies]:
    """A state folder whose energy command is asked as fast as it answers. Only the strategy says that it is a rehearsal."""
    desk = Desk.make(folder, '[swap]\nstrategy = "rehearsal"\n')
    monkeypatch.setenv("NAVIGATOR_CONFIG", str(desk.config))
    with locked_dependencies(desk.paths) as deps:
        energy = EnergySettings.model_construct(command=command, interval_seconds=0.02)
        deps.settings = deps.settings.model_copy(update={"energy": energy})
        yield deps


async def measure(
    deps: Dependencies, doing: Callable[[], tuple[Phase, str]], enough: Callable[[], bool]
) -> None:
    meter = EnergyMeter(deps, Storage(deps, lambda reason: None), doing)
    running = asyncio.create_task(meter.run())
    while not enough():
        await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def program(folder: Path, code: str) -> tuple[str, ...]:
    """Python code that also counts its runs in a file."""
    count = f"open({str(folder / 'runs')!r}, 'a').write('x')"
    return (sys.executable, "-c", f"{count}\n{code}")


def runs(folder: Path) -> int:
    path = folder / "runs"
    return len(path.read_text()) if path.exists() else 0


async def test_energy_is_kept_by_phase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with world(tmp_path / "desk", monkeypatch, *program(tmp_path, "print(240); print(120)")) as deps:

        def doing() -> tuple[Phase, str]:
            return ("writing", "generator") if runs(tmp_path) < 4 else ("swapping", "")

        await measure(deps, doing, lambda: runs(tmp_path) >= 8)
        rows = {row["phase"]: row for row in deps.reader.export_rows("energy")}
        assert {name: row["resident"] for name, row in rows.items()} == {
            "writing": "generator",
            "swapping": "",
        }
        for row in rows.values():
            assert row["rehearsal"] == 1
            assert row["seconds"] > 0
            assert row["samples"] >= 2
            assert 3600 * row["watt_hours"] / row["seconds"] == pytest.approx(360, rel=0.01)
        # What passed before the first reading is not known.
        assert rows["writing"]["missed"] > 0
        assert rows["swapping"]["missed"] == 0


async def test_what_could_not_be_read_is_missed_and_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="navigator.cascade.energy")
    code = f"print(100) if len(open({str(tmp_path / 'runs')!r}).read()) > 3 else print('[N/A]')"
    with world(tmp_path / "desk", monkeypatch, *program(tmp_path, code)) as deps:
        await measure(deps, lambda: ("idle", ""), lambda: runs(tmp_path) >= 6)
        (row,) = deps.reader.export_rows("energy")
        assert row["missed"] > 0
        assert 3600 * row["watt_hours"] == pytest.approx(100 * row["seconds"], rel=0.01, abs=0.5)
    said = [record.message for record in caplog.records]
    assert [line.partition(":")[0] for line in said] == ["energy is not measured", "energy is measured again"]


def test_a_session_measures_what_its_work_takes(tmp_path: Path) -> None:
    desk = Desk.make(tmp_path / "desk", REHEARSAL + WATTS)
    make_repository(tmp_path / "code", {"a.py": b"def one():\n    return 1\n", "README.md": b"# Code\n"})
    desk.run("project", "add", str(tmp_path / "code"))
    desk.run("task", "add", "code", "Document one()", "--file", "a.py")
    desk.run("run", "--until", "idle", "--time-scale", "0.1")
    found = desk.json("stats", "cost")
    assert found["real"]["energy"] is None
    energy = found["rehearsal"]["energy"]
    assert energy["samples"] >= 1
    assert {one["phase"] for one in energy["phases"]} <= {"writing", "reviewing", "swapping", "idle"}
    doctor = desk.json("doctor", codes=(0, 3))
    (item,) = [item for item in doctor["items"] if item["name"] == "energy"]
    assert (item["state"], item["found"]) == ("ok", "360.0 W now, read every 1 s")


async def test_a_rehearsal_s_call_that_fails_is_no_real_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry(monkeypatch, retries=0)
    with world(tmp_path / "desk", monkeypatch) as deps:
        with deps.store.transaction() as tx:
            project = tx.add_project(name="p", path="/p")
            task = tx.add_task(project.id, "do it")
        with pytest.raises(ServingError):
            await call_model(
                deps,
                Role.REVIEWER,
                task,
                purpose="review",
                prompt_version="review@1",
                messages=[],
                max_tokens=9,
            )
        await deps.close()
        assert [(row.rehearsal, row.calls) for row in deps.reader.work_totals()] == [(True, 1)]
