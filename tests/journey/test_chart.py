"""Plots in cells: within their width, in the order of the values, complete without colour."""

from __future__ import annotations

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from navigator.figures.intervals import share
from navigator.sheet.statistics.chart import chart
from navigator.sheet.statistics.page import RatePlot


def weekly(*counts: tuple[int, int], marks: tuple[tuple[str, str], ...] = ()) -> RatePlot:
    start = date(2026, 9, 7)
    days = ((start + timedelta(weeks=place)).isoformat() for place in range(len(counts)))
    return RatePlot(tuple((day, share(k, n)) for day, (k, n) in zip(days, counts, strict=True)), marks)


def drawn(plot: RatePlot, width: int = 80) -> list[str]:
    return ["".join(text for text, _ in line) for line in chart(plot, width)]


COUNTS = st.tuples(st.integers(0, 60), st.integers(0, 60)).map(lambda pair: (pair[0], sum(pair)))


@given(st.lists(COUNTS, max_size=30), st.integers(20, 210))
def test_every_point_is_drawn_once_and_no_line_is_too_wide(counts: list[tuple[int, int]], width: int) -> None:
    plot = weekly(*counts)
    lines = drawn(plot, width)
    assert all(len(line) <= width for line in lines)
    known = sum(n > 0 for _, n in counts)
    dots = sum(line.count(dot) for line in lines for dot in "●○")
    if lines:
        # Where there are more periods than cells, some fall into the same one.
        assert dots == known if len(counts) <= (min(width, 150) - 6) // 2 else 0 < dots <= known
    else:
        assert known < 3 or width < 26


def test_a_higher_rate_is_higher_and_a_small_n_is_hollow() -> None:
    lines = drawn(weekly((36, 40), (20, 40), (4, 40), (2, 10)))
    places = [
        (line.index(dot), number, dot) for number, line in enumerate(lines) for dot in "●○" if dot in line
    ]
    rows = {column: number for column, number, _ in places}
    ordered = [rows[column] for column in sorted(rows)][:3]
    assert ordered == sorted(ordered) and len(set(ordered)) == 3
    assert sum(line.count("○") for line in lines) == 1


def test_marks_have_a_letter_and_those_outside_are_left_out() -> None:
    marks = (("2026-09-16T10:00:00.000Z", "generate@7f3c"), ("2026-01-01", "older"))
    lines = drawn(weekly((9, 40), (8, 40), (7, 40), marks=marks))
    assert any("a  Sep 16  generate@7f3c" in line for line in lines)
    assert not any("older" in line for line in lines)
    letter = lines[0].index("a")
    assert all(line[letter] in "┊●○│╷╵a" for line in lines[:6])


def test_of_many_marks_the_newest_are_drawn_and_the_rest_is_counted() -> None:
    marks = tuple((f"2026-09-{day:02}", f"version {day}") for day in range(8, 18))
    lines = drawn(weekly((9, 40), (8, 40), (7, 40), marks=marks))
    assert any("version 17" in line for line in lines) and not any("version 8" in line for line in lines)
    assert any("4 earlier changes are not marked" in line for line in lines)


def test_a_name_in_a_plot_is_made_visible() -> None:
    lines = drawn(weekly((9, 40), (8, 40), (7, 40), marks=(("2026-09-16", "x\x1b[2J\u202e"),)))
    assert not {"\x1b", "\u202e"} & set("".join(lines))
