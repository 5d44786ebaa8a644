"""What new text must pass (no marker left in it, nothing left out, writable, not in the file already), and how refusals read."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from pathlib import PurePosixPath

from navigator.checks.syntax import omission_in
from navigator.edits.ladder import SearchMatch, occurrences, repeats
from navigator.edits.overlay import Entry, TextFile
from navigator.edits.parser import Block, BlockKind, is_conflict, is_divider, is_fence
from navigator.edits.paths import BlockRefused, did_you_mean, listed, numbered_lines, quote
from navigator.model import patterns
from navigator.model.text import plural


def counting(entry: Entry) -> str:
    """Says which state of the file line numbers are about, where blocks have already changed it."""
    return f" Lines are counted after {_blocks(entry.blocks)}." if entry.blocks else ""


def _blocks(numbers: Sequence[int]) -> str:
    return f"{'block' if len(numbers) == 1 else 'blocks'} {listed(numbers)}"


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
        text += f" {_blocks(entry.failed).capitalize()} for this file did not apply either; that may be why."
    return text + counting(entry)


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


def syntax(text: TextFile, said: str, blocks: Sequence[int]) -> BlockRefused:
    """The result does not parse: the place, and the lines round it."""
    line = int(said.split(":", 1)[0])
    first = max(1, line - 3)
    shown = text.lines[first - 1 : line + 2]
    return BlockRefused("syntax", blocks=_blocks(blocks), said=said, lines=numbered_lines(shown, first))


# What a failed SEARCH comes nearest to. Read by the error message only: nothing is ever applied by similarity.

_MIN_RATIO = 0.5
_MAX_CANDIDATES = 6
_MAX_RATED_LINES = 20
_MAX_RATED_WIDTH = 80
"""Lines and columns of a candidate that its likeness is measured on: `difflib` is cubic at worst."""

_MAX_SCANNED = 10_000
"""Lines of a file among which one like the longest line of SEARCH is sought."""

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Closest:
    """The lines that SEARCH comes nearest to.

    Attributes:
        start: 0-based index of the first.
        count: how many.
        percent: likeness by characters, at most 99.
        differs: 0-based index, from `start`, of the first line that differs.
    """

    start: int
    count: int
    percent: int
    differs: int


def find_closest(lines: Sequence[str], search: Sequence[str]) -> Closest | None:
    """The window of the file most like SEARCH; None where nothing reaches half."""
    if not lines or not any(line.strip() for line in search):
        return None
    rated = {at: _likeness(lines[at : at + len(search)], search) for at in _candidates(lines, search)}
    start = max(rated, key=rated.__getitem__, default=0)
    if (ratio := rated.get(start, 0.0)) < _MIN_RATIO:
        return None
    count = min(len(search), len(lines) - start)
    differs = next((i for i in range(count) if lines[start + i] != search[i]), count)
    return Closest(start, count, min(99, int(ratio * 100)), differs)


def _likeness(window: Sequence[str], search: Sequence[str]) -> float:
    """How like SEARCH some lines are, from 0 to 1, indents aside."""
    there, wanted = (
        "\n".join(line.strip()[:_MAX_RATED_WIDTH] for line in lines[:_MAX_RATED_LINES])
        for lines in (window, search)
    )
    return SequenceMatcher(None, there, wanted, autojunk=False).ratio()


def _candidates(lines: Sequence[str], search: Sequence[str]) -> list[int]:
    """Starts worth rating: where the longest line of SEARCH is, else where lines are like it."""
    j = max(range(len(search)), key=lambda k: len(search[k].strip()))
    wanted = search[j].strip()
    places = [i for i, line in enumerate(lines) if line.strip() == wanted][:_MAX_CANDIDATES]
    if not places:
        short = {
            line.strip()[:_MAX_RATED_WIDTH]: i for i, line in reversed([*enumerate(lines[:_MAX_SCANNED])])
        }
        near = get_close_matches(wanted[:_MAX_RATED_WIDTH], short, _MAX_CANDIDATES, _MIN_RATIO)
        places = [short[line] for line in near]
    last = max(0, len(lines) - len(search))
    return list(dict.fromkeys(min(max(i - j, 0), last) for i in places))


def describe(lines: Sequence[str], search: Sequence[str], near: Closest) -> str:
    """The closest lines verbatim with their numbers, and where SEARCH first leaves them."""
    first = max(0, min(near.differs - 3, near.count - _SHOWN))
    shown = lines[near.start + first : near.start + min(near.count, first + _SHOWN)]
    span = f"lines {near.start + 1}-{near.start + near.count}" if near.count > 1 else f"line {near.start + 1}"
    text = f"Closest: {span} ({near.percent} %):\n{numbered_lines(shown, near.start + first + 1)}\n"
    if near.differs >= near.count:
        return f"{text}After line {near.start + near.count} the file ends; SEARCH continues with {quote(search[near.count])}."
    at = near.start + near.differs
    return f"{text}First difference at line {at + 1}: the file has {quote(lines[at])}, SEARCH has {quote(search[near.differs])}."


# What new text must pass

_PROSE = frozenset(
    {".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".asciidoc", ".textile", ".org", ".qmd", ".rmd", ""}
)
_WORD = patterns.compile(r"[^\W_]{3}")
_SURE_PERCENT = 80
"""From this likeness on, a place elsewhere in the file is what SEARCH meant."""


def check_new_text(block: Block, file: TextFile, old: Sequence[str], new: Sequence[str]) -> None:
    """Refuse new text that no file should get.

    Args:
        block: where the text comes from.
        file: the file as it is, for its encoding; an empty one for a new file.
        old: the lines that are replaced.
        new: the lines that replace them.

    Raises:
        BlockRefused: MARKER, OMISSION or ENCODING.
    """
    _refuse_markers(block, old, new)
    omitted = omission_in("\n".join(old), "\n".join(new))
    if omitted is not None:
        raise BlockRefused("omission", line=quote(omitted))
    _refuse_unwritable(file, old, new)


def refuse_fenced(path: str, content: Sequence[str]) -> None:
    """Refuse a whole file inside a code fence, unless it is a text that may begin and end with one."""
    filled = [line for line in content if line.strip()]
    if len(filled) < 2 or PurePosixPath(path).suffix.lower() in _PROSE:
        return
    if is_fence(filled[0]) and filled[-1].strip() in {"```", "~~~", "````"}:
        raise BlockRefused("fenced", first=quote(filled[0]), last=quote(filled[-1]))


def refuse_standing(
    entry: Entry, lines: Sequence[str], match: SearchMatch, search: Sequence[str], replace: Sequence[str]
) -> None:
    """Refuse to add lines around SEARCH that are there already, exactly so.

    Lines without a word (braces, blank lines) are added whatever is there.
    """
    start, count = match.starts[0], len(search)
    for at in repeats(replace, search):
        before, after = tuple(replace[:at]), tuple(replace[at + count :])
        if not any(_WORD.search(line) for line in before + after):
            return
        end = start + count
        if (
            start < at
            or tuple(lines[start - at : start]) != before
            or tuple(lines[end : end + len(after)]) != after
        ):
            continue
        raise BlockRefused("standing", line=start - at + 1, counting=counting(entry))


def refuse_applied(
    entry: Entry, lines: Sequence[str], parts: Sequence[tuple[Sequence[str], Sequence[str]]]
) -> None:
    """Refuse, as done already, a block whose SEARCH is not in the file while its REPLACE is.

    Not where REPLACE only takes lines away, since what is left is there anyway; nor where another place of the file is
    nearly what SEARCH says.

    Args:
        entry: the file.
        lines: its lines now.
        parts: SEARCH and REPLACE, once for each divider the block may have.
    """
    for search, replace in parts:
        known = {line.strip() for line in search}
        if not any(line.strip() not in known and any(map(str.isalnum, line)) for line in replace):
            continue
        starts = occurrences(lines, replace)
        if not starts:
            continue
        near = find_closest(lines, search)
        meets = near is not None and any(
            start < near.start + near.count and near.start < start + len(replace) for start in starts
        )
        if near is not None and near.percent >= _SURE_PERCENT and not meets:
            continue
        raise BlockRefused("applied", line=starts[0] + 1, counting=counting(entry))


def _refuse_markers(block: Block, old: Sequence[str], new: Sequence[str]) -> None:
    known = set(old)
    # Nine-character markers say that seven-character lines are content.
    seven = block.marker == 7
    found = next((line for line in new if seven and is_conflict(line) and line not in known), None)
    if found is None and block.kind is BlockKind.SEARCH:
        found = _stray_divider(block, known, new)
    if found is not None:
        raise BlockRefused("conflict_left" if seven else "marker_left", line=quote(found))


def _stray_divider(block: Block, known: set[str], new: Sequence[str]) -> str | None:
    """A divider at either end of the new text is one too many, unless it underlines a heading."""
    title = new[-2].strip() if len(new) > 1 and PurePosixPath(block.path).suffix.lower() in _PROSE else ""
    ends = new[:1] if 0 < len(title) <= block.marker + 2 else (*new[:1], *new[-1:])
    return next((line for line in ends if is_divider(line, block.marker) and line not in known), None)


def _refuse_unwritable(file: TextFile, old: Sequence[str], new: Sequence[str]) -> None:
    if any("\0" in line for line in new):
        raise BlockRefused("nul")
    known = set(old)
    character = file.unwritable([line for line in new if line not in known])
    if not character:
        return
    name = unicodedata.name(character, "no character of its own")
    encoding = "Latin-1" if file.codec == "latin-1" else "UTF-8"
    raise BlockRefused(
        "unwritable", encoding=encoding, character=quote(character), code=ord(character), name=name
    )
