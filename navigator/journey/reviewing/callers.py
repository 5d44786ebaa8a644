"""Code elsewhere that uses what a change redefines: without it a reviewer cannot see a caller that was left behind.

Only definitions whose line is gone or altered count, and names of renamed files; a new definition has no callers yet. The
search is by word, not by meaning: it shows places, and claims nothing about them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from navigator.git.diffs import decode_lines
from navigator.git.source import TreeSource
from navigator.model import patterns
from navigator.model.diff import FileDiff
from navigator.model.secrets import secret_in

MOST_NAMES = 8
MOST_FILES = 6
PLACES_A_FILE = 3
AROUND = 3
"""Lines shown on each side of a place."""

_LARGEST = 400_000
"""Bytes of a file in which places are looked for."""

_DEFINES = patterns.compile(
    r"^\s*(?:(?:export|default|public|private|protected|static|pub|async|abstract|final)\s+)*"
    r"(?:def|class|func|fn|function|interface|struct|enum|trait|type)\s+(?:\([^)]*\)\s*)?([A-Za-z_]\w{2,})"
)

Pieces = dict[str, list[tuple[int, str]]]
"""Path -> (first line number, text) of each piece."""


def redefined(files: Sequence[FileDiff]) -> list[str]:
    """Names whose defining line the change takes away or alters, and module names of renamed files; in the diff's order."""
    names: dict[str, None] = {}
    kept = {
        line.text.strip() for file in files for hunk in file.hunks for line in hunk.lines if line.kind == "+"
    }
    for file in files:
        if file.status.startswith("R"):
            names[PurePosixPath(file.old_path).stem] = None
        for hunk in file.hunks:
            for line in hunk.lines:
                found = _DEFINES.match(line.text) if line.kind == "-" else None
                if found and line.text.strip() not in kept and not found[1].startswith("__"):
                    names[found[1]] = None
    return list(names)[:MOST_NAMES]


def callers(source: TreeSource, files: Sequence[FileDiff]) -> Pieces:
    """Places in files that the change does not touch where a redefined name is used. Runs git: call it in a thread."""
    names = redefined(files)
    if not names:
        return {}
    touched = {path for file in files for path in (file.old_path, file.new_path)}
    hits = {path: words for path, words in source.mentions(names).items() if path not in touched}
    # Files that use more of the names first; then the nearest by name, so that the choice does not hang on chance.
    chosen = sorted(hits, key=lambda path: (-len(hits[path]), path))[:MOST_FILES]
    found: Pieces = {}
    for path in chosen:
        content = source.read(path)
        if content is None or len(content) > _LARGEST or secret_in(content):
            continue
        lines = decode_lines(content).splitlines()
        found[path] = list(_pieces(lines, hits[path]))
    return {path: pieces for path, pieces in found.items() if pieces}


def _pieces(lines: Sequence[str], words: set[str]) -> Iterator[tuple[int, str]]:
    pattern = patterns.compile(r"\b(?:" + "|".join(map(patterns.escape, sorted(words))) + r")\b")
    places = [number for number, line in enumerate(lines, 1) if pattern.search(line)]
    # An import alone says little: where there are other places, they are shown.
    uses = [
        number
        for number in places
        if not patterns.match(r"\s*(?:from|import|use|#include)\b", lines[number - 1])
    ]
    last = 0
    for number in (uses or places)[:PLACES_A_FILE]:
        first = max(last + 1, number - AROUND)
        end = min(len(lines), number + AROUND)
        if first <= end:
            yield first, "\n".join(lines[first - 1 : end])
            last = end
