"""Swaps measured to and fro: only without work, ended by work, and back on the role that it began with."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from navigator.cli.main import cli
from navigator.engine.client import request
from navigator.engine.measuring import COMPLETE, ENDED, NEW_WORK
from navigator.model.errors import Conflict
from navigator.model.states import TaskState
from tests.journey.room import Room
from tests.journey.scripted_models import Models
from tests.journey.support import PATIENCE
from tests.journey.swaps import asked, room_queue, swapping, until


@pytest.fixture
def models(swapped: Room) -> Models:
    return swapped.models


@pytest.fixture
def room(swapped: Room) -> Room:
    return swapped


def run(*words: str, catch: bool = True) -> Result:
    return CliRunner().invoke(cli, list(words), catch_exceptions=catch)


def ended(room: Room) -> list[dict[str, Any]]:
    return [event.data for event in room.read().events(0, limit=100_000) if event.kind == ENDED]


def test_new_work_ends_it_and_is_not_begun(room: Room, tmp_path: Path) -> None:
    first, go_on = tmp_path / "first", tmp_path / "go_on"
    swapping(
        tmp_path,
        f'echo "$1" > loaded; [ "$1" = reviewer ] && touch "{first}" && while [ ! -e "{go_on}" ]; do sleep 0.02; done; true',
    )
    child = room.desk.start("swap", "measure", "-n", "30", "--yes")
    until(first.exists, "the first swap")
    with pytest.raises(Conflict):
        run("swap", "measure", "--yes", "-n", "2", catch=False)
    task = room_queue(lambda op, **args: request(room.paths.socket, op, args, timeout=30))
    go_on.touch()
    child.communicate(timeout=PATIENCE)
    assert ended(room) == [{"reason": NEW_WORK, "swaps": 1}]
    assert asked(tmp_path)[0] == "reviewer"
    assert room.task(task).state is TaskState.QUEUED


def test_it_is_refused_while_a_task_waits(room: Room) -> None:
    room.queue("another", files=[])
    with pytest.raises(Conflict, match="1 task waits or runs"):
        run("swap", "measure", "--yes", "-n", "2", catch=False)


def test_a_model_that_a_person_asks_for_meanwhile_stays(room: Room, tmp_path: Path) -> None:
    child = room.desk.start("swap", "measure", "-n", "1000", "--yes")
    until(lambda: len(asked(tmp_path)) >= 2, "the second swap")
    request(room.paths.socket, "conduct", {"do": "swap", "role": "reviewer"}, timeout=30)
    out, _ = child.communicate(timeout=PATIENCE)
    assert b"Ended: you asked for a model." in out
    assert asked(tmp_path)[-1] == "reviewer"


def test_a_swap_that_fails_ends_it(room: Room, tmp_path: Path) -> None:
    swapping(tmp_path, '[ "$1" = reviewer ] && echo "CUDA out of memory" >&2 && exit 1; echo "$1" > loaded')
    assert run("swap", "measure", "--yes", "-n", "3").exit_code == 1
    (data,) = ended(room)
    assert "out of memory" in data["reason"] and data["swaps"] == 1


def test_the_command_measures_alone_and_prints_the_round_trip(room: Room, tmp_path: Path) -> None:
    done = run("swap", "measure", "--yes", "-n", "3", "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert (document["ended"], document["swaps"], document["resident"]) == (COMPLETE, 6, "generator")
    assert [row["seconds"]["n"] for row in document["directions"]] == [3, 3]
    (trip,) = document["round_trips"]
    means = sum(row["seconds"]["mean"] for row in document["directions"])
    assert trip["seconds"]["n"] == 3
    assert trip["seconds"]["mean"] == pytest.approx(means)
    assert asked(tmp_path) == ["reviewer", "generator"] * 3


def test_an_interrupt_ends_it_with_the_model_that_was_loaded(room: Room, tmp_path: Path) -> None:
    child = room.desk.start("swap", "measure", "-n", "1000", "--yes")
    until(lambda: len(asked(tmp_path)) >= 3, "the third swap")
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=PATIENCE)
    assert child.returncode == 0, err
    assert b"Ended: you stopped it. Loaded: generator." in out
    assert (tmp_path / "loaded").read_text() == "generator\n"


def test_the_forecast_takes_the_measured_revise_rate_and_says_on_how_many(room: Room) -> None:
    for number in range(2):
        room.queue(f"Make double() multiply, {number}", files=[])
    room.work()
    figures = json.loads(run(*["forecast", "--json"]).stdout)["figures"]
    assert (figures["revise_rate"], figures["revise_n"]) == (0.0, 2)
    assert "0% [0–66], n = 2 first verdicts, anecdotal" in run(*["forecast"]).stdout
    words = [
        "--revise-rate",
        "0.3",
        "--revisions",
        "2",
        "--proposal-tokens",
        "2000",
        "--generator-speed",
        "184",
    ]
    words += ["--review-tokens", "500", "--reviewer-speed", "48", "--single-speed", "38"]
    given = run(*["forecast", *words, "--json"])
    document = json.loads(given.stdout)
    assert (document["figures"]["revise_rate"], document["figures"]["revise_n"]) == (0.3, 0)
    assert len(document["one_task"]["steps"]) == 11
    assert document["best_batch"] > 1 and document["break_even"]["batch"] is not None
