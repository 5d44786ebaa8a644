"""Paths that a model writes: cleaning the line, refusing what is unsafe, and guessing what was meant."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from navigator.checks.policy import is_git_folder
from navigator.context.looks import alike
from navigator.model import patterns
from navigator.model.json_text import table
from navigator.model.states import EditCode
from navigator.model.text import INVISIBLE, is_unsafe, safe_line

_AROUND = " \t\r\f\v\u00a0#*`'\"\u2018\u2019\u201c\u201d"
_DRIVE = patterns.compile(r"[A-Za-z]:(?:[\\/]|$)")
_LISTED = patterns.compile(r"(?:[-+>]|[0-9]+[.)])\s")
_MAX_NAME = 255
_MAX_PATH = 4096


def clean_path_line(line: str) -> str:
    """The path on a line: what a model puts around it for looks goes, spaces inside it stay, `./` in front goes."""
    path = line.strip(_AROUND)
    while path.startswith("./"):
        path = path[2:]
    return path


def unsafe_path(path: str) -> str | None:
    """Why nothing may be written at a path, as a sentence; None where it is an ordinary path inside the tree."""
    if not path:
        return "The path is empty."
    if "\0" in path or is_unsafe(path) or INVISIBLE.search(path):
        return "The path holds a control, bidirectional or invisible character."
    if "\\" in path:
        return "The path holds a backslash; folders are separated by /."
    if path.startswith(("/", "~/")) or _DRIVE.match(path):
        return "The path is absolute; write it from the repository's root."
    names = path.split("/")
    if ".." in names:
        return "The path climbs with '..'; write it from the repository's root."
    if "" in names or "." in names:
        return (
            "The path has an empty part; write it from the repository's root, without // or a / at its end."
        )
    if any(is_git_folder(name) for name in names):
        return "Nothing may be written inside .git."
    if len(path.encode()) > _MAX_PATH or any(len(name.encode()) > _MAX_NAME for name in names):
        return "The path is too long for a file system."
    return None


def doubtful_new_path(path: str) -> str | None:
    """Why a line is hardly the path of a new file: it reads like a sentence or a list item."""
    if path[-1] in ":.,;!?" or _LISTED.match(path) or ": " in path or any(c in path for c in '<>|"*?`'):
        return f"{quote(path)} reads like a sentence. Write the new file's path alone on its line, above the opener."
    return None


def did_you_mean(path: str, known: Collection[str]) -> list[str]:
    """Up to three known paths that may be meant, likeliest first."""
    said = path.replace("\\", "/")
    words = (word.strip(f"{_AROUND}()[]<>:,;.!?/") for word in said.split())
    written = [word for word in words if word in known]
    near = difflib.get_close_matches(said[:300], alike(said, known), 3, 0.0)
    return [one for one in dict.fromkeys([*written, *near]) if one != path][:3]


MAX_MESSAGE = 2400
"""Characters of one message; what is longer is cut in the middle, where lines of the file are quoted."""

MAX_PROBLEMS = 20
"""Problems reported for one answer: more would crowd the prompt of the repair."""

_SHOWN_PATH, _SHOWN_LINE, _QUOTED, _MOST_LISTED = 200, 200, 160, 8


@dataclass(frozen=True, slots=True)
class EditProblem:
    """One reason why nothing was written.

    Attributes:
        code: the class of the failure, as it is counted.
        path: the path the block names, as far as it could be read.
        block: the block's number in the answer, from 1; 0 when the problem belongs to no single block.
        of: how many blocks the answer holds.
        message: what is wrong and what to write instead; at most `MAX_MESSAGE` characters.
    """

    code: EditCode
    path: str
    block: int
    of: int
    message: str

    def __post_init__(self) -> None:
        if len(self.message) > MAX_MESSAGE:
            half = MAX_MESSAGE // 2 - 10
            object.__setattr__(self, "message", f"{self.message[:half]}\n[cut]\n{self.message[-half:]}")

    def __str__(self) -> str:
        place = f" (block {self.block} of {self.of})" if self.block else ""
        path = f" {safe_line(shorten(self.path, _SHOWN_PATH))}" if self.path else ""
        return f"{self.code.value}{path}{place}: {self.message}"


class BlockRefused(Exception):
    """One block cannot be applied; never leaves this package. `reason` is a key of `problems.toml`."""

    def __init__(self, reason: str, **words: object) -> None:
        entry = table(__package__, "problems.toml")[reason]
        self.code = EditCode(entry["code"])
        self.message: str = entry["text"].format(**words)
        super().__init__(self.message)


def shorten(text: str, limit: int) -> str:
    """`text`, or its first `limit` characters and a mark that says so."""
    return text if len(text) <= limit else f"{text[:limit]}[cut]"


def quote(text: str) -> str:
    """`text` in double quotes on one line, with tabs and control characters spelled out."""
    return safe_line(json.dumps(shorten(text, _QUOTED), ensure_ascii=False))


def numbered_lines(lines: Sequence[str], first: int) -> str:
    """Lines of a file as they are, each with its 1-based number: `    42|text`."""
    return "\n".join(f"{first + i:>6}|{shorten(line, _SHOWN_LINE)}" for i, line in enumerate(lines))


def listed(numbers: Sequence[int]) -> str:
    """`12, 88 and 90`; after eight numbers, `and more`."""
    words = [str(n) for n in numbers[:_MOST_LISTED]]
    if len(numbers) > _MOST_LISTED:
        return f"{', '.join(words)} and more"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
