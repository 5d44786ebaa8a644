"""Find git repositories under a folder, and take those the user chooses into care."""

from __future__ import annotations

import asyncio
from pathlib import Path

from textual import on, work
from textual.app import ComposeResult
from textual.widgets import Input, Static

from navigator.model.errors import NavigatorError
from navigator.model.text import safe_line
from navigator.tui.widgets.cells import Piece, fit
from navigator.tui.widgets.rows import RowList
from navigator.tui.widgets.screen import NavScreen


class AddProjectsScreen(NavScreen):
    """Over any screen; esc leaves it. Nothing in a repository is touched by adding it."""

    SCOPE = "add_projects"
    TITLE = "add projects"
    DEFAULT_CSS = """
    AddProjectsScreen #folder { border: none; height: 1; padding: 0 1; margin: 1 2 0 2; background: $panel; }
    AddProjectsScreen #folder:focus { border: none; }
    AddProjectsScreen #said { height: 1; margin: 1 2; color: $muted; }
    AddProjectsScreen RowList { height: 1fr; margin: 0 1; }
    """

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
        here = str(place) in self._known
        name = min(28, width // 3)
        return [
            (fit(place.name, name), "muted" if here else ""),
            (fit(str(place.parent), width - name - (14 if here else 0)), "muted"),
            ("  already added" if here else "", "faint"),
        ]

    def _say(self, text: str) -> None:
        self.query_one("#said", Static).update(safe_line(text).replace("[", "\\["))

    @on(Input.Submitted, "#folder")
    def _submitted(self, event: Input.Submitted) -> None:
        self._look(Path(event.value.strip() or "~").expanduser())

    @work(exclusive=True)
    async def _look(self, folder: Path) -> None:
        from navigator.git.discover import find_repositories

        if not folder.is_dir():
            self._say(f"{folder} is not a folder.")
            return
        self._say(f"searching {folder} …")
        found = await asyncio.to_thread(find_repositories, folder)
        self._known = frozenset(row.project.path for row in self.app.snapshot.projects)
        rows = self.query_one("#found", RowList)
        rows.set_rows(found)
        self._say(
            f"{len(found)} found. space selects, ctrl+a all, enter adds."
            if found
            else "No git repositories found."
        )
        if found:
            rows.focus()

    def action_folder(self) -> None:
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
        added, refused = 0, ""
        for number, place in enumerate(chosen, 1):
            self._say(f"adding {number} of {len(chosen)}: {place.name} …")
            try:
                await self.app.link.request("project.add", {"path": str(place)})
                added += 1
            except NavigatorError as error:
                refused = refused or str(error)
        self.app.feed.poke()
        if refused:
            self.app.toast(f"{len(chosen) - added} not added. {refused}", "warning")
        if added:
            self.app.toast(f"{added} project{'s' if added != 1 else ''} added.")
            self.dismiss(None)
        else:
            self._say("Nothing was added.")
