"""The first run: what Navigator is, what is on this machine, and where to start."""

from __future__ import annotations

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from navigator.config.paths import config_path
from navigator.model.text import safe_line
from navigator.setup.servers import USUAL, FoundServer, find_servers
from navigator.tui.keys.registry import in_group
from navigator.tui.widgets.screen import NavScreen

_WHAT = """\
A fast model writes, a strong one reviews, you decide.
Only one fits on the GPU: write everything, swap once, review everything.
Queue tasks across repositories; nothing reaches a branch without your approval."""


class FirstRunScreen(NavScreen):
    """Shown over the deck while there is neither a settings file nor a project."""

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
        """What Navigator is, the servers, what to do next."""
        with Vertical():
            yield Static(Content(_WHAT), id="what")
            yield Static(id="servers")
            yield Static(self._ways(), id="ways")
            yield Static(
                Content(
                    f"Settings file: {safe_line(str(config_path()))} (not found; using the defaults)\n"
                    "`navigator setup` writes it. One model is enough: it can write and review."
                ),
                id="settings",
            )

    def on_mount(self) -> None:
        """Look for servers in the background."""
        self.action_look_again()

    def _ways(self) -> Content:
        keys = self.app.keymap
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

    def action_setup(self) -> None:
        """Leave the screens for the questions in the terminal."""
        self.app.leave_for("setup")

    def action_demo(self) -> None:
        """Leave the screens for the demo, which opens them again over its own state."""
        self.app.leave_for("demo")

    def action_scan(self) -> None:
        """Find repositories."""
        from navigator.tui.welcome.add_projects import AddProjectsScreen

        self.app.push_screen(AddProjectsScreen(), lambda _: self._leave_if_done())

    def _leave_if_done(self) -> None:
        if self.app.snapshot.projects and self.is_current:
            self.dismiss(None)

    def action_go_on(self) -> None:
        """To the deck."""
        self.dismiss(None)


def _servers(found: tuple[FoundServer, ...]) -> Content:
    if not found:
        usual = ", ".join(f"{name} {port}" for port, name in USUAL)
        return Content.assemble(
            ("○ ", "$muted"),
            "No model server is running on this machine ",
            (f"({usual}).", "$muted"),
            "\n  The demo needs none.",
        )
    servers = "1 server" if len(found) == 1 else f"{len(found)} servers"
    lines = [Content.assemble(("● ", "$success"), (f"{servers} found on this machine", "bold"))]
    for server in found:
        models = ", ".join(map(safe_line, server.models[:3])) or server.problem or "no model loaded"
        more = f" and {len(server.models) - 3} more" if len(server.models) > 3 else ""
        lines.append(
            Content.assemble(f"  {server.name:<11}", (f"{server.url:<26}", "$muted"), f"{models}{more}")
        )
    return Content("\n").join(lines)
