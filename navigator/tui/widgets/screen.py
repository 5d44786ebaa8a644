"""What every screen has: the strip on top, the key bar below, the newest snapshot, and the app by its own type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from textual import getters
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen, Screen
from textual.widget import Widget

from navigator.tui.base import BaseApp, DeckSnapshotChanged, LiveChanged
from navigator.tui.deck_snapshot import DeckSnapshot, LiveStatus
from navigator.tui.keys import SCOPES, Action, bindings_of, in_scope
from navigator.tui.widgets.strip import StatusStrip, StripFacts

_CARRIED_ELSEWHERE = frozenset({"app", "go", "list", "diff"})
"""Groups whose actions the app or a widget has."""


class NavScreen(Screen[None]):
    """A screen of the application.

    A subclass names its `SCOPE` (see `keys.SCOPES`), has a method `action_<name>` for each action of that group, and
    yields its widgets from `compose_body`.

    Hooks: `show_snapshot` for each new snapshot of the store, also when the screen comes to the front; `show_live` for
    progress; `receive` for what it is opened with; `back` for esc.
    """

    app = getters.app(BaseApp)
    SCOPE: ClassVar[str] = ""
    FULL_STRIP: ClassVar[bool] = False
    TITLE = ""
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-normal"), (136, "-roomy"), (160, "-wide")]  # noqa: RUF012 (Textual declares it so)

    _conductor = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if cls.SCOPE:
            cls.BINDINGS = bindings_of(
                *(group for group in SCOPES[cls.SCOPE] if group not in _CARRIED_ELSEWHERE)
            )
        super().__init_subclass__(**kwargs)

    def compose(self) -> ComposeResult:
        """Strip, body, key bar."""
        yield StatusStrip(self.TITLE or "", self._facts, full=self.FULL_STRIP)
        yield from self.compose_body()
        yield KeyBar(self.SCOPE, self.offers)

    def compose_body(self) -> ComposeResult:
        """The screen's own widgets."""
        yield from ()

    def show_snapshot(self, snapshot: DeckSnapshot) -> None:
        """A new snapshot of the store."""

    def show_live(self, live: LiveStatus) -> None:
        """New progress."""

    def receive(self, request: Message) -> None:
        """What the screen is opened with, such as `OpenProposal`; called once it is mounted."""

    def meant_projects(self) -> Sequence[str]:
        """The projects that a new task would be for."""
        return ()

    def back(self) -> bool:
        """Esc was pressed: undo something small (a filter, a selection) and say True, or say False to leave the screen."""
        return False

    async def on_unmount(self) -> None:
        """Keep what is unfinished, while the conductor can still be asked."""
        await self.app.drafts.flush()

    def on_screen_resume(self) -> None:
        """Back in front: show what happened meanwhile."""
        self._refresh_strip()
        self.refresh_keys()
        self.show_snapshot(self.app.snapshot)
        self.show_live(self.app.link.live)

    def on_deck_snapshot_changed(self, event: DeckSnapshotChanged) -> None:
        """The store has changed."""
        self._refresh_strip()
        self.show_snapshot(event.snapshot)

    def on_live_changed(self, event: LiveChanged) -> None:
        """Something moves."""
        self._refresh_strip()
        if event.live.conductor != self._conductor:
            self._conductor = event.live.conductor
            self.refresh_keys()
        self.show_live(event.live)

    def offers(self, action: Action) -> bool:
        """Whether the footer shows an action now; its key answers all the same, if only to say what is missing."""
        return True

    def refresh_keys(self) -> None:
        """What the keys do here has changed."""
        for keybar in self.query(KeyBar):
            keybar.refresh()

    def _facts(self) -> StripFacts | None:
        return self.app.strip_facts if self.app.settled else None

    def _refresh_strip(self) -> None:
        for strip in self.query(StatusStrip):
            strip.show(self.app.snapshot, self.app.link.live)


class Dialog(ModalScreen[Any]):
    """A question over a screen. `enter` is dead for a moment after it appears, so that a key meant for the screen below
    does not answer it: `ready` says whether that moment is over. `y` means nothing there, so it waits for the moment's end."""

    app = getters.app(BaseApp)
    GRACE: ClassVar[float] = 0.5
    SCOPE = "dialog"
    BINDINGS = bindings_of("dialog")

    DEFAULT_CSS = """
    Dialog { align: center middle; background: $background 60%; }
    """

    _ready = _said_yes = False

    @property
    def ready(self) -> bool:
        """Whether accept keys live."""
        return self._ready

    def on_mount(self) -> None:
        """Start the moment of grace."""
        self.set_timer(self.GRACE, self._arm)

    def _arm(self) -> None:
        self._ready = True
        self.armed()
        if self._said_yes:
            self.accept()

    def armed(self) -> None:
        """The moment of grace is over: show it."""

    def action_confirm(self) -> None:
        """Do it."""
        if self.ready:
            self.accept()

    def action_yes(self) -> None:
        """Do it, now or when the moment of grace is over."""
        self._said_yes = not self.ready
        self.action_confirm()

    def accept(self) -> None:
        """What confirming does; by default the dialog ends with True."""
        self.dismiss(True)

    def action_cancel(self) -> None:
        """Leave everything as it is."""
        self.dismiss(None)

    async def action_help(self) -> None:
        """What the keys do here."""
        await self.run_action("app.help")


# The footer: what the keys of this screen do, as far as there is room. Derived from the action registry.

_BACK, _HELP = "app.back", "app.help"
_EDGE = (_BACK, _HELP)
"""Kept at the right edge."""
_NARROW = 100
"""Cells below which the way back gives way to the screen's own keys."""
_GAP = "  "
_HERE = {"compose": "go.compose", "stats": "go.statistics", "fleet": "go.fleet"}
"""What leads to where one is already."""


class KeyBar(Widget):
    """One line of keys and labels.

    Args:
        scope: whose actions are shown.
        offers: whether the screen shows an action now.
    """

    DEFAULT_CSS = """
    KeyBar {
        dock: bottom;
        height: 1;
        padding: 0 1;
        background: $surface;
        color: $muted;
    }
    """

    app = getters.app(BaseApp)

    def __init__(self, scope: str, offers: Callable[[Action], bool]) -> None:
        super().__init__()
        self._scope = scope
        self._offers = offers

    def render(self) -> Content:
        """The line: what the screen's keys do, and at the right edge the way back and help."""
        width = self.size.width
        shown = {action.id: action for action in in_scope(self._scope) if self._is_shown(action)}
        own = [name for name in shown if name not in _EDGE]
        first = [name for name in own if shown[name].first]
        rest = [name for name in own if not shown[name].first]
        # Whatever the width: help. Then what must not be missed, and the way back before or after the screen's own.
        wanted = [_HELP, *first, *rest, _BACK] if width < _NARROW else [_HELP, *first, _BACK, *rest]
        room = width + len(_GAP)
        kept = set()
        for name in wanted:
            size = self._item(shown[name]).cell_length + len(_GAP) if name in shown else room + 1
            if size <= room:
                kept.add(name)
                room -= size
        left = self._line(shown, [name for name in own if name in kept])
        end = self._line(shown, [name for name in _EDGE if name in kept])
        return Content.assemble(left, " " * max(0, width - left.cell_length - end.cell_length), end)

    def _line(self, shown: dict[str, Action], names: list[str]) -> Content:
        return Content(_GAP).join([self._item(shown[name]) for name in names])

    def _is_shown(self, action: Action) -> bool:
        if not action.footer or action.id == _HERE.get(self._scope):
            return False
        if action.id == _BACK:
            return self._scope != "deck"
        carrier = self.app if action.group in ("app", "go") else self.screen
        return bool(carrier.check_action(action.name, ())) and self._offers(action)

    def _item(self, action: Action) -> Content:
        return Content.assemble((self.app.keymap.shown(action.id), "$accent"), " ", action.label)
