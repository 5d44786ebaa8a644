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
    _refuse_unwritable(block, file, old, new)


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
        raise BlockRefused("nul")
    known = set(old)
    bad = file.unwritable([line for line in new if line not in known])
    if bad is None:
        return
    character = bad[1]
    name = unicodedata.name(character, "no character of its own")
    encoding = "Latin-1" if file.codec == "latin-1" else "UTF-8"
    raise BlockRefused(
        "unwritable", encoding=encoding, character=quote(character), code=ord(character), name=name
    )
