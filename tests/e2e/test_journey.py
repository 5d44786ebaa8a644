"""From the first run to the second day, by keys alone, in a real terminal."""

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


def choose_a_hunk(terminal: Terminal) -> str:
    """In Review: leaf on to a proposal of several hunks and choose one of them. Its id."""
    for _ in range(30):
        head = terminal.until(lambda shown: heading(shown) != "", "a proposal")
        name = heading(head)
        terminal.keys("]", "Space")
        # An Enter that was pressed once too often may still lead on to another one.
        shown = terminal.until(
            lambda shown, name=name: (  # type: ignore[misc]
                "1 hunk chosen" in shown or refused(shown, name) or heading(shown) not in ("", name)
            ),
            f"a word on the hunk of {name}",
        )
        if "1 hunk chosen" in shown:
            return heading(shown)
        if heading(shown) != name:
            continue
        terminal.keys("n")
        terminal.until(lambda shown, name=name: heading(shown) not in ("", name), "the next proposal")  # type: ignore[misc]
    raise AssertionError("no proposal of several hunks")


def heading(shown: str) -> str:
    """The id of the proposal that Review shows."""
    lines = shown.splitlines()
    found = re.match(r"\s*(P\d+) ", lines[1]) if len(lines) > 1 and " review " in lines[0] else None
    return found[1] if found else ""


def refused(shown: str, name: str) -> bool:
    """Whether a toast says that hunks of a proposal cannot be chosen."""
    words = " ".join(shown.split())
    return (
        f"{name} is a single hunk" in words
        or f"{name} is already a part" in words
        or f"{name} does not" in words
    )


def filtered(shown: str) -> bool:
    """Whether the deck shows a part of what waits: `WAITING FOR YOU  3   of 35`."""
    return re.search(r"WAITING FOR YOU\s+\d+\s+of \d", shown) is not None


def filter_deck(terminal: Terminal, words: str, expected: str, gone: str = "APPROVE  ") -> None:
    """Show only what matches on the deck."""
    terminal.keys("D")
    if filtered(terminal.wait("PROJECTS 24")):
        terminal.keys("Escape")
    terminal.until(lambda shown: "PROJECTS 24" in shown and not filtered(shown), "everything")
    terminal.keys("/")
    terminal.wait("project:name")
    terminal.type(words)
    terminal.until(
        lambda shown: words in shown and expected in shown and gone not in shown, f"only {expected}"
    )


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

    # Some hunks of a proposal as one of their own.
    filter_deck(terminal, "is:approve", "APPROVE  ", gone="REVISE  ")
    terminal.keys("Enter", "g")
    terminal.press_until("Enter", "choose hunk")
    whole = choose_a_hunk(terminal)
    terminal.keys("a")
    terminal.wait("Make a proposal of", "enter split")
    terminal.press_until("Enter", f"part of {whole}, reviewed as a whole")

    # What a scan proposes becomes a task; what a report says is read and put away.
    filter_deck(terminal, "is:suggestions", "CHOOSE")
    terminal.keys("Enter")
    terminal.press_until("Enter", "SUGGESTIONS", "why")
    terminal.keys("a")
    terminal.until(lambda shown: re.search(r"✓ T\d+", shown) is not None, "the suggestion's task")
    terminal.keys("Escape")
    terminal.wait("PROJECTS 24")
    filter_deck(terminal, "is:report hang", "REPORT")
    terminal.keys("Enter")
    terminal.press_until("Enter", "d put away", "b send back")
    terminal.keys("d")
    terminal.until(lambda shown: re.search(r"T\d+ put away\.", shown) is not None, "the report put away")

    # A batch: three looked at, one dialog, three landings.
    terminal.keys("D")
    terminal.wait("PROJECTS 24")
    terminal.keys("Escape")
    terminal.until(lambda shown: waiting(shown) >= 25 and "is:revise" not in shown, "everything")
    terminal.keys("/")
    terminal.wait("project:name")
    terminal.type("is:approve")
    terminal.until(lambda shown: "REVISE  " not in shown and "is:approve" in shown, "only APPROVE")
    terminal.keys("Enter")
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
    terminal.wait("Quit Navigator?")
    terminal.answer("Enter")
    terminal.wait("ended with 0")
    place["NAVIGATOR_CONFIG"] = f"{place['NAVIGATOR_STATE']}/demo.toml"
    status = json.loads(navigator(place, "status", "--json"))
    assert status

    # The second day: the same state, and the conductor stopped before leaving.
    terminal.type(f"export NAVIGATOR_CONFIG={place['NAVIGATOR_CONFIG']}")
    terminal.keys("Enter")
    terminal.run()
    terminal.wait("PROJECTS 24", "ENDED TODAY", "landed", "REHEARSAL")
    terminal.keys("F")
    terminal.wait("SERVERS", "X stop")
    terminal.keys("X")
    terminal.wait("no conductor")
    terminal.keys("q")
    terminal.wait("ended with 0")
    landed = json.loads(navigator(place, "proposals", "--json"))
    assert landed
