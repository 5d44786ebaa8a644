"""The view driven by keys and mouse, as a developer drives it."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from navigator.model.diff import DiffLine, FileDiff, Hunk
from navigator.model.text import is_unsafe
from navigator.tui.diff.layout import Anchor, FindingNote, LineComment, RowKind
from navigator.tui.diff.view import DiffView
from navigator.tui.theme import THEMES
from tests.tui.diff.samples import (
    COMMENTS,
    FILES,
    FINDINGS,
    ViewApp,
    all_text,
    finding,
    sample_app,
    screen_text,
)
from tests.tui.driving import go_to_finding, until

TOTALS = "billing/totals.py"


async def settle(pilot: Pilot[None]) -> DiffView:
    """The view once it has its size, its focus and its colours."""
    app = pilot.app
    assert isinstance(app, ViewApp)
    app.view.focus()
    await pilot.pause()
    await app.workers.wait_for_complete()
    await pilot.pause()
    return app.view


def kind_at_cursor(view: DiffView) -> RowKind:
    return view._layout.rows[view._cursor].kind


def row_on_screen(view: DiffView) -> int:
    return view._layout.top(view._cursor) - round(view.scroll_y)


def long_file(lines: int, width: int = 20) -> FileDiff:
    body = tuple(DiffLine("+", f"line {n} ".ljust(width, "x"), None, n) for n in range(1, lines + 1))
    return FileDiff("A", "", "long.txt", hunks=(Hunk("H1", 0, 0, 1, lines, "", body),))


async def test_keys_walk_rows_hunks_files_and_remarks() -> None:
    async with sample_app().run_test(size=(80, 24)) as pilot:
        view = await settle(pilot)
        rows = len(view._layout.rows)
        seen = [view._cursor]
        for _ in range(rows - 1):
            view.action_down()
            seen.append(view._cursor)
            assert 0 <= row_on_screen(view) < 24
        assert seen == list(range(rows))
        await pilot.press("j")
        assert view._cursor == rows - 1
        for _ in range(rows - 1):
            view.action_up()
        await pilot.press("k")
        assert (view._cursor, view.scroll_y) == (0, 0)

        keys = [view.current_key]
        for _ in range(4):
            await pilot.press(">")
            keys.append(view.current_key)
        assert keys == ["task", "nit", "major", "draft", "sent"]
        await pilot.press("<")
        assert view.current_key == "draft"
        assert view.location == Anchor(TOTALS, "new", 26, "H3")

        await pilot.press("g")
        hunks = []
        for _ in range(7):
            await pilot.press("]")
            hunks.append(view.location.hunk)
            assert kind_at_cursor(view) == RowKind.HUNK
        assert hunks == ["H1", "H2", "H3", "H4", "H5", "H6", "H6"]
        await pilot.press("[")
        assert view.location.hunk == "H5"
        await pilot.press("{", "{")
        assert view.location == Anchor(TOTALS)
        await pilot.press("}", "}")
        assert view.location == Anchor("tools/run.sh")

        assert view.move_to(TOTALS, "old", 22)
        assert view.location == Anchor(TOTALS, "old", 22, "H3")
        await pilot.press("j")
        assert view.location == Anchor(TOTALS, "new", 22, "H3")
        assert view.move_to("absent.py") is False and view.move_to(TOTALS, "new", 4_000) is False


async def test_ends_half_pages_and_the_wheel() -> None:
    async with ViewApp([long_file(500)]).run_test(size=(80, 24)) as pilot:
        view = await settle(pilot)
        await pilot.press("G")
        assert view.location == Anchor("long.txt", "new", 500, "H1")
        assert "line 500" in screen_text(view)[-1]
        await pilot.press("g")
        assert view.location == Anchor("long.txt")
        await pilot.press("ctrl+d", "ctrl+d")
        assert (view.location.line, view.scroll_y) == (21, 20)
        await pilot.press("ctrl+u")
        assert view.location.line == 10
        await pilot.press("pagedown", "pageup")
        assert view.location.line == 10
        # The wheel leaves the cursor behind; the next step brings it back.
        view.scroll_to(y=200, animate=False)
        await pilot.pause()
        assert view.location.line == 10
        view.annotate([], [LineComment("c", "long.txt", 450, "far away")])
        assert view.scroll_y == 200
        await pilot.press("j")
        assert view.scroll_y == 200
        assert 0 < row_on_screen(view) < 24


async def test_remarks_open_and_close_and_change_while_the_place_is_kept() -> None:
    app = sample_app()
    async with app.run_test(size=(80, 24)) as pilot:
        view = await settle(pilot)
        await pilot.click(view, offset=(20, 1), times=2)
        assert view.current_key == "task" and "task" in view.collapsed
        await pilot.press("enter")
        assert go_to_finding(view, "major")
        await pilot.press("enter")
        assert "major" in view.collapsed and view.current_key == "major"
        assert any("▸ ● major  sum() of an empty list" in line for line in screen_text(view))
        assert not any("happens when" in line for line in screen_text(view))
        await pilot.press("k", "enter")
        assert "major" not in view.collapsed
        assert go_to_finding(view, "absent") is False

        view.move_to(TOTALS, "new", 50)  # more context is asked for at the header of a hunk
        await pilot.press("k", "enter")
        (asked,) = app.heard(DiffView.ContextAsked)
        assert (asked.path, asked.line) == (TOTALS, 50)

        view.move_to(TOTALS, "new", 24)
        view.move_to(TOTALS, "new", 17)
        where, height = view.location, row_on_screen(view)
        for key in ("backslash", "backslash"):
            await pilot.press(key)
            assert (view.location, row_on_screen(view)) == (where, height)
        assert view.mode == "unified"
        view.move_to(TOTALS, "new", 25)
        await pilot.pause()
        where, height = view.location, row_on_screen(view)
        more = [LineComment(f"c{n}", TOTALS, 13, "one more\nand another line") for n in range(3)]
        view.annotate(FINDINGS, [*COMMENTS, *more])
        assert (view.location, row_on_screen(view)) == (where, height)
        view.annotate([], [*COMMENTS, *more])
        assert (view.location, row_on_screen(view)) == (where, height)
        assert not any("major" in text for text in all_text(view))

        await pilot.press("G")
        view.show([long_file(100)])  # another diff starts at its top
        await pilot.pause()
        assert view.location == Anchor("long.txt") and view.scroll_y == 0
        view.show([])
        await pilot.pause()
        for key in ("j", "k", "G", "]", "}", "ctrl+d", "enter", ">", "backslash"):
            await pilot.press(key)
        assert view.location == Anchor()


async def test_the_header_of_the_file_stays_while_its_lines_scroll() -> None:
    async with sample_app().run_test(size=(80, 10)) as pilot:
        view = await settle(pilot)
        assert view.move_to(TOTALS, "new", 26)
        await pilot.pause()
        text = screen_text(view)
        assert text[0].strip().startswith(TOTALS)
        assert sum(TOTALS in line for line in text) == 1
        assert row_on_screen(view) > 0
        await pilot.click(view, offset=(20, 0))
        assert view.location == Anchor(TOTALS)


async def test_side_by_side_the_cursor_has_a_side() -> None:
    async with sample_app(mode="split").run_test(size=(120, 40)) as pilot:
        view = await settle(pilot)
        line = next(text for text in all_text(view) if "amount: float" in text)
        places = [line.index(part) for part in ("−", "float", "│", "+", "Decimal")]
        assert places == sorted(places), "the replaced line stands beside the new one"
        view.move_to(TOTALS, "new", 16)
        await pilot.press("tab")
        assert view.location == Anchor(TOTALS, "old", 16, "H3")
        row = row_on_screen(view)
        await pilot.click(view, offset=(100, row))
        assert view.location == Anchor(TOTALS, "new", 16, "H3")
        await pilot.click(view, offset=(10, row))
        assert view.location == Anchor(TOTALS, "old", 16, "H3")


async def test_themes_and_colours() -> None:
    async with sample_app().run_test(size=(80, 24)) as pilot:
        view = await settle(pilot)
        view.move_to(TOTALS, "new", 20)  # colours arrive after the paint and change no character
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        strip = view.render_line(row_on_screen(view))
        keyword = next(segment for segment in strip if segment.text == "def")
        plain = next(segment for segment in strip if "(lines)" in segment.text)
        assert keyword.style is not None and plain.style is not None
        assert keyword.style.color != plain.style.color
        assert strip.text.rstrip().endswith("def total(lines):")

        texts, styles = set(), set()
        for theme in THEMES:
            pilot.app.theme = theme.name
            await pilot.pause()
            styles.add(view._painter.palette.lines["+"])
            texts.add("\n".join(screen_text(view)))
        assert (len(texts), len(styles)) == (1, len(THEMES)), "the same words in other colours"

        assert not any(is_unsafe(line) for line in all_text(view))
        assert any("␛[31mred" in line and "<U+202E>evil" in line for line in all_text(view))
        assert any("be cut or wrapped." in text.replace("↳", "") for text in all_text(view))
        wrapped = view._layout.total
        await pilot.resize_terminal(300, 24)
        await until(pilot, lambda: view._layout.total < wrapped)


async def test_a_remark_taller_than_the_screen_is_read_by_stepping() -> None:
    words = " ".join(f"word{n}" for n in range(600))
    note = FindingNote("tall", finding(message=words))
    async with ViewApp(FILES, [note]).run_test(size=(80, 12)) as pilot:
        view = await settle(pilot)
        go_to_finding(view, "tall")
        seen = "\n".join(screen_text(view))
        for _ in range(60):
            await pilot.press("j")
            if view.current_key != "tall":
                break
            seen += "\n".join(screen_text(view))
        assert all(f"word{n}" in seen for n in range(600))
        assert view.current_key == ""


async def test_without_colour_the_words_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with sample_app().run_test(size=(80, 24)) as pilot:
        view = await settle(pilot)
        go_to_finding(view, "major")
        await pilot.pause()
        lines = [strip.text for strip in pilot.app.screen._compositor.render_strips()]
        assert any("● major · correctness" in line for line in lines)
        assert any("−     return round(" in line for line in lines)
        assert any("+     amounts = [" in line for line in lines)
        for strip in pilot.app.screen._compositor.render_strips():
            for segment in strip:
                for color in (segment.style.color, segment.style.bgcolor) if segment.style else ():
                    triplet = color.triplet if color is not None else None
                    assert triplet is None or len(set(triplet)) == 1


async def test_a_tiny_terminal_is_survived() -> None:
    async with sample_app(mode="split").run_test(size=(1, 1)) as pilot:
        view = await settle(pilot)
        for size in ((3, 2), (30, 5), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.press("j", "]", "G", "g")
        assert view.location == Anchor(TOTALS) or view.location == Anchor()


async def test_a_long_diff_opens_with_its_first_rows_and_the_rest_follows() -> None:
    lines = [DiffLine("+", f"line {n}", None, n) for n in range(1, 4001)]
    hunks = tuple(
        Hunk(f"H{n}", 0, 0, n, 100, "", tuple(lines[n - 1 : n + 99])) for n in range(1, len(lines), 100)
    )
    files = [FileDiff("A", "", "long.txt", hunks=hunks)]
    async with ViewApp(FILES).run_test(size=(80, 24)) as pilot:
        view = await settle(pilot)
        view.show(files)
        first = len(view._shown.rows)
        assert "line 1" in "\n".join(screen_text(view)) and 24 < first < len(lines) and not view.at_end
        await until(pilot, lambda: view._shown.whole)
        assert view.virtual_size.height == view._shown.total == len(lines) + len(hunks) + 1
        view.show(files)
        assert len(view._shown.rows) == first
        view.action_last()
        assert view.location.line == len(lines), "a key that needs all rows does not wait for them"
        await until(pilot, lambda: view.at_end)
