"""`navigator swap` and `stats swaps`, alone and beside a conductor, with the rehearsal's real processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from navigator.cli.status import swapping
from navigator.config.paths import StatePaths
from navigator.store.database import open_writer
from navigator.store.writes.writer import Store
from tests.cli.conftest import Command
from tests.records import swapped


@pytest.fixture
def conductor(command: Command) -> Iterator[None]:
    """A conductor that stays."""
    command.run("run", "--detach", "--time-scale", "0")
    yield
    command.run("run", "--stop")


def test_alone_a_swap_tells_its_phases_and_is_kept(command: Command) -> None:
    done = command.run("swap", "to", "generator")
    assert done.stdout.startswith("done in ")
    assert "swap phase=load state=begin" in done.stderr
    (row,) = command.json("swap", "log")["swaps"]
    assert (row["from"], row["to"]) == (None, "generator")
    assert (row["outcome"], row["made_by"]) == ("done", "navigator")
    # Its server ended with the command: nothing is resident, and the status says so.
    seen = command.json("swap", "status")
    assert (seen["resident"], seen["conductor"], seen["strategy"]) == (None, False, "rehearsal")
    assert [server["state"] for server in seen["servers"]] == ["not_loaded", "not_loaded"]


@pytest.mark.usefixtures("conductor")
def test_beside_a_conductor_the_swap_is_its_own(command: Command) -> None:
    made = command.run("swap", "to", "reviewer", "--json")
    assert "swap phase=start state=done" in made.stderr
    row = command.json("swap", "log")["swaps"][0]
    assert (row["from"], row["to"], row["outcome"]) == (None, "reviewer", "done")
    seen = command.json("swap", "status")
    assert (seen["conductor"], seen["resident"], seen["given_up"]) == (True, "reviewer", {})
    assert [(server["role"], server["state"]) for server in seen["servers"]] == [
        ("generator", "not_loaded"),
        ("reviewer", "ready"),
    ]
    assert seen["servers"][1]["running"] == 0
    again = command.json("swap", "to", "reviewer")
    assert (again["outcome"], again["reason"]) == ("done", "already resident")
    back = command.json("swap", "to", "generator")
    assert (back["from"], back["to"]) == ("reviewer", "generator")
    assert [phase["name"] for phase in back["phases"]][:2] == ["drain", "stop"]
    assert "resident: generator" in command.run("swap", "status").stdout
    assert command.json("status")["given_up"] == {}


def test_history_and_figures(command: Command) -> None:
    command.json("swap", "log")
    paths = StatePaths(command.state)
    store = Store(open_writer(paths.database))

    with store.transaction() as tx:
        tx.add_swap(swapped(38.0, weight_bytes=100, warm_bytes=0))
        tx.add_swap(swapped(18.0, weight_bytes=100, warm_bytes=100))
        tx.add_swap(swapped(298.0, outcome="went_back", failure="no_memory", reason="CUDA out of memory"))
        tx.add_swap(swapped(seconds=0.0, phases=(), made_by="outside"))
    (real,) = command.json("stats", "cost")["swaps"]["directions"]
    assert (real["seconds"]["n"], real["seconds"]["mean"], real["failures"]) == (2, 30.0, {"no_memory": 1})
    assert (real["phases"]["load"]["median"], real["outside"]) == (28.0, 1)
    shown = command.run("stats", "cost").stdout
    assert "  load" in shown
    assert "1 external, not measured" in shown
    assert shown.index("REHEARSAL") < shown.index("systemd")
    log = command.run("swap", "log").stdout
    assert "went back: no memory" in log
    assert "externally" in log


def test_a_model_that_is_asked_whether_it_is_well_is_not_being_swapped() -> None:
    assert swapping("reviewer", "generator") == swapping("reviewer", None) == "swapping to reviewer"
    assert swapping("generator", "generator") == "checking the generator's answers"
