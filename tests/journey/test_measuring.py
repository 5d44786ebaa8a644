"""Swaps measured to and fro: only without work, ended by work, and back on the role that it began with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from navigator.cli.main import cli
from navigator.cli.swap import COMPLETE
from tests.journey.room import Room
from tests.journey.swaps import asked, staying, swapping, until


@pytest.fixture
def room(swapped: Room) -> Room:
    return swapped


def run(*words: str, catch: bool = True) -> Result:
    return CliRunner().invoke(cli, list(words), catch_exceptions=catch)


def test_it_is_refused_while_a_task_waits_or_a_conductor_runs(room: Room) -> None:
    def meanwhile(ask: Any) -> None:
        until(lambda: ask("status")["resident"] == "generator", "the generator")
        done = run("swap", "measure", "--yes", "-n", "2")
        assert (done.exit_code, "A conductor is running" in str(done.exception)) == (1, True)

    staying(room, meanwhile)
    room.queue("another", files=[])
    done = run("swap", "measure", "--yes", "-n", "2")
    assert (done.exit_code, "1 task waits" in str(done.exception)) == (1, True)


def test_the_command_measures_both_ways_until_a_swap_fails(room: Room, tmp_path: Path) -> None:
    done = run("swap", "measure", "--yes", "-n", "2", "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert (document["ended"], document["swaps"], document["resident"]) == (COMPLETE, 4, "generator")
    assert [row["seconds"]["n"] for row in document["directions"]] == [2, 2]
    assert asked(tmp_path) == ["reviewer", "generator"] * 2
    swapping(tmp_path, '[ "$1" = reviewer ] && echo "CUDA out of memory" >&2 && exit 1; echo "$1" > loaded')
    done = run("swap", "measure", "--yes", "-n", "3", "--json")
    document = json.loads(done.stdout)
    assert (done.exit_code, document["swaps"], document["resident"]) == (1, 1, "generator")
    assert "out of memory" in document["ended"]


def test_the_forecast_takes_the_measured_revise_rate_and_says_on_how_many(room: Room) -> None:
    for number in range(2):
        room.queue(f"Make double() multiply, {number}", files=[])
    room.work()
    figures = json.loads(run(*["forecast", "--json"]).stdout)["figures"]
    assert (figures["revise_rate"], figures["revise_n"]) == (0.0, 2)
    assert "0% [0–66], n = 2 first verdicts, anecdotal" in run(*["forecast"]).stdout
    given = json.loads(run("forecast", "--revise-rate", "0.3", "--json").stdout)["figures"]
    assert (given["revise_rate"], given["revise_n"]) == (0.3, 0)
