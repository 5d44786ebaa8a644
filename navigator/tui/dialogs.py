"""Dialogs over any screen: a question, a note, a choice from a list; and the help."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import ClassVar

from textual import getters
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static, TextArea

from navigator.config.paths import config_path, resource_dir
from navigator.model import patterns
from navigator.model.errors import MissingPart
from navigator.model.text import safe_text
from navigator.tui.base import BaseApp
from navigator.tui.keys import SCOPES, TERMS, TITLES, Keymap, bindings_of, in_group, shown_key
from navigator.tui.widgets.cells import Piece, fit
from navigator.tui.widgets.markdown import wrapped
from navigator.tui.widgets.page import Line, Page, PieceLines
from navigator.tui.widgets.rows import RowList
from navigator.tui.widgets.screen import Dialog, NavScreen


class ConfirmDialog(Dialog):
    """Ends with True, or with None when it is cancelled.

    Args:
        question: one line.
        lines: what is to be known before answering.
        yes: what enter does, in a word or two.
    """

    CSS_PATH = "dialogs.tcss"

    def __init__(self, question: str, lines: Sequence[str] = (), *, yes: str = "yes") -> None:
        super().__init__()
        self._question = question
        self._lines = lines
        self._yes = yes

    def compose(self) -> ComposeResult:
        """Question, lines, answers."""
        with Vertical():
            yield Static(Content(safe_text(self._question)).stylize("bold"))
            if self._lines:
                yield Static(Content(safe_text("\n".join(self._lines))), classes="lines")
            yield from self.compose_field()
            yield Static(Content(self.answers()), classes="answer")

    def compose_field(self) -> ComposeResult:
        """What is filled in before answering."""
        yield from ()

    def answers(self) -> str:
        """The keys that answer."""
        keys = self.app.keymap
        return f"{keys.shown('dialog.confirm')} {self._yes}     {keys.shown('dialog.cancel')} cancel"

    def armed(self) -> None:
        """Show that keys answer now."""
        self.query_one(".answer").add_class("-ready")


# A note that goes with a decision: rejecting, or sending back; and where it is written.


class Editor(TextArea):
    """Several lines of plain words, wrapped; tab moves on."""

    DEFAULT_CSS = """
    Editor {
        border: none;
        padding: 0 1;
        background: $surface;
        color: $foreground;
        scrollbar-size-vertical: 1;
        &:focus { border: none; }
        & .text-area--cursor-line { background: $surface; }
        & .text-area--placeholder { color: $muted; }
    }
    """

    def __init__(self, text: str = "", *, placeholder: str = "", id: str | None = None) -> None:
        super().__init__(
            text,
            soft_wrap=True,
            tab_behavior="focus",
            show_line_numbers=False,
            highlight_cursor_line=False,
            placeholder=placeholder,
            id=id,
        )
        self.cursor_blink = False

    def put(self, text: str) -> None:
        """Replace everything, so that ctrl+z brings back what stood here."""
        self.replace(text, self.document.start, self.document.end)
        self.move_cursor(self.document.end)


class NoteDialog(ConfirmDialog):
    """Ends with the note, or with None; what was typed then stays as a draft. Enter starts a line.

    Args:
        question: one line.
        lines: what to know before answering.
        key: the draft's key.
        text: the draft.
        needed: why an empty note is refused; "" where it is optional.
        placeholder: shown while the note is empty.
        yes: what the key that sends does.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_of("writing", priority=True)

    def __init__(
        self,
        question: str,
        lines: Sequence[str],
        *,
        key: str,
        text: str,
        needed: str = "",
        placeholder: str = "a note (optional)",
        yes: str = "send",
    ) -> None:
        super().__init__(question, lines, yes=yes)
        self._key = key
        self._text = text
        self._needed = needed
        self._placeholder = placeholder

    def compose_field(self) -> ComposeResult:
        """The editor, and why an empty note is refused."""
        yield Editor(self._text, placeholder=self._placeholder)
        yield Static(Content(self._needed), classes="problem")

    def answers(self) -> str:
        """The keys that answer."""
        send, leave = (self.app.keymap.shown(f"writing.{name}") for name in ("send", "put_aside"))
        return f"{send} {self._yes}     {leave} cancel     enter new line"

    def on_mount(self) -> None:
        """Write at once; a draft is continued at its end."""
        area = self.query_one(Editor)
        area.move_cursor(area.document.end)
        area.focus()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Keep the draft."""
        self.app.drafts.keep(self._key, event.text_area.text)

    def action_send(self) -> None:
        """Keep what is written."""
        self.action_confirm()

    def action_put_aside(self) -> None:
        """Leave."""
        self.action_cancel()

    def accept(self) -> None:
        """The note, unless one is needed and there is none."""
        text = self.query_one(Editor).text.strip()
        if self._needed and not text:
            self.query_one(".problem").add_class("-shown")
            return
        self.dismiss(text)


# Choosing from a list by typing: projects, files, templates.


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
        self._names = sorted(self._names, key=lambda name: name not in self._marked)
        if not self._many:  # a few choices: what is around the list has 8 rows
            self.query_one(Vertical).styles.height = min(24, len(self._names) + 8)
        self.rows.set_rows(best("", self._names))
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
        """Choose what is marked; the row under the cursor where nothing is, or where a single earlier choice is unchanged."""
        # This key overtakes letters that the field has not taken yet: it waits for them.
        self.query_one(Input).call_later(self._take)

    def _take(self) -> None:
        self.on_input_changed()
        name = self.rows.current
        replaces = name is not None and not self._touched and len(self._marked) == 1
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

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """A double click chooses the row."""
        if not self._many:
            self.action_take()
        else:
            self.action_mark()


# The keys of a screen from the key table, and the terms and signs it shows from the glossary.


_KEYS = 20
"""Cells of the keys, and of a term."""

_NAMED = 100
"""Cells from which the names of actions are shown."""

_MOST = 110
"""Cells of a line at most, so that it is easy to read."""


def glossary() -> dict[str, str]:
    """The paragraphs of docs/glossary.md by term; empty where the file is not installed."""
    try:
        text = (resource_dir("docs") / "glossary.md").read_text(encoding="utf-8")
    except (MissingPart, OSError):
        return {}
    sections = patterns.compile(r"^## (.+)$", patterns.MULTILINE).split(text)[1:]
    return {
        term.strip(): " ".join(body.split()) for term, body in zip(sections[::2], sections[1::2], strict=True)
    }


class HelpScreen(NavScreen):
    """Over any screen; esc leaves it.

    Args:
        about: the scope of the screen it was asked from.
    """

    SCOPE = "help"
    TITLE = "help"
    AUTO_FOCUS = "#keys"

    def __init__(self, about: str) -> None:
        super().__init__()
        self._about = about

    def compose_body(self) -> ComposeResult:
        """One page."""
        yield Page(self._lines, id="keys")

    def _lines(self, width: int) -> list[Line]:
        groups = SCOPES.get(self._about, SCOPES["deck"])
        others = [group for group in TITLES if group not in groups]
        width, keymap = min(width, _MOST), self.app.keymap
        return [
            *key_lines(keymap, groups, width),
            *own_keys(width),
            *term_lines(TERMS.get(self._about, ()), width),
            *key_lines(keymap, others, width),
        ]


def key_lines(keymap: Keymap, groups: Iterable[str], width: int) -> Iterator[Line]:
    """What the keys of some groups do, and the name of each action; `*` marks keys that the user changed."""
    for group in groups:
        yield [(TITLES[group].upper(), "heading")]
        for action in in_group(group):
            keys = "  ".join(shown_key(key) for key in keymap.of(action))
            own = "*" if action.id in keymap.keys else " "
            first: list[Piece] = [(own, "warn"), (fit(keys, _KEYS - 1), "accent")]
            name = f"  {action.id}" if width >= _NAMED else ""
            yield from wrapped([(action.help, ""), (name, "faint")], width, first, " " * _KEYS)
        yield []


def own_keys(width: int) -> Iterator[Line]:
    """How to change keys."""
    yield [("YOUR OWN KEYS", "heading")]
    yield from wrapped([(f"Set them in {config_path().parent / 'keys.toml'}, under [keys]:", "muted")], width)
    yield [('    "deck.swap" = "ctrl+r"', "muted")]
    yield [('    "review.approve" = ["a", "ctrl+a"]', "muted")]
    yield [("Keys that you changed are marked with *.", "muted")]


def term_lines(terms: Iterable[str], width: int) -> Iterator[Line]:
    """Terms and signs with their paragraphs from the glossary."""
    known = glossary()
    said = [(term, known[term]) for term in terms if term in known]
    yield from [[], [("TERMS AND SIGNS", "heading")]] if said else [[]]
    for term, text in said:
        yield from wrapped([(text, "")], width, [(" ", ""), (fit(term, _KEYS - 1), "accent")], " " * _KEYS)
    yield []
