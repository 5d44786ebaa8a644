"""Choosing from a list by typing: projects, files, templates."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import ClassVar, cast

from textual import getters, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.fuzzy import FuzzySearch
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from navigator.tui.base import BaseApp
from navigator.tui.keys.registry import bindings_of
from navigator.tui.widgets.cells import Piece, fit
from navigator.tui.widgets.page import PieceLines
from navigator.tui.widgets.rows import RowList

MOST = 500
"""Names shown at most; another letter narrows them down."""
_MOST_SCORED = 20_000


def best(query: str, names: Sequence[str]) -> list[str]:
    """The names that hold the letters of each word of `query` in order, best first; case does not matter.

    Names that hold the words as they are come first; the others are only scored, which is slow, while there is room.
    """
    words = query.lower().split()
    if not words:
        return list(names[:MOST])
    exact = [name for name in names if all(word in name.lower() for word in words)]
    whole = set(exact)
    others = [name for name in names if name not in whole] if len(exact) < MOST else []
    return [*_ranked(words, exact), *_ranked(words, others)][:MOST]


def _ranked(words: Sequence[str], names: Sequence[str]) -> list[str]:
    search = FuzzySearch()
    found: list[tuple[float, int, str]] = []
    for place, name in enumerate(names[:_MOST_SCORED]):
        scores = [search.match(word, name)[0] for word in words]
        if all(scores):
            found.append((-sum(scores), place, name))
    return [name for _, _, name in sorted(found)]


class PickInput(Input):
    """One line; the keys that choose belong to the dialog."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of("pick")

    def action_take(self) -> None:
        """To the dialog."""
        self._dialog.take()

    def action_mark(self) -> None:
        """To the dialog."""
        self._dialog.mark()

    def action_select_all(self) -> None:
        """To the dialog."""
        self._dialog.mark_all()

    def action_down(self) -> None:
        """Down."""
        self._dialog.rows.action_down()

    def action_up(self) -> None:
        """Up."""
        self._dialog.rows.action_up()

    def action_page_down(self) -> None:
        """A page down."""
        self._dialog.rows.action_page_down()

    def action_page_up(self) -> None:
        """A page up."""
        self._dialog.rows.action_page_up()

    def action_cancel(self) -> None:
        """Cancel."""
        self._dialog.dismiss(None)

    @property
    def _dialog(self) -> PickDialog:
        return cast("PickDialog", self.screen)


class PickDialog(ModalScreen["tuple[str, ...] | None"]):
    """Ends with the chosen names, in the order of the list, or None.

    Args:
        title: what is chosen.
        names: what there is.
        chosen: marked from the start.
        many: several may be taken; else one.
        about: words at the right of a name.
        empty: shown where there is nothing to choose from.
    """

    app = getters.app(BaseApp)

    DEFAULT_CSS = """
    PickDialog { align: center middle; background: $background 60%; }
    PickDialog > Vertical {
        width: 84; max-width: 94%; height: 24; max-height: 90%;
        padding: 1 2; background: $surface; border-left: outer $accent;
    }
    PickDialog Static { height: 1; }
    PickDialog Input { height: 1; border: none; padding: 0; background: $panel; margin-bottom: 1; }
    PickDialog Input:focus { border: none; }
    PickDialog RowList { height: 1fr; background: $surface; }
    PickDialog PieceLines { padding: 0; margin-top: 1; }
    """

    def __init__(
        self,
        title: str,
        names: Sequence[str],
        *,
        chosen: Collection[str] = (),
        many: bool = True,
        about: Callable[[str], str] = lambda name: "",
        empty: str = "Nothing to choose from.",
    ) -> None:
        super().__init__()
        self._title = title
        self._names = names
        self._marked = set(chosen)
        self._touched = False
        self._searched = ""
        self._many = many
        self._about = about
        self._empty = empty

    def compose(self) -> ComposeResult:
        """Title, filter, list, keys."""
        with Vertical():
            yield Static(Content(self._title).stylize("bold"))
            yield PickInput(placeholder="type to search")
            yield RowList[str](lambda name: name, self._draw, empty=[self._empty], id="names")
            yield PieceLines()

    def on_mount(self) -> None:
        """List everything, what is marked first."""
        ordered = [name for name in self._names if name in self._marked]
        ordered += [name for name in self._names if name not in self._marked]
        self._names = ordered
        if not self._many:  # a few choices: what is around the list has 8 rows
            self.query_one(Vertical).styles.height = min(24, len(ordered) + 8)
        self.rows.set_rows(best("", ordered))
        self.query_one(PieceLines).show(self._keys)
        self.query_one(PickInput).focus()

    @property
    def rows(self) -> RowList[str]:
        """The list."""
        return self.query_one("#names", RowList)

    def _draw(self, name: str, width: int) -> list[Piece]:
        mark: Piece = ("● ", "accent") if name in self._marked else ("  ", "")
        about = self._about(name)
        room = max(0, width - 2 - (len(about) + 2 if about else 0))
        return [mark, (fit(name, room), ""), (f"  {about}" if about else "", "muted")]

    def _keys(self, width: int) -> list[list[Piece]]:
        keymap = self.app.keymap
        names = ("take", "mark", "select_all", "cancel") if self._many else ("take", "cancel")
        words = {"take": "choose", "mark": "mark", "select_all": "mark all", "cancel": "cancel"}
        line: list[Piece] = []
        for name in names:
            line += [(keymap.shown(f"pick.{name}"), "accent"), (f" {words[name]}   ", "muted")]
        count = f"{len(self._marked)} marked" if self._many and self._marked else ""
        return [[*line, (count, "muted")]]

    @work(exclusive=True)
    async def on_input_changed(self, event: Input.Changed) -> None:
        """Search, in a thread: a tree may have a hundred thousand paths."""
        self._show_found(event.value, await asyncio.to_thread(best, event.value, self._names))

    def _show_found(self, query: str, found: Sequence[str]) -> None:
        self._searched = query
        self.rows.empty = (self._empty if not self._names else "No match.",)
        self.rows.set_rows(found)
        self.rows.action_first()

    def mark(self) -> None:
        """Mark or unmark the row under the cursor, and move down."""
        name = self.rows.current
        if not self._many or name is None:
            return
        self._marked ^= {name}
        self._touched = True
        self.rows.action_down()
        self.rows.refresh()
        self.query_one(PieceLines).refresh()

    def mark_all(self) -> None:
        """Mark every row that is shown, or none where all are."""
        if not self._many:
            return
        shown = set(self.rows.rows)
        self._touched = True
        self._marked = self._marked - shown if shown <= self._marked else self._marked | shown
        self.rows.refresh()
        self.query_one(PieceLines).refresh()

    def take(self) -> None:
        """Choose what is marked; the row under the cursor where nothing is, or where a single earlier choice is unchanged.

        A row that was searched for is added to several unchanged earlier choices.
        """
        query = self.query_one(PickInput).value
        if query != self._searched:  # typed in one go with the key that chooses
            self._show_found(query, best(query, self._names))
        name = self.rows.current
        replaces = name is not None and not self._touched and len(self._marked) == 1
        if name is not None and not self._touched and self._marked and query:
            self._marked.add(name)
        if self._many and self._marked and not replaces:
            self.dismiss(tuple(known for known in self._names if known in self._marked))
        elif name is not None:
            self.dismiss((name,))
        else:
            self.dismiss(None)

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """A double click chooses the row."""
        if not self._many:
            self.take()
        else:
            self.mark()
