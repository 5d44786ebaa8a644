"""The first run: what Navigator is, what is on this machine, and where to begin."""

from __future__ import annotations

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from navigator.config.paths import config_path
from navigator.domain.text import safe_line
from navigator.tui.data.servers import PORTS, FoundServer, find_servers
from navigator.tui.keys.registry import in_group
from navigator.tui.widgets.screen import NavScreen

_WHAT = """\
A fast model writes, a strong one reviews, you decide.
Only one fits on the GPU: write everything, swap once, review everything.
Queue tasks across repositories; nothing reaches a branch without your word."""


class FirstRunScreen(NavScreen):
    """Stands over the deck while there is neither a settings file nor a project."""

    SCOPE = "first_run"
    TITLE = "welcome"
    DEFAULT_CSS = """
    FirstRunScreen > Vertical { padding: 2 4; align-horizontal: left; }
    FirstRunScreen Static { width: 100%; max-width: 96; height: auto; margin-bottom: 1; }
    FirstRunScreen.-narrow > Vertical { padding: 1 2; }
    FirstRunScreen #what { margin-bottom: 2; }
    FirstRunScreen #settings { color: $muted; margin-top: 1; }
    """

    def compose_body(self) -> ComposeResult:
        """Three lines, the servers, the ways to go on."""
        with Vertical():
            yield Static(Content(_WHAT), id="what")
            yield Static(id="servers")
            yield Static(self._ways(), id="ways")
            yield Static(
                Content(
                    f"Settings would stand in {safe_line(str(config_path()))}; without them, defaults hold.\n"
                    "Real models need a swap strategy there: `navigator doctor` names what lacks."
                ),
                id="settings",
            )

    def on_mount(self) -> None:
        """Look round without holding anything up."""
        self.action_look_again()

    def _ways(self) -> Content:
        keys = self.nav.keymap
        return Content("\n").join(
            Content.assemble((f"{keys.shown(action.id):>7}", "$accent bold"), f"   {action.help}")
            for action in in_group("first_run")
        )

    @work(exclusive=True)
    async def action_look_again(self) -> None:
        """Look for servers at their usual ports."""
        place = self.query_one("#servers", Static)
        place.update(Content.styled("Looking for model servers on this machine …", "$muted"))
        place.update(_servers(await find_servers()))

    def action_demo(self) -> None:
        """Leave the screens for the demo, which opens them again over its own state."""
        self.nav.leave_for_demo()

    def action_scan(self) -> None:
        """Find repositories."""
        from navigator.tui.welcome.add_projects import AddProjectsScreen

        self.nav.push_screen(AddProjectsScreen(), lambda _: self._leave_if_done())

    def _leave_if_done(self) -> None:
        if self.nav.snapshot.projects and self.is_current:
            self.dismiss(None)

    def action_go_on(self) -> None:
        """To the deck."""
        self.dismiss(None)


def _servers(found: tuple[FoundServer, ...]) -> Content:
    if not found:
        usual = ", ".join(f"{name} {port}" for port, name in PORTS)
        return Content.assemble(
            ("○ ", "$muted"),
            "No model server answers on this machine ",
            (f"({usual}).", "$muted"),
            "\n  The rehearsal needs none.",
        )
    lines = [Content.assemble(("● ", "$success"), (f"{len(found)} found on this machine", "bold"))]
    for server in found:
        models = ", ".join(safe_line(name) for name in server.models[:3]) or "no model loaded"
        more = f" and {len(server.models) - 3} more" if len(server.models) > 3 else ""
        lines.append(
            Content.assemble(f"  {server.name:<11}", (f"{server.url:<26}", "$muted"), f"{models}{more}")
        )
    return Content("\n").join(lines)
