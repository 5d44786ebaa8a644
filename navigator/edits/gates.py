"""What a block's text must pass: no marker left in it, nothing left out, writable, and not in the file already."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import PurePosixPath

from navigator.checks.syntax import omission_in
from navigator.edits.ladder import SearchMatch, occurrences, repeats
from navigator.edits.messages import counting, find_closest
from navigator.edits.overlay import Entry
from navigator.edits.parser import Block, BlockKind, is_conflict, is_divider, is_fence
from navigator.edits.paths import BlockRefused, quote
from navigator.edits.textfile import TextFile
from navigator.model import patterns
from navigator.model.states import EditCode

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
        raise BlockRefused(
            EditCode.OMISSION,
            f"The new text holds {quote(omitted)}, which would be in the file instead of the lines it speaks of. "
            "Write every line, or a smaller block round the lines that change.",
        )
    _refuse_unwritable(block, file, old, new)


def refuse_fenced(path: str, content: Sequence[str]) -> None:
    """Refuse a whole file inside a code fence, unless it is a text that may begin and end with one."""
    filled = [line for line in content if line.strip()]
    if len(filled) < 2 or PurePosixPath(path).suffix.lower() in _PROSE:
        return
    if is_fence(filled[0]) and filled[-1].strip() in {"```", "~~~", "````"}:
        raise BlockRefused(
            EditCode.MARKER,
            f"The content begins with {quote(filled[0])} and ends with {quote(filled[-1])}: those lines would be in the "
            "file. Put code fences round the block, not into it.",
        )


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
        raise BlockRefused(
            EditCode.ALREADY_APPLIED,
            f"The REPLACE text is at line {start - at + 1} already. Drop this block. To add the same lines a second "
            f"time, put those that are there into SEARCH too.{counting(entry)}",
        )


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
        raise BlockRefused(
            EditCode.ALREADY_APPLIED,
            f"The SEARCH lines are not in the file, and the REPLACE text is at line {starts[0] + 1} already. Drop this "
            f"block; if it is meant for another place, correct SEARCH.{counting(entry)}",
        )


def _refuse_markers(block: Block, old: Sequence[str], new: Sequence[str]) -> None:
    known = set(old)
    way_out = ""
    found: str | None = None
    if block.marker == 7:
        # Nine-character markers say that seven-character lines are content.
        found = next((line for line in new if is_conflict(line) and line not in known), None)
        way_out = " If the file has to hold such a line, write the block with nine-character markers."
    if found is None and block.kind is BlockKind.SEARCH:
        found = _stray_divider(block, known, new)
    if found is not None:
        raise BlockRefused(
            EditCode.MARKER, f"The marker line {quote(found)} is left in the new text.{way_out}"
        )


def _stray_divider(block: Block, known: set[str], new: Sequence[str]) -> str | None:
    """A divider at either end of the new text is one too many, unless it underlines a heading."""
    if not new:
        return None
    if is_divider(new[0], block.marker) and new[0] not in known:
        return new[0]
    if not is_divider(new[-1], block.marker) or new[-1] in known:
        return None
    prose = PurePosixPath(block.path).suffix.lower() in _PROSE
    title = new[-2].strip() if len(new) > 1 else ""
    return None if prose and 0 < len(title) <= block.marker + 2 else new[-1]


def _refuse_unwritable(block: Block, file: TextFile, old: Sequence[str], new: Sequence[str]) -> None:
    if any("\0" in line for line in new):
        raise BlockRefused(
            EditCode.ENCODING, "The new text holds a NUL character, which makes a file binary."
        )
    known = set(old)
    bad = file.unwritable([line for line in new if line not in known])
    if bad is None:
        return
    character = bad[1]
    name = unicodedata.name(character, "no character of its own")
    encoding = "Latin-1" if file.codec == "latin-1" else "UTF-8"
    raise BlockRefused(
        EditCode.ENCODING,
        f"The file is {encoding} and cannot hold {quote(character)} (U+{ord(character):04X}, {name}). Write another "
        "character, or an escape sequence of the language.",
    )
