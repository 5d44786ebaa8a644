"""The batch meter and the swap bar."""

from __future__ import annotations

from dataclasses import replace

import pytest

from navigator.config.paths import StatePaths
from navigator.config.settings import SwapSettings
from navigator.schedule.batch_time import PUBLISHED
from navigator.sheet.finish import measured_figures
from navigator.store.database import open_reader
from navigator.store.reads.reader import Reader
from navigator.tui.deck_snapshot import DeckSnapshot, LiveStatus, SwapProgress, swap_bar
from navigator.tui.feed import Follower
from navigator.tui.widgets.strip import StripFacts, strip_line, summary
from tests.records import swapped
from tests.tui.test_following import looked

FACTS = StripFacts({"generator": "Qwen3.5-35B-A3B", "reviewer": "Qwen3.5-122B-A10B"}, 30)


def test_the_bar_goes_by_what_swaps_took_and_waits_for_one_that_takes_longer() -> None:
    progress = SwapProgress("generator", "reviewer", begun=100.0, phase="stop", phase_begun=100.0)
    early = swap_bar(progress, [swapped(load) for load in (8, 8, 18)], now=101.0)
    assert (early.share, early.left) == (pytest.approx(0.1), pytest.approx(9))
    late = swap_bar(progress, [swapped(8)], now=150.0)
    assert late.share < 1 and late.left == 0


def test_swaps_of_another_direction_or_that_failed_say_nothing() -> None:
    others = [swapped(8, outcome="failed"), swapped(3, **{"from": None})]
    shown = swap_bar(SwapProgress("generator", "reviewer", 0.0, "load", 0.0), others, now=10.0)
    assert (shown.source, shown.expected) == ("published", PUBLISHED.swap_in)


def test_the_meter_says_how_full_the_batch_is_and_when_its_review_comes(state: StatePaths) -> None:
    snapshot = looked(Follower(open_reader(state.database)))
    ahead = {"seconds": 40, "why": "when 30 wait"}
    live = LiveStatus(conductor="here", status={"resident": "generator", "next_review": ahead})
    assert text_of(snapshot, live, 120)[0].endswith("batch 5 of 30, review in 40 s")


def test_figures_are_published_until_something_is_measured(
    empty_state: StatePaths, state: StatePaths
) -> None:
    from navigator.engine.acting import open_reading

    assert measured_figures(Reader(open_reading(empty_state)), SwapSettings()) == (PUBLISHED, ())
    measured, _ = measured_figures(Reader(open_reader(state.database)), SwapSettings())
    assert measured.swap_in == pytest.approx(43.6, abs=1)
    assert measured.generator_speed == pytest.approx(1850 / 10.2, rel=0.01)


def text_of(snapshot: DeckSnapshot, live: LiveStatus, width: int) -> tuple[str, str]:
    line = strip_line(snapshot, live, FACTS, width)
    return "".join(text for text, _ in line), "".join(text for text, _ in summary(snapshot, live))


def test_the_strip_says_what_the_gpu_does(state: StatePaths) -> None:
    snapshot = looked(Follower(open_reader(state.database)))
    here = LiveStatus(conductor="here", status={"resident": "generator"})
    assert "GENERATOR 35B" in text_of(snapshot, here, 120)[0]
    assert text_of(snapshot, here, 78)[0].startswith("● 35B")
    assert "no conductor, 4 tasks queued: ctrl+n starts" in text_of(snapshot, LiveStatus(), 120)[0]
    assert text_of(snapshot, LiveStatus(), 78)[0].startswith("○ no conductor, 4 tasks queued: ctrl+n starts")
    idle = replace(snapshot, work=())
    assert "no conductor" in text_of(idle, LiveStatus(), 120)[0]
    assert "starting" in text_of(snapshot, LiveStatus(conductor="starting"), 120)[0]
    assert text_of(snapshot, LiveStatus(problem="No swap strategy."), 120)[1] == "No swap strategy."
    swapping = replace(here, swap=SwapProgress("generator", "reviewer", 0.0, "load", 0.0))
    assert "SWAPPING 35B → 122B" in text_of(snapshot, swapping, 120)[0]
    assert "wait for you, ~" in text_of(snapshot, here, 120)[1]
    both = LiveStatus(conductor="here", status={"both_resident": True})
    assert "BOTH RESIDENT" in text_of(snapshot, both, 120)[0]
    down = {"both_resident": True, "problems": {"reviewer": "No server answers at 127.0.0.1:9."}}
    first, second = text_of(snapshot, LiveStatus(conductor="here", status=down), 120)[:2]
    assert first.startswith("✗ REVIEWER NOT USABLE") and "review in" not in first
    assert second == "reviewer server: No server answers at 127.0.0.1:9."
    assert "GPU empty" in text_of(snapshot, LiveStatus(conductor="here", status={"resident": None}), 120)[0]


def test_unsandboxed_tests_are_said_everywhere(state: StatePaths) -> None:
    snapshot = looked(Follower(open_reader(state.database)))
    facts = replace(FACTS, unsandboxed=True)
    for width in (78, 198):
        assert "without a sandbox" in "".join(
            text for text, _ in strip_line(snapshot, LiveStatus(), facts, width)
        )
