"""Faults in a change: planted by an operator into a line that it adds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest

from navigator.exam.faults.plant import Fault, mutants
from navigator.exam.mining.history import Commit, is_code
from navigator.git.private import PrivateRepo
from navigator.model.diff import FileDiff

_LARGEST = 400_000
"""Bytes of a file that faults are planted into."""

_TELLING = 8
"""Characters of a line from which on it is unlikely to be in a file twice."""


def planted(private: PrivateRepo, base: str, tree: str, *seed: object) -> Iterator[Fault]:
    """Faults at the lines that the change adds to its code, from file to file in turns; nothing where there is no operator."""
    per_file = []
    for file in private.diff(base, tree, context=0):
        text = _text(private, tree, file.new_path)
        if text is None or not _changes_code(file):
            continue
        where = [
            line.new - 1
            for hunk in file.hunks
            for line in hunk.lines
            if line.kind == "+" and line.new is not None and line.text.strip()
        ]
        per_file.append(mutants(file.new_path, text, where, *seed))
    yield from _in_turns(per_file)


def corrected(private: PrivateRepo, base: str, tree: str, fixes: Iterable[Commit]) -> bool:
    """Whether one of the later `fixes` removed or changed a line of code that the change added."""
    added = {
        file.new_path: _lines(file, "+")
        for file in private.diff(base, tree, context=0)
        if _changes_code(file)
    }
    for fix in fixes:
        if not any(file.path in added for file in fix.code):
            continue
        for file in private.diff(fix.parent, fix.sha, context=0):
            if _lines(file, "-") & added.get(file.old_path, set()):
                return True
    return False


def _lines(file: FileDiff, kind: str) -> set[str]:
    """The lines of one sign that are long enough to tell one place from another."""
    found = (line.text.strip() for hunk in file.hunks for line in hunk.lines if line.kind == kind)
    return {line for line in found if len(line) >= _TELLING}


def _in_turns(found: list[Iterator[Fault]]) -> Iterator[Fault]:
    for fault in chain.from_iterable(zip_longest(*found)):
        if fault is not None:
            yield fault


def _changes_code(file: FileDiff) -> bool:
    return not file.binary and bool(file.new_path) and is_code(file.new_path)


def _text(private: PrivateRepo, treeish: str, path: str) -> str | None:
    """A plain file of UTF-8 with LF; None for any other."""
    entry = private.tree_entries(treeish).get(path)
    if entry is None or not entry.mode.startswith("100") or entry.size > _LARGEST:
        return None
    try:
        text = private.read_blob(entry.sha).decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\r" in text or "\0" in text else text
