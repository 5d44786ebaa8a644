"""A picture of the view, split; Review's own pictures show the other mode."""

from __future__ import annotations

from collections.abc import Callable

from textual.pilot import Pilot

from tests.tui.diff.samples import sample_app
from tests.tui.driving import until


async def look_at_the_finding(pilot: Pilot[None]) -> None:
    view = pilot.app.view  # type: ignore[attr-defined]
    await until(pilot, lambda: view.move_to("billing/totals.py", "new", 22))
    await pilot.pause()
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


def test_split(snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(sample_app(mode="split"), terminal_size=(120, 36), run_before=look_at_the_finding)
