"""Why an answer does not apply, in words that help a model to correct it: literal, short, and never guessing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from navigator.model.states import EditCode
from navigator.model.text import safe_line

MAX_MESSAGE = 2400
"""Characters of one message; what is longer is cut in the middle, where lines of the file are quoted."""

MAX_PROBLEMS = 20
"""Problems reported for one answer: more would crowd the prompt of the repair."""

_MAX_PATH = 200


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
        path = f" {safe_line(shorten(self.path, _MAX_PATH))}" if self.path else ""
        return f"{self.code.value}{path}{place}: {self.message}"


class BlockRefused(Exception):
    """One block cannot be applied; never leaves this package."""

    def __init__(self, code: EditCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def shorten(text: str, limit: int) -> str:
    """`text`, or its first `limit` characters and a mark that says so."""
    return text if len(text) <= limit else f"{text[:limit]}[cut]"


def quote(text: str, limit: int = 160) -> str:
    """`text` in double quotes on one line, with tabs and control characters spelled out."""
    return safe_line(json.dumps(shorten(text, limit), ensure_ascii=False))


def numbered_lines(lines: Sequence[str], first: int, *, limit: int = 200) -> str:
    """Lines of a file as they are, each with its 1-based number: `    42|text`."""
    return "\n".join(f"{first + i:>6}|{shorten(line, limit)}" for i, line in enumerate(lines))


def listed(numbers: Sequence[int], *, most: int = 8) -> str:
    """`12, 88 and 90`; after `most` numbers, `and more`."""
    words = [str(n) for n in numbers[:most]]
    if len(numbers) > most:
        return f"{', '.join(words)} and more"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def plural(count: int, noun: str) -> str:
    """`1 line`, `3 lines`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
