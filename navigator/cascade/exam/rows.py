"""Rows of a file of review tasks with known answers, read strictly: JSON lines, or one JSON array. Pure.

Two forms are known. The native one is `{"diff": …, "faulty": true, "path": …, "line": 12, "text": …}`. Rows of Martian's offline
set are `{"pr_title", "url", "comments": [{"comment", "severity"}]}` and hold no diff: the user adds it as `"diff"`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from navigator.domain.states import Complexity, TaskKind

_SERIOUS = frozenset({"critical", "high", "medium"})
_LONGEST_TEXT = 20_000


class Row(BaseModel):
    """One row in the native form. Keys that are not known are refused: a misspelt one would change the answer.

    Attributes:
        diff: a unified diff.
        base: whole old texts by path, where they are known; without them the files are as far as the diff shows them.
        faulty: whether REVISE is the right verdict.
        text: the instruction; a neutral one is made where it is empty.
        path, line, end_line: the place of the fault in the new file, as far as it is known.
        id: a name of the row's own, kept as evidence.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    diff: str = Field(min_length=1)
    faulty: bool
    base: dict[str, str] = Field(default_factory=dict)
    text: str = Field(default="", max_length=_LONGEST_TEXT)
    title: str = Field(default="", max_length=500)
    summary: str = Field(default="", max_length=_LONGEST_TEXT)
    kind: TaskKind = TaskKind.IMPLEMENT
    complexity: Complexity = Complexity.MEDIUM
    path: str = ""
    line: int = Field(default=0, ge=0)
    end_line: int = Field(default=0, ge=0)
    id: str = Field(default="", max_length=500)


class RowRefused(ValueError):
    """Why a row is no item."""


@dataclass(frozen=True)
class Numbered:
    """A row of the file with its line (of JSON lines) or its place in the array, from 1; or why it was refused."""

    number: int
    row: Row | None = None
    refused: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)


def read_rows(text: str) -> Iterator[Numbered]:
    """Every row of a file, the unreadable ones with the reason.

    Raises:
        RowRefused: it begins as an array and is no JSON.
    """
    if text.lstrip("\ufeff \t\r\n").startswith("["):
        try:
            found = json.loads(text.removeprefix("\ufeff"))
        except ValueError as error:
            raise RowRefused(f"it is no JSON: {error}") from error
        for number, document in enumerate(found, 1):
            yield _numbered(number, document)
        return
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if not line.strip():
            continue
        try:
            document = json.loads(line)
        except ValueError as error:
            yield Numbered(number, refused=f"it is no JSON: {error}")
            continue
        yield _numbered(number, document)


def _numbered(number: int, document: Any) -> Numbered:
    try:
        if not isinstance(document, dict):
            raise RowRefused("it is no JSON object")
        if "comments" in document:
            return Numbered(number, *_of_comments(document))
        return Numbered(number, Row.model_validate(document))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "row"
        said = (
            "there is no such key"
            if first["type"] == "extra_forbidden"
            else first["msg"][:1].lower() + first["msg"][1:]
        )
        return Numbered(number, refused=f"{where}: {said}")
    except RowRefused as error:
        return Numbered(number, refused=str(error))


def _of_comments(document: dict[str, Any]) -> tuple[Row, str, dict[str, Any]]:
    """A row of Martian's set: faulty where one of its comments is at least of medium severity."""
    comments = document["comments"]
    if not isinstance(comments, list) or not all(isinstance(comment, dict) for comment in comments):
        raise RowRefused("comments: it is no list of objects")
    if not document.get("diff"):
        raise RowRefused('it has no diff; add it as "diff": for a pull request, its URL with .diff gives it')
    severities = [str(comment.get("severity", "")).lower() for comment in comments]
    if comments and not _SERIOUS.intersection(severities):
        raise RowRefused("all its comments are minor, so that neither verdict is wrong")
    row = Row.model_validate(
        {
            "diff": document["diff"],
            "faulty": bool(comments),
            "text": document.get("pr_title", ""),
            "title": document.get("pr_title", ""),
            "id": document.get("url", ""),
        }
    )
    said = [str(comment.get("comment", ""))[:500] for comment in comments]
    return row, "", {"comments": said}
