"""Pictures of the view: two sizes, two themes, both modes."""

from __future__ import annotations

from collections.abc import Callable

from textual.pilot import Pilot

from tests.tui.diff.samples import sample_app
from tests.tui.driving import looks


async def look_at_the_finding(pilot: Pilot[None]) -> None:
    view = pilot.app.view  # type: ignore[attr-defined]
    view.move_to("billing/totals.py", "new", 22)
    await pilot.pause()
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


@looks
def test_unified(snap_compare: Callable[..., bool], size: tuple[int, int], theme: str) -> None:
    assert snap_compare(sample_app(theme=theme), terminal_size=size, run_before=look_at_the_finding)


def test_split_and_wrapped(snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(
        sample_app(mode="split", wrap=True), terminal_size=(120, 36), run_before=look_at_the_finding
    )
