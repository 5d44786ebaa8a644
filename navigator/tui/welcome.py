"""The first run: what Navigator is, and where to start; finding repositories."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from navigator.config.paths import config_path, is_folder, typed_path
from navigator.model.errors import NavigatorError
from navigator.model.text import plural, safe_line
from navigator.tui.deck_snapshot import DeckSnapshot
from navigator.tui.keys import in_group
from navigator.tui.widgets.cells import Piece, fit
from navigator.tui.widgets.rows import RowList
from navigator.tui.widgets.screen import NavScreen

_WHAT = """\
A fast model writes, a strong one reviews, you decide.
Only one fits on the GPU: write everything, swap once, review everything.
Queue tasks across repositories; nothing reaches a branch without your approval."""


class FirstRunScreen(NavScreen):
    """Shown over the deck while there is neither a settings file nor a project."""

    SCOPE = "first_run"
    TITLE = "welcome"
    CSS_PATH = "welcome.tcss"

    def compose_body(self) -> ComposeResult:
        """What Navigator is, and what to do next."""
        with Vertical():
            yield Static(Content(_WHAT), id="what")
            yield Static(self._ways(), id="ways")
            yield Static(
                Content(
                    f"Settings file: {safe_line(str(config_path()))} (not found; using the defaults)\n"
                    "`navigator setup` finds your model servers and writes it. One model is enough: it can write and review."
                ),
                id="settings",
            )

    def _ways(self) -> Content:
        keys = self.app.keymap
        return Content("\n").join(
            Content.assemble((f"{keys.shown(action.id):>7}", "$accent bold"), f"   {action.help}")
            for action in in_group("first_run")
        )

    def action_setup(self) -> None:
        """Leave the screens for the questions in the terminal."""
        self.app.leave_for("setup")

    def action_demo(self) -> None:
        """Leave the screens for the demo, which opens them again over its own state."""
        self.app.leave_for("demo")

    def action_scan(self) -> None:
        """Find repositories."""
        self.app.push_screen(AddProjectsScreen())

    def show_snapshot(self, snapshot: DeckSnapshot) -> None:
        """There are projects now: nothing more to do here."""
        if snapshot.projects and self.is_current:
            self.dismiss(None)

    def action_go_on(self) -> None:
        """To the deck."""
        self.dismiss(None)


# Find git repositories under a folder, and take those the user chooses into care.


class AddProjectsScreen(NavScreen):
    """Over any screen; esc leaves it. Nothing in a repository is touched by adding it."""

    SCOPE = "add_projects"
    TITLE = "add projects"
    CSS_PATH = "welcome.tcss"

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__()
        self._folder = folder or Path.home()
        self._known: frozenset[str] = frozenset()

    def compose_body(self) -> ComposeResult:
        """Where to look, what was said, what was found."""
        yield Input(str(self._folder), placeholder="a folder", id="folder")
        yield Static("enter searches this folder for git repositories; only names are read", id="said")
        yield RowList[Path](str, self._draw, selectable=True, id="found")

    def on_mount(self) -> None:
        """The folder first."""
        self.query_one("#folder", Input).focus()

    def _draw(self, place: Path, width: int) -> list[Piece]:
        known = str(place) in self._known
        name = min(28, width // 3)
        return [
            (fit(place.name, name), "muted" if known else ""),
            (fit(str(place.parent), width - name - (14 if known else 0)), "muted"),
            ("  already added" if known else "", "faint"),
        ]

    def _say(self, text: str) -> None:
        self.query_one("#said", Static).update(Content(safe_line(text)))

    @on(Input.Submitted, "#folder")
    def _submitted(self, event: Input.Submitted) -> None:
        self._look(typed_path(event.value.strip() or "~"))

    @work(exclusive=True)
    async def _look(self, folder: Path) -> None:
        from navigator.git.facts import find_repositories

        if not is_folder(folder):
            self._say(f"{folder} is not a folder.")
            return
        self._say(f"searching {folder} …")
        found = await asyncio.to_thread(find_repositories, folder)
        self._known = frozenset(row.path for row in self.app.snapshot.projects)
        rows = self.query_one("#found", RowList)
        rows.set_rows(found)
        self._say(
            f"{len(found)} found. space selects, ctrl+a all, enter adds."
            if found
            else "No git repositories found."
        )
        if found:
            rows.focus()

    def action_search(self) -> None:
        """Another folder."""
        self.query_one("#folder", Input).focus()

    @work(exclusive=True, group="add")
    async def action_add(self) -> None:
        """Add what is selected, or the row under the cursor."""
        rows = self.query_one("#found", RowList)
        chosen = rows.selected_rows or ([rows.current] if rows.current is not None else [])
        chosen = [place for place in chosen if str(place) not in self._known]
        if not chosen:
            return
        added: list[dict[str, Any]] = []
        refused = ""
        for number, place in enumerate(chosen, 1):
            self._say(f"adding {number} of {len(chosen)}: {place.name} …")
            try:
                added.append(await self.app.link.request("project.add", {"path": str(place)}))
            except NavigatorError as error:
                refused = refused or str(error)
        self.app.feed.poke()
        if refused:
            self.app.toast(f"{len(chosen) - len(added)} not added. {refused}", "warning")
        if added:
            bare = sum(not one["project"]["check"] for one in added)
            words = (
                f"{plural(len(added), 'project')} added. {self.app.keymap.shown('go.compose')} writes a task."
            )
            how = "set it with `navigator project set NAME --check CMD`."
            self.app.toast(f"{words} {bare} without a test command: {how}" if bare else words)
            self.dismiss(None)
        else:
            self._say("Nothing was added.")
