"""Pictures of the Lab screen: empty, a run at work, a run that is complete."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from navigator.lab.runs import LabRun, Plot, Point
from navigator.tui import lab as draw
from navigator.tui import lab as lab_screen
from tests.tui.conftest import AppMaker
from tests.tui.driving import until
from tests.tui.test_lab import RUN
from tests.tui.test_snapshots import Snap, settings, settled, still  # noqa: F401

SIZES = [(80, 24), (120, 36), (200, 60)]
RATES = {"generator": (21, 45), "self-review": (25, 45), "cascade": (40, 45), "reviewer": (34, 45)}


def complete() -> LabRun:
    """A comparison at its end, with simulated models."""
    from navigator.figures.intervals import wilson

    points = []
    for arm, (k, n) in RATES.items():
        low, high = wilson(k, n)
        points.append(Point(label=arm, value=k / n, low=low, high=high, n=n))
    apart = Plot(
        title="Differences, p for all pairs (Holm)",
        unit="%",
        reference=0.0,
        points=(
            Point(label="generator – cascade", value=-0.42, low=-0.56, high=-0.25, n=45, note="p = 7.2e-05"),
            Point(label="cascade – reviewer", value=0.13, low=-0.02, high=0.28, n=45, note="p = 0.43"),
        ),
    )
    return RUN.model_copy(
        update={
            "name": "compare-web",
            "kind": "compare",
            "about": "web: generator, self-review, cascade, reviewer",
            "simulated": "Simulated: no model answered. The figures say nothing about a real one.",
            "state": "complete",
            "done": 315,
            "total": 315,
            "unit": "turns at most",
            "results": "/home/dev/.local/state/navigator/lab/compare/web",
            "decision": "Shown to differ on 45 tasks: generator against cascade -42 points (95 %: -56 to -25).",
            "plots": (Plot(title="Tasks whose tests pass", unit="%", points=tuple(points)), apart),
        }
    )


STATES: dict[str, Callable[[], list[LabRun]]] = {
    "empty": list,
    "running": lambda: [RUN, complete()],
    "complete": lambda: [complete(), RUN.model_copy(update={"state": "interrupted"})],
}


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("shows", STATES)
def test_lab(
    snap_compare: Snap,
    make_app: AppMaker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    size: tuple[int, int],
    shows: str,
) -> None:
    held = STATES[shows]()
    monkeypatch.setattr(lab_screen.lab, "runs", lambda: held)
    monkeypatch.setattr(draw, "seconds_since", lambda moment: 40.0)

    async def before(pilot: Pilot[Any]) -> None:
        app = await settled(pilot)
        await pilot.press("L")
        await until(pilot, lambda: isinstance(app.screen, lab_screen.LabScreen))
        screen = app.screen
        assert isinstance(screen, lab_screen.LabScreen)
        await until(pilot, lambda: list(screen.rows.rows) == held)
        await pilot.pause()

    assert snap_compare(make_app(settings=settings(tmp_path)), terminal_size=size, run_before=before)
