"""The table that ends a session: modelled figures never stand without their model."""

from __future__ import annotations

from typing import Any

import pytest

from navigator.cli.run import show_session
from navigator.model.states import Role
from navigator.rehearsal.engine import pace_of

MEASURED: dict[str, Any] = {
    "projects": 1,
    "tasks": 1,
    "proposals": 1,
    "verdicts": {"approve": 1, "revise": 0, "unreviewed": 0},
    "rounds": 1,
    "states": {"awaiting_approval": 1},
    "tests": {},
    "swaps": 1,
    "loads": 2,
    "problems": {},
    "wall_seconds": 1.0,
    "model_seconds": 1.0,
    "serial_seconds": 2.0,
    "calls": {"made": 2, "repeated": 0, "lost": 0},
    "rehearsal": False,
    "reason": "",
}


def test_modelled_figures_come_with_their_assumptions(capsys: pytest.CaptureFixture[str]) -> None:
    words = pace_of(Role.GENERATOR, 0.0).model.in_words()
    show_session(
        MEASURED
        | {
            "rehearsal": True,
            "model_seconds": 200.0,
            "serial_seconds": 120.0,
            "assumptions": {"generator": words},
        }
    )
    shown = " ".join(capsys.readouterr().out.split())
    assert "modelled at full scale 3 min 20 s" in shown
    assert f"Modelled with, generator: {words}." in shown


def test_measured_figures_are_not_called_modelled(capsys: pytest.CaptureFixture[str]) -> None:
    show_session(MEASURED)
    shown = capsys.readouterr().out
    assert "modelled" not in shown.lower()
