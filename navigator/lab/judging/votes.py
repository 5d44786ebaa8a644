"""What is judged, and what judges said: JSON lines, one object a line."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from navigator.model.errors import UsageError
from navigator.model.json_text import read_json

_Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Winner = Literal["first", "second", "tie"]


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Item(_Line):
    """One task with the answers of several systems, by the systems' names."""

    task: _Name
    question: str
    answers: Annotated[dict[_Name, str], Field(min_length=2)]

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Every two systems whose answers differ, in the order of their names."""
        for one, other in itertools.combinations(sorted(self.answers), 2):
            if self.answers[one] != self.answers[other]:
                yield one, other


class Vote(_Line):
    """What one judge said to one pair in one order. `winner` is a place, since the judge sees no names."""

    task: _Name
    judge: _Name
    first: _Name
    second: _Name
    winner: Winner

    @model_validator(mode="after")
    def _two(self) -> Vote:
        if self.first == self.second:
            raise ValueError("a system is compared with itself")
        return self

    @property
    def preferred(self) -> str | None:
        """The system that won; None for a tie."""
        return {"first": self.first, "second": self.second, "tie": None}[self.winner]


_T = TypeVar("_T", bound=_Line)


def read_votes(path: Path) -> list[Vote]:
    """The votes in a file. Of a vote that is there twice, the later one counts.

    Raises:
        UsageError: as `read_items`.
    """
    latest = {(vote.task, vote.judge, vote.first, vote.second): vote for vote in _read(path, Vote)}
    return list(latest.values())


def _read(path: Path, kind: type[_T]) -> list[_T]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            found.append(kind.model_validate(read_json(line)))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"])) or "the line"
            raise UsageError(f"{path}, line {number}: {where}: {first['msg']}.") from error
        except ValueError as error:
            raise UsageError(f"{path}, line {number} is no JSON: {error}.") from error
    return found
