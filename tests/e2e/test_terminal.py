"""The bytes of a real terminal: nothing planted arrives raw, and the terminal is given back as it was."""

from __future__ import annotations

import json
import os
import re
import signal
import termios
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from navigator.config.paths import StatePaths
from navigator.git.private import FileChange, PrivateRepo
from navigator.model.states import TaskKind, Verdict
from navigator.store.database import open_writer
from navigator.store.reads.reader import Reader
from navigator.store.writes.writer import Store
from tests.cli.boxes import Box, serving
from tests.e2e.conftest import end_conductor, navigator
from tests.e2e.ptys import Pty
from tests.e2e.tmux import Terminal
from tests.journey.support import git, make_repository
from tests.tui import world

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("e2e")]

PLANTED = (
    "\x1b]52;c;cGxhbnRlZA==\x07\x1b]0;planted\x07\x1b[31mplanted\x1b[8mhidden\x9b31mc1\x9d0;x\x9c"
    "\u202eright\u2066isolate\u2069\u200bzero\u200d\ufeff\u2028line\U000e0041tag\x08\x7f"
)
"""What no terminal may ever be handed: OSC 52 and 0, SGR, C1, bidi, zero-width, tags, backspace."""

WRAPPED = "planted"
_LETTERS = str.maketrans("", "", "\x00/\n")
FORBIDDEN = re.compile(
    "[\u0080-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u00ad\u061c\U000e0000-\U000e0fff]"
)
_SEQUENCES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|P[^\x1b]*\x1b\\|[()][A-Z0-9]|[78=>cDEHM])"
)
"""Escape sequences as terminals read them: CSI, OSC, DCS, character sets, single characters."""


@pytest.fixture
def ours() -> Iterator[Callable[..., Pty]]:
    """Starts the screens on a terminal; whatever still runs at the end is ended."""
    started: list[Pty] = []

    def start(environment: dict[str, str], *words: str) -> Pty:
        one = Pty(["-m", "navigator", *words], environment)
        started.append(one)
        return one

    yield start
    for one in started:
        one.close()


def hostile_state(place: dict[str, str], folder: Path) -> None:
    """A repository, a proposal, findings and a task that hold what is planted, in every text a model or a file can give."""
    name = f"{PLANTED.translate(_LETTERS)}.py"
    repository = make_repository(folder / "evil", {name: f"value = 1  # {PLANTED}\n".encode()})
    place["NAVIGATOR_CONFIG"] = str(folder / "config.toml")
    Path(place["NAVIGATOR_CONFIG"]).touch()
    navigator(place, "project", "add", str(repository))
    paths = StatePaths(Path(place["NAVIGATOR_STATE"])).ensure()
    plant(paths, name)
    paths.log.write_text(f"2026-11-20 14:03:11,204 ERROR navigator.engine {PLANTED}\n{PLANTED}\n")


def plant(paths: StatePaths, name: str) -> None:
    connection = open_writer(paths.database)
    project = Reader(connection).projects()[0]
    private = PrivateRepo.open(paths.private, project)
    base = git(Path(project.path), "rev-parse", "HEAD")
    private.pin_base(base)
    tree = private.write_tree(base, {name: FileChange(f"value = 2  # {PLANTED}\nmore = 3\n".encode())})
    private.keep("P1", tree, base)
    with world.store_clock() as clock, Store(connection).transaction() as tx:
        clock.ago(hours=1)
        make = world.Maker(tx, clock)
        words = {"quote": f"value = 2  # {PLANTED}", "trigger": f"trigger {PLANTED}"}
        finding = world.finding(message=f"message {PLANTED}", path=name, line=1).model_copy(update=words)
        place = {"paths": (name,), "tree": tree, "base": base}
        title = f"Title {PLANTED}"
        make.waiting(project, title, Verdict.REVISE, [finding], title=title, **place)
        make.task(project, f"Queued {PLANTED}", TaskKind.FIX)
    connection.close()


def planted_in(output: bytes) -> list[str]:
    """What of the planted reached the terminal raw."""
    text = output.decode("utf-8")
    found = [f"U+{ord(character):04X}" for character in FORBIDDEN.findall(text)]
    found += [
        sequence for sequence in _SEQUENCES.findall(text) if WRAPPED in sequence or ";cGxhbnRlZA" in sequence
    ]
    rest = _SEQUENCES.sub("", text)
    found += [
        f"U+{ord(character):04X} outside a sequence" for character in set(rest) & set("\x1b\x07\x7f\x00\x08")
    ]
    return found


def test_nothing_planted_arrives(ours: Callable[..., Pty], place: dict[str, str], tmp_path: Path) -> None:
    hostile_state(place, tmp_path)
    with serving(Box("sglang", (PLANTED,))) as hostile:
        Path(place["NAVIGATOR_CONFIG"]).write_text(
            f'[generator]\nbase_url = "{hostile.url}"\n[reviewer]\nbase_url = "{hostile.url}"\n'
        )
        _shown_everywhere(screens := ours(place))
    assert planted_in(screens.output) == []
    # The scan sees what it is meant to see: the visible stand-ins are there.
    assert "<U+202E>" in screens.output.decode() and "␛" in screens.output.decode()


def _shown_everywhere(screens: Pty) -> None:
    screens.wait_for("Title")
    screens.read(1)
    screens.send("\r")
    screens.wait_for("trigger")
    screens.read(1)
    for keys in ("i", "\x1b", "\\", "w", "\\", "z", "y", "b", "\x1b", "?", "\x1b", "S", "n", "F"):
        screens.send(keys)
        screens.read(0.3)
    screens.wait_for("another model")
    screens.send("n")
    screens.read(0.3)
    screens.send("D\t\r")
    screens.read(0.5)


def test_the_scan_finds_what_is_planted() -> None:
    assert len(planted_in(PLANTED.encode())) > 8


def test_a_signal_gives_the_terminal_back(ours: Callable[..., Pty], place: dict[str, str]) -> None:
    screens = ours(place)
    screens.wait_for("welcome")
    during = termios.tcgetattr(screens.master)
    assert during[3] & (termios.ECHO | termios.ICANON) == 0
    screens.send("\x03")  # Ctrl+C leaves nothing, and the screens go on
    screens.send("?")
    screens.wait_for("YOUR OWN KEYS")
    assert os.waitpid(screens.pid, os.WNOHANG) == (0, 0)
    os.kill(screens.pid, signal.SIGTERM)
    status = screens.ended()
    assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGTERM
    after = termios.tcgetattr(screens.master)
    assert after[3] & (termios.ECHO | termios.ICANON) == termios.ECHO | termios.ICANON
    for switched_off in (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l", b"\x1b[?2004l"):
        switched_on = switched_off[:-1] + (b"l" if switched_off.endswith(b"h") else b"h")
        assert screens.output.rfind(switched_off) > screens.output.rfind(switched_on)


def test_the_screens_come_back_after_setup(ours: Callable[..., Pty], place: dict[str, str]) -> None:
    screens = ours(place)
    screens.wait_for("welcome")
    screens.send("1")
    screens.wait_for("\x1b[?1049l")
    screens.wait_for(": ", after=screens.output.rfind(b"\x1b[?1049l"))
    if b"Which model writes?" in screens.output:  # servers are on this machine: leave the question
        screens.send("\x04")
    screens.wait_for("Press enter to open the screens again")
    said = len(screens.output)
    screens.send("\r")
    screens.wait_for("welcome", after=said)


def test_the_demo_says_the_way_back(ours: Callable[..., Pty], place: dict[str, str]) -> None:
    said = "The conductor is still running"
    screens = ours(place, "demo", "--projects", "2", "--tasks", "4")
    screens.wait_for("35B")
    screens.send("q")
    screens.wait_for(said)
    assert os.waitstatus_to_exitcode(screens.ended()) == 0
    after = screens.output[screens.output.rfind(b"\x1b[?1049l") :].decode()
    assert f"export NAVIGATOR_STATE={place['NAVIGATOR_STATE']}" in after and "stop` ends it" in after


def test_ctrl_z_gives_the_shell_back_and_fg_the_screens(terminal: Terminal) -> None:
    terminal.run()
    terminal.wait("A fast model writes, a strong one reviews, you decide.")
    terminal.keys("C-z")
    terminal.wait("topped", gone="A fast model writes")
    terminal.type("echo still $((40 + 2))")
    terminal.keys("Enter")
    terminal.wait("still 42")
    terminal.type("fg")
    terminal.keys("Enter")
    terminal.wait("A fast model writes, a strong one reviews, you decide.")
    terminal.keys("?")
    terminal.wait("YOUR OWN KEYS")
    terminal.keys("Escape")
    terminal.wait("A fast model writes")
    terminal.press_until("q", "ended with")


def test_the_work_continues_on_a_closed_terminal(ours: Callable[..., Pty], place: dict[str, str]) -> None:
    place["NAVIGATOR_TIME_SCALE"] = "0.15"
    screens = ours(place, "demo", "--projects", "6", "--tasks", "30")
    screens.wait_for("35B")  # the generator is loaded: of thirty tasks most are still to be written
    screens.hang_up()
    _, status = os.waitpid(screens.pid, 0)
    screens.status = status
    place["NAVIGATOR_CONFIG"] = f"{place['NAVIGATOR_STATE']}/demo.toml"
    before = json.loads(navigator(place, "status", "--json"))
    assert before["conductor"], before
    assert before["tasks"]["queued"], before
    for _ in range(600):
        now = json.loads(navigator(place, "status", "--json"))
        if now["tasks"]["queued"] < before["tasks"]["queued"]:
            break
    else:
        raise AssertionError("no task was taken up after the terminal was closed")
    end_conductor(Path(place["NAVIGATOR_STATE"]))
