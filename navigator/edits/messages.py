"""The longer texts of edit problems."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from navigator.edits.closest import describe, find_closest
from navigator.edits.ladder import Match
from navigator.edits.overlay import Entry
from navigator.edits.paths import did_you_mean
from navigator.edits.problems import listed, numbered_lines, plural, quote
from navigator.edits.textfile import TextFile
from navigator.model.states import Rung

_ON_RUNG = {
    Rung.EXACT: "",
    Rung.TRAILING_WHITESPACE: " (trailing whitespace aside)",
    Rung.INDENT: " (with another indent)",
    Rung.UNICODE: " (typographic characters aside)",
}


def counting(entry: Entry) -> str:
    """Says which state of the file line numbers are about, where blocks have already changed it."""
    if not entry.blocks:
        return ""
    noun = "block" if len(entry.blocks) == 1 else "blocks"
    return f" Lines are counted after {noun} {listed(entry.blocks)}."


def ambiguous(entry: Entry, match: Match) -> str:
    """SEARCH occurs more than once: the line numbers."""
    return (
        f"The SEARCH lines occur more than once{_ON_RUNG[match.rung]}: at lines "
        f"{listed([start + 1 for start in match.starts])}. Add the lines before or after them to SEARCH, so that they "
        f"occur only once.{counting(entry)}"
    )


def no_match(entry: Entry, lines: Sequence[str], search: Sequence[str], *, brief: bool) -> str:
    """SEARCH occurs nowhere: the closest lines verbatim, and the first difference.

    Args:
        entry: the file.
        lines: its lines now.
        search: the lines sought.
        brief: leave the closest lines out; several problems have shown theirs already.
    """
    if not any(line.strip() for line in lines):
        return "The file is empty. Leave SEARCH empty to write its content."
    text = "The SEARCH lines are not in the file."
    near = None if brief else find_closest(lines, search)
    if near is not None:
        text += f" {describe(lines, search, near)} Copy the lines from the file character for character."
    else:
        text += (
            f" The file has {plural(len(lines), 'line')}. Copy the lines from it character for character, or check that "
            "the path is right."
        )
    if entry.failed:
        noun = "Block" if len(entry.failed) == 1 else "Blocks"
        text += f" {noun} {listed(entry.failed)} for this file did not apply either; that may be why."
    return text + counting(entry)


def indent_too_small(entry: Entry, match: Match) -> str:
    """SEARCH matches only with another indent, and REPLACE cannot be shifted by it."""
    prefix = match.shift.prefix if match.shift is not None else ""
    return (
        f"The SEARCH lines are at line {match.starts[0] + 1} with a smaller indent: SEARCH has {quote(prefix)} too much, "
        "and not every REPLACE line begins with that. Copy the indent of the file in both parts."
        f"{counting(entry)}"
    )


def unknown_path(path: str, known: Collection[str], *, gone: str = "", reason: str = "") -> str:
    """No file is at the path, or none may be: what may be meant."""
    said = reason or (f"The file {gone}." if gone else f"There is no file {quote(path)}.")
    meant = did_you_mean(path, known)
    if meant:
        return f"{said} Did you mean {' or '.join(quote(p) for p in meant)}?"
    if reason:
        return said
    return (
        f"{said} The path is the line above the opener, the whole line. For a new file leave SEARCH empty; else use a path "
        "from the list of files."
    )


def syntax(text: TextFile, said: str, blocks: Sequence[int]) -> str:
    """The result does not parse: the place, and the lines round it."""
    line = int(said.split(":", 1)[0])
    first = max(1, line - 3)
    shown = text.lines[first - 1 : line + 2]
    noun = "block" if len(blocks) == 1 else "blocks"
    return f"After {noun} {listed(blocks)} the file does not parse: {said}\n{numbered_lines(shown, first)}"
