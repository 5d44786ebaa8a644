"""Choosing from a list by typing: projects, files, templates."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import ClassVar

from textual import getters
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from navigator.tui.base import BaseApp
from navigator.tui.keys.registry import bindings_of
from navigator.tui.widgets.cells import Piece, fit
from navigator.tui.widgets.page import PieceLines
from navigator.tui.widgets.rows import RowList

MOST = 500
"""Names shown at most; another letter narrows them down."""


def best(query: str, names: Sequence[str]) -> list[str]:
    """The names that hold each word of `query`, the shortest first; case does not matter."""
    words = query.lower().split()
    found = [name for name in names if all(word in name.lower() for word in words)]
    return (sorted(found, key=len) if words else found)[:MOST]


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
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("pick", priority=True)

    CSS_PATH = "dialogs.tcss"

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
        self._many = many
        self._about = about
        self._empty = empty

    def compose(self) -> ComposeResult:
        """Title, filter, list, keys."""
        with Vertical():
            yield Static(Content(self._title).stylize("bold"))
            yield Input(placeholder="type to search")
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
        self.query_one(Input).focus()

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

    def on_input_changed(self) -> None:
        """Search."""
        found = best(self.query_one(Input).value, self._names)
        if found != self.rows.rows:
            self.rows.empty = (self._empty if not self._names else "No match.",)
            self.rows.set_rows(found)
            self.rows.action_first()

    def action_mark(self) -> None:
        """Mark or unmark the row under the cursor, and move down."""
        name = self.rows.current
        if not self._many or name is None:
            return
        self._marked ^= {name}
        self._touched = True
        self.rows.action_down()
        self.rows.refresh()
        self.query_one(PieceLines).refresh()

    def action_select_all(self) -> None:
        """Mark every row that is shown, or none where all are."""
        if not self._many:
            return
        shown = set(self.rows.rows)
        self._touched = True
        self._marked = self._marked - shown if shown <= self._marked else self._marked | shown
        self.rows.refresh()
        self.query_one(PieceLines).refresh()

    def action_take(self) -> None:
        """Choose what is marked; the row under the cursor where nothing is, or where a single earlier choice is unchanged.

        A row that was searched for is added to several unchanged earlier choices.
        """
        # This key overtakes letters that the field has not taken yet: it waits for them.
        self.query_one(Input).call_later(self._take)

    def _take(self) -> None:
        self.on_input_changed()
        name = self.rows.current
        replaces = name is not None and not self._touched and len(self._marked) == 1
        if name is not None and not self._touched and self._marked and self.query_one(Input).value:
            self._marked.add(name)
        if self._many and self._marked and not replaces:
            self.dismiss(tuple(known for known in self._names if known in self._marked))
        elif name is not None:
            self.dismiss((name,))
        else:
            self.dismiss(None)

    def action_cancel(self) -> None:
        """Choose nothing."""
        self.dismiss(None)

    def action_down(self) -> None:
        """Down."""
        self.rows.action_down()

    def action_up(self) -> None:
        """Up."""
        self.rows.action_up()

    def action_page_down(self) -> None:
        """A page down."""
        self.rows.action_page_down()

    def action_page_up(self) -> None:
        """A page up."""
        self.rows.action_page_up()

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """A double click chooses the row."""
        if not self._many:
            self.action_take()
        else:
            self.action_mark()
