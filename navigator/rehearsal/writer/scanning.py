"""What the generator proposes in a scan: a task for each place in the files shown that one of its rules could work on."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Any

from navigator.domain.states import Complexity, TaskKind
from navigator.rehearsal.chance import fraction
from navigator.rehearsal.reading import WritingPrompt
from navigator.rehearsal.samples.texts import WORDINGS, Wording
from navigator.rehearsal.writer.work import LARGEST_FILE

UNFAITHFUL_RATE = 0.12
"""Share of suggestions whose quoted line is not as it stands in the file, as happens with models."""

MOST_A_FILE = 3
"""Suggestions about one file: the list is to be about the project."""

_WHY = {
    TaskKind.FIX: "It fails in a case that will happen.",
    TaskKind.SECURITY: "Somebody outside decides what happens here.",
    TaskKind.REFACTOR: "The next reader has to know why it is written so.",
    TaskKind.TEST: "Nothing notices when it breaks.",
    TaskKind.DOCS: "Whoever follows it gets lost.",
}


def write_suggestions(prompt: WritingPrompt, seed: int) -> dict[str, Any]:
    """The answer to a scan before it is cut to its schema, in the order of the files."""
    return {"suggestions": list(_suggestions(prompt, seed))}


def _suggestions(prompt: WritingPrompt, seed: int) -> Iterator[dict[str, Any]]:
    for path, text in prompt.files.items():
        if len(text) > LARGEST_FILE or path.startswith("tests/"):
            continue
        lines = text.split("\n")
        places = ((wording, _places(wording, path, lines)) for wording in WORDINGS[:-1])
        found = [(wording, numbers) for wording, numbers in places if numbers]
        yield from (_one(wording, path, lines, numbers, seed) for wording, numbers in found[:MOST_A_FILE])


def _places(wording: Wording, path: str, lines: list[str]) -> list[int]:
    """The numbers of the lines that the wording is about."""
    if not path.endswith(wording.suffix):
        return []
    return [number for number, line in enumerate(lines, 1) if re.search(wording.pattern, line)]


def _one(wording: Wording, path: str, lines: list[str], found: list[int], seed: int) -> dict[str, Any]:
    words = wording.texts[0].format(file=posixpath.basename(path), path=path)
    title, _, rest = words.partition("\n")
    places = "1 place" if len(found) == 1 else f"{len(found)} places"
    quote = lines[found[0] - 1]
    if fraction("unfaithful", seed, path, title) < UNFAITHFUL_RATE:
        quote = f"{quote.strip()}  # as in the other modules"
    return {
        "title": title,
        "text": " ".join([rest.strip(), f"{places} in {path}."]).strip(),
        "kind": wording.kind.value,
        "complexity": (Complexity.SIMPLE, Complexity.MEDIUM, Complexity.COMPLEX)[
            min(2, (len(found) - 1) // 2)
        ].value,
        "files": [path],
        "new_files": _new_files(wording, path),
        "why": _WHY.get(wording.kind, "It is asked for."),
        "evidence": {"path": path, "line": found[0], "quote": quote},
    }


def _new_files(wording: Wording, path: str) -> list[str]:
    stem = posixpath.basename(path).removesuffix(".py")
    return [f"tests/test_{stem}_interface.py"] if wording.kind is TaskKind.TEST else []
