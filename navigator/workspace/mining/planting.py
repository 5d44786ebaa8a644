"""Faults in a change: planted by an operator into a line that it adds, or made by leaving one of its hunks out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, zip_longest

from navigator.domain.diff import FileDiff
from navigator.faults.plant import Fault, mutants, without_hunks
from navigator.workspace.git.private import PrivateRepo
from navigator.workspace.mining.history import is_code
from navigator.workspace.mining.reversal import today_path

_LARGEST = 400_000
"""Bytes of a file that faults are planted into."""


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


def left_out(private: PrivateRepo, base: str, tree: str, *seed: object) -> Iterator[Fault]:
    """The change without one hunk of its code each; nothing for a change that has only one."""
    files = [file for file in private.diff(base, tree, context=0) if _changes_code(file)]
    several = sum(len(file.hunks) for file in files) > 1
    per_file = []
    for file in files:
        old, new = _text(private, base, file.old_path), _text(private, tree, file.new_path)
        if old is None or new is None or file.old_path != file.new_path:
            continue
        if len(file.hunks) > 1:
            per_file.append(without_hunks(file.new_path, old, new, *seed))
        elif several and file.hunks:
            per_file.append(
                iter([Fault("hunk-left-out", file.new_path, max(1, file.hunks[0].new_start), old)])
            )
    for fault in _in_turns(per_file):
        yield replace(fault, kind="hunk-left-out")


def stands(private: PrivateRepo, base: str, tree: str, today: str) -> bool:
    """Whether every line of code that the change added is still in its file today: no later commit had to correct one."""
    now = private.tree_entries(today)
    for file in private.diff(base, tree, context=0):
        if not _changes_code(file):
            continue
        entry = now.get(today_path(file.new_path, now))
        if entry is None:
            return False
        held = {line.strip() for line in private.read_blob(entry.sha).decode("utf-8", "replace").splitlines()}
        added = (line.text.strip() for hunk in file.hunks for line in hunk.lines if line.kind == "+")
        if not all(line in held for line in added):
            return False
    return True


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
