"""Answers in words: a report to read, a scan's suggestions to choose from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from navigator.config.paths import StatePaths
from navigator.config.settings import Settings
from navigator.model.models import Suggestion, Usage
from navigator.model.states import Complexity, Role, TaskKind, TaskState
from navigator.store.database import open_reader, open_writer
from navigator.store.reads.reader import Reader
from navigator.store.writes.writer import Store
from navigator.tui.answers.screen import AnswerScreen, ReportScreen, TaskScreen
from navigator.tui.answers.suggestions import SuggestionsScreen
from navigator.tui.app import NavigatorApp
from navigator.tui.deck.screen import DeckScreen
from navigator.tui.dialogs import ConfirmDialog, NoteDialog
from navigator.tui.widgets.page import Page
from tests.tui import world
from tests.tui.conftest import AppMaker
from tests.tui.driving import loaded, looks, until
from tests.tui.test_snapshots import Snap, settled, still  # noqa: F401 (a fixture)

Opened = tuple[Pilot[Any], NavigatorApp, Any]

REPORT = """# Storage

The store is **one** module; see [the plan](https://example.invalid/plan) and `open_writer`.

1. `atlas/store.py` opens the file at every call, which is the reason why a second backend has to be fitted in twice.
2. Nothing closes it.

![picture](https://example.invalid/x.png) \x1b]8;;https://evil.invalid\x07click\x1b]8;;\x07 \u202egnol

```python
def load(path):
    return open(path)  # never closed
```

> What I could not see: the tests.

| backend | where | how much |
|---|---|---|
| files | `atlas/store.py` | all of it |

## What it would take

- A protocol with the four methods that are called from outside.
    - `load`, `save`, `remove`, `names`
- One place that chooses.

Nothing else calls the module: `grep -rn "store\\." atlas` finds two files.
"""

_FOUND: tuple[dict[str, Any], ...] = (
    {
        "text": "Close the file that load opens\n\nIt is left open on every path out. Use a with block; the tests stay as"
        " they are.",
        "kind": TaskKind.FIX,
        "files": ("atlas/store.py",),
        "why": "A server that runs for a week has no handles left.",
        "quote": "    return open(path)  # never closed",
        "quote_path": "atlas/store.py",
        "quote_line": 42,
    },
    {
        "text": "Test what load does with an empty file\n\nNothing says what it should do.",
        "kind": TaskKind.TEST,
        "complexity": Complexity.COMPLEX,
        "files": ("atlas/store.py", "tests/test_store.py"),
        "new_files": ("tests/test_store.py",),
        "why": "The last change broke it and nobody saw.",
        "quote": "def load(path):",
        "quote_path": "atlas/store.py",
        "quote_line": 41,
    },
    {
        "text": "Say in the guide \x1b[31mhow to migrate",
        "kind": TaskKind.DOCS,
        "why": "It is asked every week.",
        "quote": "see the wiki",
    },
)


@pytest.fixture
def answered(state: StatePaths) -> StatePaths:
    """The day's state, with a scan's suggestions and a report at the end of the inbox."""
    connection = open_writer(state.database)
    try:
        with world.store_clock() as clock, Store(connection).transaction() as tx:
            clock.moment = world.NOW - timedelta(minutes=3)
            project = tx.read.project("atlas-web")
            scan = tx.add_task(project.id, "What in the store is worth a task?", TaskKind.SCAN)
            report = tx.add_task(project.id, "How does the store hang together?", TaskKind.ARCHITECTURE)
            for task, purpose in ((scan, "scan"), (report, "report")):
                tx.set_task_state(task.id, TaskState.GENERATING)
                call = tx.begin_call(
                    Role.GENERATOR,
                    task.id,
                    purpose=purpose,
                    model=world.GENERATOR,
                    prompt_version=f"{purpose}@7f3c",
                )
                usage = Usage(prompt_tokens=14_200, completion_tokens=804, seconds=6.2)
                tx.end_call(call, usage=usage, answer="…")
            found = [
                Suggestion(task_id=scan.id, rank=rank, **fields) for rank, fields in enumerate(_FOUND, 1)
            ]
            tx.add_suggestions(scan.id, 0, found)
            tx.set_task_state(scan.id, TaskState.AWAITING_APPROVAL, report="# 3 suggestions", reason="3")
            tx.set_task_state(report.id, TaskState.AWAITING_APPROVAL, report=REPORT, reason="report")
    finally:
        connection.close()
    return state


@pytest.fixture
def opened(make_app: AppMaker, answered: StatePaths) -> Callable[..., Any]:
    """Opened from the deck with enter: the last row failed; before it stand the scan and the report."""

    @asynccontextmanager
    async def open_it(*keys: str, size: tuple[int, int] = (140, 50)) -> AsyncIterator[Opened]:
        app = make_app()
        async with app.run_test(size=size) as pilot:
            await loaded(pilot)
            await until(pilot, lambda: bool(app.screen.query_one("#inbox").rows))  # type: ignore[attr-defined]
            await pilot.press("G", "k", *keys, "enter")
            await until(pilot, lambda: isinstance(app.screen, AnswerScreen) and app.screen.answer is not None)
            yield pilot, app, app.screen

    return open_it


def reader(paths: StatePaths) -> Reader:
    return Reader(open_reader(paths.database))


def shown(page: Page) -> list[str]:
    return ["".join(text for text, _ in line) for line in page.lines]


async def to_deck(pilot: Pilot[Any], app: NavigatorApp) -> None:
    await until(pilot, lambda: isinstance(app.screen, DeckScreen), what="the deck")


async def test_a_report_is_read_and_put_away(opened: Any, answered: StatePaths) -> None:
    async with opened() as (pilot, app, screen):
        assert screen.SCOPE == "report"
        lines = shown(screen.query_one(Page))
        assert lines[0] == "Storage"
        assert (
            "The store is one module; see the plan (https://example.invalid/plan) and open_writer." in lines
        )
        await pilot.press("d")
        await to_deck(pilot, app)
    assert reader(answered).task(screen.answer.task.id).state is TaskState.DONE


async def test_nothing_of_a_report_reaches_the_terminal_as_more_than_text(opened: Any) -> None:
    async with opened(size=(80, 24)) as (_, _, screen):
        drawn = "\n".join(shown(screen.query_one(Page)))
        assert "image: picture" in drawn
        assert not any(character in drawn for character in "\x1b\x07\u202e")
        strips = [screen.query_one(Page).render_line(y) for y in range(20)]
        assert not any(segment.style and segment.style.link for strip in strips for segment in strip)


async def test_a_report_goes_back_with_a_note(opened: Any, answered: StatePaths) -> None:
    async with opened() as (pilot, app, screen):
        await pilot.press("b")
        await until(pilot, lambda: isinstance(app.screen, NoteDialog) and app.screen.ready)
        await pilot.press(*"Shorter", "ctrl+s")
        await to_deck(pilot, app)
        identifier = screen.answer.task.id
    task = reader(answered).task(identifier)
    assert (task.state, task.attempt, task.note, task.report) == (TaskState.QUEUED, 1, "Shorter", "")


async def test_a_report_is_copied_and_its_task_shown(opened: Any) -> None:
    async with opened() as (pilot, app, _):
        await pilot.press("y")
        assert app.clipboard.startswith("# Storage")
        assert "\x1b" not in app.clipboard
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, TaskScreen))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ReportScreen))


async def test_a_tasks_page_tells_what_happened_in_words(opened: Any, answered: StatePaths) -> None:
    async with opened() as (pilot, app, screen):
        identifier = screen.answer.task.id
        with closing(open_writer(answered.database)) as connection, Store(connection).transaction() as tx:
            path = "harbour/__main__.py"
            tx.event("edit_failed", identifier, data={"path": path, "seconds": 8.204000000000001})
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, TaskScreen))
        await until(pilot, lambda: "edit failed" in str(app.screen.query_one("#events").render()))
        told = str(app.screen.query_one("#events").render())
        assert "edit failed  path harbour/__main__.py, 8.2 s" in told
        assert "generating → awaiting approval" in told


async def test_what_is_accepted_becomes_a_task_of_the_scan(opened: Any, answered: StatePaths) -> None:
    async with opened("k") as (pilot, _, screen):
        assert screen.SCOPE == "suggestions"
        await pilot.press("space", "space", "a")
        await until(pilot, lambda: len(screen.answer.open) == 1)
        assert not screen.rows.selection
        await pilot.press("g", "a")
        await pilot.pause()
    read = reader(answered)
    scan = screen.answer.task
    made = [task for task in read.tasks() if task.origin == scan.id]
    assert [(task.kind, task.complexity, task.files) for task in made] == [
        (TaskKind.FIX, Complexity.MEDIUM, ("atlas/store.py",)),
        (TaskKind.TEST, Complexity.COMPLEX, ("atlas/store.py", "tests/test_store.py")),
    ]
    assert made[0].text == _FOUND[0]["text"]
    assert read.task(scan.id).state is TaskState.AWAITING_APPROVAL


async def test_the_last_answer_ends_the_scan(opened: Any, answered: StatePaths) -> None:
    async with opened("k") as (pilot, app, screen):
        await pilot.press("r")
        await until(pilot, lambda: len(screen.answer.open) == 2)
        await pilot.press("A")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog) and app.screen.ready)
        await pilot.press("enter")
        await to_deck(pilot, app)
    read = reader(answered)
    assert read.task(screen.answer.task.id).state is TaskState.DONE
    assert [one.state for one in read.suggestions(screen.answer.task.id)] == [
        "dismissed",
        "accepted",
        "accepted",
    ]


async def test_done_dismisses_what_is_open_after_a_question(opened: Any, answered: StatePaths) -> None:
    async with opened("k") as (pilot, app, screen):
        await pilot.press("a", "d")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog) and app.screen.ready)
        await pilot.press("enter")
        await to_deck(pilot, app)
    read = reader(answered)
    assert read.task(screen.answer.task.id).state is TaskState.DONE
    assert [one.state for one in read.suggestions(screen.answer.task.id)] == [
        "accepted",
        "dismissed",
        "dismissed",
    ]


async def test_approving_a_scan_on_the_deck_does_not_throw_its_suggestions_away(
    make_app: AppMaker, answered: StatePaths
) -> None:
    app = make_app()
    async with app.run_test(size=(140, 50)) as pilot:
        await loaded(pilot)
        await until(pilot, lambda: bool(app.screen.query_one("#inbox").rows))  # type: ignore[attr-defined]
        await pilot.press("G", "k", "k", "a")
        await until(pilot, lambda: isinstance(app.screen, SuggestionsScreen))
    assert all(one.state == "open" for one in reader(answered).suggestions("T181"))


async def test_the_details_are_those_of_the_row_under_the_cursor(opened: Any) -> None:
    async with opened("k", size=(80, 24)) as (pilot, _, screen):
        page = screen.query_one("#details", Page)
        await until(pilot, lambda: bool(page.lines) and shown(page)[0].startswith("Close the file"))
        assert "line  atlas/store.py:42" in shown(page)
        await pilot.press("j")
        await until(pilot, lambda: shown(page)[0].startswith("Test what load"))
        assert "      tests/test_store.py  new" in shown(page) or "file  tests/test_store.py  new" in shown(
            page
        )
        await pilot.press("j")
        await until(pilot, lambda: shown(page)[0].startswith("Say in the guide"))
        assert "line  ? its quote is in none of the files it was shown" in shown(page)
        assert "\x1b" not in "".join(shown(page))
        await pilot.press("tab", "j")
        assert page.has_focus
        assert screen.rows.cursor == 2


@looks
@pytest.mark.parametrize("name", ["report", "suggestions"])
def test_pictures(
    snap_compare: Snap,
    make_app: AppMaker,
    answered: StatePaths,
    tmp_path: Path,
    size: tuple[int, int],
    theme: str,
    name: str,
) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        app = await settled(pilot)
        app.theme = theme
        keys = {"report": ["G", "k", "enter"], "suggestions": ["G", "k", "k", "enter"]}[name]
        await pilot.press(*keys)
        await until(pilot, lambda: isinstance(app.screen, AnswerScreen) and app.screen.answer is not None)
        if name == "suggestions":
            await pilot.press("j", "space", "k")
        await pilot.pause()

    assert snap_compare(
        make_app(settings=Settings(source=tmp_path / "c.toml")), terminal_size=size, run_before=before
    )
