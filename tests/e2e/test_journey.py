"""From the first run to the first landings, by keys alone, in a real terminal."""

from __future__ import annotations

import json
import re

import pytest

from tests.e2e.conftest import navigator
from tests.e2e.tmux import Terminal

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("e2e")]


def waiting(shown: str) -> int:
    """How many wait for the developer, as the deck says."""
    found = re.search(r"WAITING FOR YOU\s+(\d+)", shown)
    return int(found[1]) if found else -1


def test_a_developer_s_first_hour(terminal: Terminal, place: dict[str, str]) -> None:
    # First run: what it is, what is on this machine, and the rehearsal one key away.
    terminal.run()
    terminal.wait("A fast model writes, a strong one reviews, you decide.", "sample projects")
    terminal.keys("2")
    terminal.wait("PROJECTS 24", "WAITING FOR YOU")
    terminal.until(lambda shown: waiting(shown) >= 30, "thirty proposals")
    terminal.wait("to review    revision 1")
    terminal.keys("s")
    terminal.wait("batch 0 of 30", "WORKING  0")

    # A task of one's own.
    terminal.keys("C")
    terminal.wait("What needs to be done?")
    terminal.type("Say what the exit codes mean")
    terminal.keys("Tab", "Enter")
    terminal.wait("aurora-api", "billing")
    terminal.type("billing")
    terminal.keys("Enter")
    terminal.wait("for         billing", gone="Which projects?")
    terminal.keys("C-s")
    terminal.wait("T37", "PROJECTS 24")

    # What the reviewer objected to, with the finding beside its line.
    terminal.keys("D")
    terminal.wait("PROJECTS 24")
    terminal.keys("/")
    terminal.wait("project:name")
    terminal.type("is:revise")
    terminal.until(lambda shown: "APPROVE  " not in shown and "REVISE  " in shown, "only REVISE")
    terminal.press_until("Enter", "happens when:", "REHEARSAL")

    # A comment on a line, kept as a draft, then sent back with a note.
    terminal.keys("]", "j", "c")  # a line of the first hunk: what stands above it has none
    terminal.wait("ctrl+s save")
    terminal.type("Pin a table instead.")
    terminal.wait("Pin a table instead.")
    terminal.answer("C-s")
    terminal.wait("Pin a table instead.", gone="ctrl+s save")
    terminal.keys("b")
    terminal.wait("Send P", "Pin a table instead.")
    terminal.type("Once more, please.")
    terminal.answer("C-s")
    terminal.wait("sent back")

    # A batch: three looked at, one dialog, three landings.
    terminal.keys("D")
    terminal.wait("PROJECTS 24")
    terminal.keys("Escape")
    terminal.until(lambda shown: waiting(shown) >= 25 and "is:revise" not in shown, "everything")
    terminal.keys("/")
    terminal.wait("project:name")
    terminal.type("is:approve")
    terminal.until(lambda shown: "REVISE  " not in shown and "is:approve" in shown, "only APPROVE")
    terminal.keys("Enter", "g")
    terminal.press_until("Space", "3 selected")
    terminal.keys("m")
    terminal.wait("marked as seen")
    terminal.keys("A")
    asked = terminal.wait("Approve ", "navigator/20")
    number = re.search(r"Approve (\d) proposals?", asked)
    assert number is not None
    terminal.answer("Enter")
    terminal.wait(f"{number[1]} landed")
    terminal.keys("Enter")
    terminal.wait("WORKING", gone=f"{number[1]} landed")
    terminal.keys("Escape")
    terminal.wait("ENDED TODAY", "landed", gone="is:approve")

    # Undo one of them.
    terminal.answer("Tab")
    terminal.answer("Tab")
    terminal.press_until("u", "Undo the landing of")
    terminal.answer("Enter")
    terminal.until(lambda shown: re.search(r"P\d+ undone:", shown) is not None, "the landing undone")

    # Figures: a rehearsal's are called that.
    terminal.keys("S")
    terminal.wait("IS THE REVIEWER WORTH IT?", "says nothing about a real model")
    terminal.keys("n")
    terminal.wait("REVISE RATE", "says nothing about a real model")
    terminal.keys("F")
    terminal.wait("SERVERS", "REHEARSAL", "SWAPS   seconds", "generator → reviewer")

    # Leave the conductor working; it works.
    terminal.keys("q")
    terminal.wait("ended with 0")
    place["NAVIGATOR_CONFIG"] = f"{place['NAVIGATOR_STATE']}/demo.toml"
    assert json.loads(navigator(place, "status", "--json"))["conductor"]
