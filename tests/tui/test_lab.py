"""The Lab screen: what runs say of themselves, and processes that are started, stopped and resumed by its keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.widgets import Input, Static

from navigator.lab import runs as lab
from navigator.lab.runs import LabRun, Plot, Point, recording
from navigator.tui.dialogs.confirm import ConfirmDialog
from navigator.tui.dialogs.pick import LineDialog
from navigator.tui.lab import LabScreen, _not_a_run, contents, plot_lines, run_lines, run_row
from navigator.tui.widgets.cells import length
from tests.lab.test_measure import plan_file
from tests.tui.conftest import AppMaker
from tests.tui.driving import loaded, until
from tests.tui.test_statistics import text_of

GAIN = Plot(
    title="Gain",
    unit="%",
    reference=0.0,
    points=(
        Point(label="small γ = 4", value=0.21, low=0.14, high=0.29, n=6, note="use"),
        Point(label="ngram γ = 4", value=-0.12, low=-0.2, high=-0.05, n=6),
    ),
)
RATE = Plot(title="Accepted", unit="%", points=(Point(label="small", value=0.3, low=0.2, high=0.4, n=12),))
RUN = LabRun(
    name="speculation-generator",
    kind="speculation",
    about="big with small",
    command=("lab",),
    folder="/",
    results="/r.jsonl",
    simulated="These are simulated.",
    started="2026-11-20T10:00:00+00:00",
    resumed="2026-11-20T14:00:00+00:00",
    updated="2026-11-20T14:20:00+00:00",
    resumed_done=2,
    done=12,
    total=22,
    unit="starts",
    decision="Use small with γ = 4.",
    plots=(GAIN, RATE),
    state="running",
)


def test_a_run_says_how_far_it_is_and_what_follows() -> None:
    said = text_of(run_lines(RUN, 100))
    assert "12 of 22 starts   about 20 min left" in said
    for words in (
        "Use small with γ = 4.",
        "These are simulated.",
        "+21.0%",
        "+14.0% to +29.0%",
        "12, anecdotal",
    ):
        assert words in said
    assert "go on" not in said
    stopped = RUN.model_copy(update={"state": "interrupted"})
    assert "navigator lab runs speculation-generator --resume" in text_of(run_lines(stopped, 100))
    assert "min left" not in text_of(run_lines(stopped, 100))


def test_a_plot_is_drawn_to_scale() -> None:
    first, second = (text_of([line]) for line in plot_lines(GAIN, 120)[3:5])
    zero = first.index("┊")
    assert second.index("━") < second.index("●") < zero < first.index("━") < first.index("●")
    (rate,) = (text_of([line]) for line in plot_lines(RATE, 120)[3:4])
    assert "○" in rate  # n is below 30


numbers = st.floats(-1e6, 1e6).map(lambda value: round(value, 6))


@given(
    st.lists(st.tuples(st.text(max_size=30), numbers, numbers, numbers), max_size=4),
    st.sampled_from(["%", "s", ""]),
    st.none() | numbers,
    st.integers(20, 200),
)
def test_any_plot_can_be_drawn(
    rows: list[tuple[str, float, float, float]], unit: str, reference: float | None, width: int
) -> None:
    points = []
    for label, *values in rows:
        low, value, high = sorted(values)
        points.append(Point(label=label, value=value, low=low, high=high))
    plot = Plot(title="t", unit=unit, reference=reference, points=tuple(points))
    for line in plot_lines(plot, width)[1:]:
        assert "\n" not in text_of([line]) and "\x1b" not in text_of([line])
    assert length(run_row(RUN, width)) >= 0


def test_what_a_run_is_written_as() -> None:
    rows = contents(RUN, ".csv").splitlines()
    assert rows[0].startswith("run,plot,label,value,low,high,n")
    assert rows[1] == "speculation-generator,Gain,small γ = 4,0.21,0.14,0.29,6,%,use,These are simulated."
    assert json.loads(contents(RUN, ".json"))["seconds_left"] == 1200.0
    assert "Use small" in contents(RUN, ".txt")


@pytest.mark.parametrize("text", ["", "speculation", "runs x", "compare 'x"])
def test_only_runs_are_started(text: str) -> None:
    assert _not_a_run(text)
    assert _not_a_run("compare web --judge reviewer") == ""


async def test_an_empty_lab_says_what_to_do(make_app: AppMaker) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        await pilot.press("L")
        await until(pilot, lambda: isinstance(app.screen, LabScreen))
        screen = cast("LabScreen", app.screen)
        assert "+ starts a run" in " ".join(screen.rows.empty)
        await pilot.press("t", "X", "W")  # nothing to act on, and nothing happens
        assert app.screen is screen


async def test_a_run_is_started_stopped_and_resumed_by_keys(make_app: AppMaker, tmp_path: Path) -> None:
    """The processes are real; the server that they measure is simulated."""
    plan = plan_file(tmp_path, blocks=5)
    app = make_app()
    async with app.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        await pilot.press("L")
        await until(pilot, lambda: isinstance(app.screen, LabScreen))
        screen = cast("LabScreen", app.screen)

        def current() -> LabRun:
            screen._read_if_shown()
            return screen.rows.current or RUN.model_copy(update={"state": "failed"})

        await pilot.press("+")
        await until(pilot, lambda: isinstance(app.screen, LineDialog))
        dialog = cast("LineDialog", app.screen)
        await until(pilot, lambda: dialog.ready)
        dialog.query_one(Input).value = "runs"
        await pilot.press("enter")
        assert "Begin with speculation measure" in str(dialog.query_one(".problem", Static).content)
        dialog.query_one(Input).value = f"speculation measure {plan} --out {tmp_path}/r.jsonl"
        await pilot.press("enter")
        await until(pilot, lambda: current().state == "running", what="the run")
        await pilot.press("X")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        question = cast("ConfirmDialog", app.screen)
        await until(pilot, lambda: question.ready)
        await pilot.press("enter")
        await until(pilot, lambda: current().state == "stopped", what="the stop")
        await pilot.press("t")
        await until(pilot, lambda: current().state == "running", what="the run again")
        lab.stop(lab.find(current().name))
        await until(pilot, lambda: current().state == "stopped", what="its end")


async def test_a_run_that_another_process_writes_is_followed(make_app: AppMaker, tmp_path: Path) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        with recording("compare", tmp_path / "c.jsonl", ("lab",), about="two arms") as record:
            await pilot.press("L")
            await until(pilot, lambda: isinstance(app.screen, LabScreen))
            screen = cast("LabScreen", app.screen)
            await until(pilot, lambda: len(screen.rows.rows) == 1)
            record.progress(3, 9, "tasks")
            record.decided("Nothing yet.", [RATE])
            screen._read_if_shown()
            await until(pilot, lambda: bool(screen.rows.current and screen.rows.current.done == 3))
            assert "Nothing yet." in text_of(run_lines(cast("LabRun", screen.rows.current), 80))
