"""Answers in words: a report to read, a scan's suggestions to choose from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from datetime import timedelta
from typing import Any, cast

import pytest
from textual.pilot import Pilot

from navigator.config.paths import StatePaths
from navigator.model.models import Suggestion, Usage
from navigator.model.states import Complexity, Role, TaskKind, TaskState
from navigator.store.database import open_reader, open_writer
from navigator.store.reads.reader import Reader
from navigator.store.writes.writer import Store
from navigator.tui.answers.screen import AnswerScreen, TaskScreen
from navigator.tui.answers.suggestions import SuggestionsScreen
from navigator.tui.app import NavigatorApp
from navigator.tui.deck import DeckScreen
from navigator.tui.dialogs import ConfirmDialog, NoteDialog
from navigator.tui.widgets.page import Page
from tests.tui import world
from tests.tui.conftest import AppMaker
from tests.tui.driving import loaded, type_at_once, until

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


async def answer_yes(pilot: Pilot[Any], app: NavigatorApp) -> None:
    await until(pilot, lambda: isinstance(app.screen, ConfirmDialog) and app.screen.ready)
    await pilot.press("enter")
    await to_deck(pilot, app)


async def test_a_report_is_read_copied_and_sent_back(opened: Any, answered: StatePaths) -> None:
    async with opened(size=(120, 40)) as (pilot, app, screen):
        page = screen.query_one(Page)
        assert isinstance(screen, TaskScreen) and shown(page)[0] == "Storage"
        said = "The store is one module; see the plan (https://example.invalid/plan) and open_writer."
        assert said in shown(page)
        drawn = "\n".join(shown(page))  # nothing of it reaches the terminal as more than text
        assert "image: picture" in drawn and not any(character in drawn for character in "\x1b\x07\u202e")
        strips = [page.render_line(y) for y in range(20)]
        assert not any(segment.style and segment.style.link for strip in strips for segment in strip)
        identifier = screen.answer.task.id
        with closing(open_writer(answered.database)) as connection, Store(connection).transaction() as tx:
            data = {"path": "harbour/__main__.py", "seconds": 8.204000000000001}
            tx.event("edit_failed", identifier, data=data)
        await until(pilot, lambda: "edit failed" in "\n".join(shown(page)))
        told = "\n".join(shown(page))
        assert "edit failed  path harbour/__main__.py, 8.2 s" in told
        assert "generating → awaiting approval" in told and "How does the store hang together?" in told
        await pilot.press("b")
        await until(pilot, lambda: isinstance(app.screen, NoteDialog) and app.screen.ready)
        type_at_once(app, "Shorter")
        await pilot.press("ctrl+s")
        await to_deck(pilot, app)
    task = reader(answered).task(identifier)
    assert (task.state, task.attempt, task.note, task.report) == (TaskState.QUEUED, 1, "Shorter", "")


async def test_suggestions_are_read_and_settled_one_by_one(make_app: AppMaker, answered: StatePaths) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        await until(pilot, lambda: bool(app.screen.query_one("#inbox").rows))  # type: ignore[attr-defined]
        await pilot.press("G", "k", "k", "a")  # putting the scan away would dismiss them all
        await until(pilot, lambda: isinstance(app.screen, SuggestionsScreen))
        screen = cast("SuggestionsScreen", app.screen)
        page = screen.query_one("#details", Page)
        await until(pilot, lambda: bool(page.lines) and shown(page)[0].startswith("Close the file"))
        assert "line  atlas/store.py:42" in shown(page)
        await pilot.press("j")
        await until(pilot, lambda: shown(page)[0].startswith("Test what load"))
        assert any(line.endswith("  tests/test_store.py  new") for line in shown(page))
        await pilot.press("j")
        await until(pilot, lambda: shown(page)[0].startswith("Say in the guide"))
        assert "line  ? its quote is in none of the files it was shown" in shown(page)
        assert "\x1b" not in "".join(shown(page))
        await pilot.press("tab", "j")
        assert page.has_focus and screen.rows.cursor == 2

        await pilot.press("tab", "g", "space", "space", "a")
        await until(pilot, lambda: screen.answer is not None and len(screen.answer.open) == 1)
        assert not screen.rows.selection
        await pilot.press("g", "a")  # is accepted already
        await pilot.pause()
        read = reader(answered)
        scan = read.task(screen.identifier)
        made = [task for task in read.tasks() if task.origin == scan.id]
        assert [(task.kind, task.complexity, task.files) for task in made] == [
            (TaskKind.FIX, Complexity.MEDIUM, ("atlas/store.py",)),
            (TaskKind.TEST, Complexity.COMPLEX, ("atlas/store.py", "tests/test_store.py")),
        ]
        assert made[0].text == _FOUND[0]["text"] and scan.state is TaskState.AWAITING_APPROVAL
        await pilot.press("d")  # puts away what is left, which ends the scan
        await answer_yes(pilot, app)
        rows = app.screen.query_one("#inbox")
        await until(pilot, lambda: len(rows.rows) == 10)  # type: ignore[attr-defined]
        await pilot.press("G", "k", "enter")
        await until(pilot, lambda: isinstance(app.screen, TaskScreen) and app.screen.answer is not None)
        report = cast("TaskScreen", app.screen).identifier
        await pilot.press("enter")  # puts it away
        await to_deck(pilot, app)
    assert read.task(report).state is TaskState.DONE
    assert read.task(scan.id).state is TaskState.DONE
    assert [one.state for one in read.suggestions(scan.id)] == ["accepted", "accepted", "dismissed"]


async def test_all_that_are_open_are_accepted_after_a_question(opened: Any, answered: StatePaths) -> None:
    async with opened("k") as (pilot, app, screen):
        await pilot.press("r")
        await until(pilot, lambda: len(screen.answer.open) == 2)
        await pilot.press("A")
        await answer_yes(pilot, app)
    read = reader(answered)
    assert read.task(screen.answer.task.id).state is TaskState.DONE
    states = [one.state for one in read.suggestions(screen.answer.task.id)]
    assert states == ["dismissed", "accepted", "accepted"]
