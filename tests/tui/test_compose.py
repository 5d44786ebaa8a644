"""Compose, driven by keys: one task for many projects, files by fuzzy search, and nothing typed is lost."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import cast

import pytest
from textual.events import Key

from navigator.config.paths import StatePaths
from navigator.config.settings import Settings
from navigator.model.states import Complexity, TaskKind
from navigator.store.database import open_reader, open_writer
from navigator.store.reads.reader import Reader
from navigator.store.writes.writer import Store
from navigator.tui.app import NavigatorApp
from navigator.tui.base import ComposeFor
from navigator.tui.compose import FIELDS, ComposeScreen
from navigator.tui.dialogs import PickDialog
from navigator.tui.widgets.screen import KeyBar
from tests.journey.support import make_repository
from tests.tui import driving
from tests.tui.driving import loaded, type_at_once, until
from tests.tui.reviewing import editor_script


@pytest.fixture
def paths(tmp_path: Path) -> StatePaths:
    made = StatePaths(tmp_path / "s").ensure()
    connection = open_writer(made.database)
    with Store(connection).transaction() as tx:
        for name, files in {
            "atlas": {"atlas/maps.py": b"", "README.md": b"", ".env": b"SECRET=1\n"},
            "billing": {"billing/totals.py": b"", "README.md": b"", "tests/test_totals.py": b""},
            "quill": {"quill.py": b""},
        }.items():
            folder = make_repository(tmp_path / name, files)
            tx.add_project(name=name, path=str(folder), root_commit="1" * 40)
    connection.close()
    return made


class Driver(driving.Driver):
    """The app with Compose in front."""

    @property
    def screen(self) -> ComposeScreen:
        return cast("ComposeScreen", self.app.screen_stack[0])

    async def change(self, field: str, *keys: str) -> None:
        """Press keys with the cursor on a field of the form."""
        self.screen.fields.focus()
        self.screen.fields.move_to_key(field)
        await self.press(*keys)

    async def picking(self) -> PickDialog:
        await self.until(lambda: isinstance(self.app.screen, PickDialog) and self.app.screen.is_mounted)
        return cast("PickDialog", self.app.screen)

    async def back(self) -> None:
        await self.until(lambda: len(self.app.screen_stack) == 1)

    @property
    def words(self) -> str:
        form = [self.screen._draw_field(name, 120) for name in FIELDS]
        lines = [*form, *self.screen._warnings(120)]
        return "\n".join("".join(text for text, _ in line) for line in lines)


@asynccontextmanager
async def composing(paths: StatePaths, *projects: str) -> AsyncIterator[Driver]:
    app = NavigatorApp(Settings(), paths, autostart=False)
    async with app.run_test(size=(100, 30)) as pilot:
        await loaded(pilot)
        app.go("compose", ComposeFor(projects))
        await until(pilot, lambda: app.current_mode == "compose", what="the compose screen")
        at = Driver(pilot, app)
        await at.until(lambda: at.screen._restored and at.screen._wanted is None, "the draft")
        yield at


async def test_tasks_are_queued_as_they_were_written(paths: StatePaths) -> None:
    async with composing(paths, "billing") as at:
        await at.type("Round half even")
        await at.press("enter", "enter")
        await at.type("As asked")
        await at.press("tab", "j", "right")  # the kind, from the text
        await at.press("j", "enter", "j", "right", "right", "left")
        await at.press("ctrl+s")
        await at.until(lambda: bool(at.read().tasks()), "the task")
        (task,) = at.read().tasks()
        assert task.text == "Round half even\n\nAs asked"
        assert (task.project, task.kind, task.complexity, task.priority) == (
            "billing",
            TaskKind.FIX,
            Complexity.COMPLEX,
            1,
        )
        await at.until(lambda: at.app.current_mode == "deck", "back on the deck")
        assert at.read().drafts() == {}

        await at.until(lambda: at.app.snapshot.card("T1") is not None, "its row")
        at.app.go("compose", ComposeFor(("billing",)))
        await at.until(lambda: at.app.current_mode == "compose", "the form")
        at.screen.editor.put("Second")
        await at.change("kind", "left")
        await at.change("variants", "right", "enter")
        await at.press("ctrl+s")
        await at.until(lambda: at.told("has variants, and a"), "why there can be no such task")
        await at.change("kind", "right")
        assert "3 proposals" in at.words
        await at.press("ctrl+s")
        await at.until(lambda: len(at.read().tasks()) == 4, "the variants")
        made = at.read().tasks()[1:]
        assert [(task.variant, task.variant_of) for task in made] == [(1, "T2"), (2, "T2"), (3, "T2")]


async def test_one_task_for_several_projects_with_the_files_each_has(paths: StatePaths) -> None:
    async with composing(paths) as at:
        await at.press("ctrl+s")
        assert at.told("Write what needs to be done first")
        await at.type("Say it better, qCDF?")  # keys of the app are letters here
        assert "to change" not in at.words and "change" not in at.app.screen.query_one(KeyBar).render().plain
        await at.press("ctrl+s")
        dialog = await at.picking()
        await at.press("escape")
        await at.back()
        assert at.read().tasks() == [], "without a project nothing is queued"
        await at.change("for", "enter")
        dialog = await at.picking()
        await at.press("ctrl+a")
        assert dialog._marked == {"atlas", "billing", "quill"}
        await at.press("enter")
        await at.back()
        assert "all projects" in at.words
        await at.change("for", "enter")
        dialog = await at.picking()
        await at.press("down", "down", "tab")
        assert dialog._marked == {"atlas", "billing"}
        await at.press("enter")
        await at.back()
        assert "atlas, billing  2 of 3" in at.words
        await at.change("files")
        assert "enter to choose" in at.words
        await at.until(lambda: "enter change" in at.app.screen.query_one(KeyBar).render().plain, "the footer")
        await at.press("enter")
        dialog = await at.picking()
        assert ".env" not in dialog._names, "a secret is shown to no model"
        await at.type("readme")
        await at.until(lambda: list(dialog.rows.rows) == ["README.md"])
        await at.press("tab")
        dialog.query_one("Input").value = ""  # type: ignore[attr-defined]
        await at.type("b totals")
        await at.until(lambda: dialog.rows.current == "billing/totals.py", "the match")
        await at.press("tab", "enter")
        await at.back()
        await at.press("ctrl+s")
        await at.until(lambda: len(at.read().tasks()) == 2)
        assert {task.project: task.files for task in at.read().tasks()} == {
            "atlas": ("README.md",),
            "billing": ("README.md", "billing/totals.py"),
        }


async def test_what_enter_chooses_from_a_list(paths: StatePaths) -> None:
    """By what was searched for, and whether something is marked."""
    async with composing(paths, "billing") as at:
        for search, keys, chosen, why in (
            ("quill", ("enter",), {"quill"}, "one choice that stood there is replaced"),
            ("atlas", ("tab", "enter"), {"atlas", "quill"}, "what is marked joins it"),
        ):
            await at.change("for", "enter")
            dialog = await at.picking()
            await at.type(search)
            await at.until(lambda dialog=dialog, search=search: list(dialog.rows.rows) == [search])
            await at.press(*keys)
            await at.back()
            assert set(at.screen.sheet.projects) == chosen, why
        await at.change("for", "enter")
        dialog = await at.picking()
        dialog._touched = True
        dialog._marked.clear()
        type_at_once(at.app, "quill")  # before the list is drawn, as from a terminal whose program was busy
        at.app.post_message(Key("enter", None))
        await at.back()
        assert at.screen.sheet.projects == ("quill",)


async def test_nothing_typed_is_lost(paths: StatePaths) -> None:
    async with composing(paths, "quill") as at:
        await at.type("half a tho")
        await at.change("kind", "right")
        await at.until(lambda: bool(at.read().drafts("compose:")), "the draft, a moment after the last key")
        await at.press("tab")
        await at.type("ught")
    held = json.loads(Reader(open_reader(paths.database)).drafts("compose:")["compose:task"])
    assert (held["text"], held["projects"], held["kind"]) == ("half a thought", ["quill"], "fix")
    async with composing(paths, "billing") as at:
        assert at.screen.editor.text == "half a thought"
        assert at.screen.sheet.projects == ("billing",)
        assert at.screen.sheet.kind is TaskKind.FIX
        await at.press("f7", "ctrl+x")  # the editor's own keys
        assert at.screen.editor.text == ""
        await at.press("ctrl+z")
        assert at.screen.editor.text == "half a thought"


async def test_what_is_wrong_with_a_project_is_said(paths: StatePaths, tmp_path: Path) -> None:
    (tmp_path / "billing" / "README.md").write_text("changed\n")
    (tmp_path / "billing" / "new.py").write_text("")
    (tmp_path / "quill").rename(tmp_path / "moved")
    async with composing(paths, "billing", "quill") as at:
        await at.until(lambda: "uncommitted in billing, not included (2): " in at.words, "the warning")
        assert "README.md, new.py" in at.words
        await at.until(lambda: "quill: " in at.words, "the other")


async def test_the_text_can_be_written_in_an_editor(
    paths: StatePaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with composing(paths, "quill") as at:
        await at.type("begun")
        await at.press("ctrl+g")
        assert at.told("No editor is set")
        monkeypatch.setenv("VISUAL", str(editor_script(tmp_path, 'echo " and ended" >> "$file"')))
        monkeypatch.setattr(at.app, "suspend", nullcontext)
        await at.press("ctrl+g")
        await at.until(lambda: at.screen.editor.text == "begun and ended", "what was saved")
