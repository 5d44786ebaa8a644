"""The words of an item that has none of its own: the same generator for faulty and clean ones, from the changed places alone."""

from __future__ import annotations

from collections.abc import Sequence

from navigator.exam.faults.chance import pick
from navigator.model import patterns
from navigator.model.diff import FileDiff
from navigator.model.text import safe_line

_ASKS = (
    ("Rework {where}. Everything that works today has to keep working.", "Rework {place}"),
    ("Go over {where} once more. What callers rely on today stays as it is.", "Go over {place}"),
    ("Revise {where}. No behaviour that is right today may be lost.", "Revise {place}"),
    ("Tidy {where} up. What it does today it has to do afterwards.", "Tidy {place} up"),
)
"""Instruction and title."""

_NAME = patterns.compile(
    r"(?:def|class|func(?:\s*\([^)]*\))?|function|fn|struct|impl|interface)\s+([A-Za-z_$][\w$]*)"
)
_SHOWN = 3


def neutral_words(files: Sequence[FileDiff]) -> tuple[str, str]:
    """Instruction and title of a change that takes something back, or puts it back: neither says what was done.

    The choice among wordings depends on the changed paths alone, so that a change and its opposite read the same.
    """
    paths = [safe_line(file.path) for file in files]
    names = dict.fromkeys(
        match[1] for file in files for hunk in file.hunks if (match := _NAME.search(hunk.section)) is not None
    )
    shown = ", ".join(f"`{name}`" for name in list(names)[:_SHOWN])
    place = ", ".join(f"`{path}`" for path in paths[:_SHOWN])
    where = f"{shown} in {place}" if shown else f"the code of {place}"
    title = next(iter(names), paths[0].rpartition("/")[2])
    asked, titled = pick(_ASKS, *paths)
    return asked.format(where=where), titled.format(place=title)


def words_of_commit(subject: str, body: str) -> str:
    """A commit's message as an instruction: without signatures, references and other trailers."""
    lines = [line for line in body.splitlines() if not _TRAILER.match(line)]
    text = "\n".join(lines).strip()
    return f"{subject}\n\n{text}" if text else subject


_TRAILER = patterns.compile(r"(?i)^\s*[\w-]+-by:|^\s*(?:change-id|reverts?|cherry picked from|https?://\S+$)")
