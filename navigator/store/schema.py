"""The tables, their constraints, and the triggers that make the database obey the domain's transition tables.

`schema.sql` has the tables. A column holds the field of the same name of one of the domain's models. The field's type says how
it is stored: tuples, sets, dicts and models as JSON, an id (`TaskId`, `ProposalId`) as its number, a bool as 0 or 1, everything
else as it is. A column that no field names is left to whoever writes it.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Mapping
from enum import Enum, StrEnum
from functools import cache
from inspect import isclass
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, TypeVar, get_origin

from navigator.model import states
from navigator.model.ids import Lettered, number_of, proposal_id, task_id
from navigator.model.json_text import read_json
from navigator.model.states import PROPOSAL_TRANSITIONS, TASK_TRANSITIONS, ProposalState, TaskState
from navigator.store.errors import IllegalTransition

if TYPE_CHECKING:
    from pydantic import BaseModel

APPLICATION_ID = 0x4E415631
"""`PRAGMA application_id` of Navigator's databases: "NAV1"."""

WORLD = "rehearsal"
"""The key in `meta` that says whether everything in the database is simulated; written when it is made, and never again."""

SCHEMA_VERSION = 24
"""`PRAGMA user_version` of a database with these tables."""

_S = TypeVar("_S", bound=StrEnum)


def _quoted(words: Iterable[StrEnum]) -> str:
    return ", ".join(f"'{word.value}'" for word in sorted(words))


class _Words(dict[str, str]):
    """The words of an enum of `model/states.py` by its name."""

    def __missing__(self, name: str) -> str:
        return _quoted(getattr(states, name))


@cache
def schema() -> tuple[str, ...]:
    """The statements that make an empty database's tables and indexes."""
    text = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")
    made = Template(text).substitute(_Words()).split(";\n")
    return tuple(one.strip() for one in made if one.strip())


def tables() -> tuple[str, ...]:
    """The names of the tables, in the order in which they are made."""
    return tuple(one.split("CREATE TABLE ")[1].split()[0] for one in schema() if "CREATE TABLE " in one)


def triggers() -> dict[str, str]:
    """Every trigger by name: legal transitions, first states, proposals that nothing alters once reviewed."""
    made = {
        **_transition_triggers("tasks", TASK_TRANSITIONS, TaskState.QUEUED),
        **_transition_triggers("proposals", PROPOSAL_TRANSITIONS, ProposalState.OPEN),
    }
    made["proposals_immutable"] = (
        "CREATE TRIGGER proposals_immutable"
        " BEFORE UPDATE OF task_id, attempt, round, base_commit, tree, edits, model ON proposals"
        " WHEN EXISTS (SELECT 1 FROM reviews WHERE proposal_id = OLD.id)"
        " OR EXISTS (SELECT 1 FROM decisions WHERE proposal_id = OLD.id)"
        " BEGIN SELECT RAISE(ABORT, 'a proposal that was read is never altered'); END"
    )
    for change in ("UPDATE", "DELETE"):
        made[f"world_{change.lower()}"] = (
            f"CREATE TRIGGER world_{change.lower()} BEFORE {change} ON meta WHEN OLD.key = '{WORLD}'"
            " BEGIN SELECT RAISE(ABORT, 'a state folder is real or a rehearsal for good'); END"
        )
    return made


def _transition_triggers(table: str, transitions: Mapping[_S, frozenset[_S]], first: _S) -> dict[str, str]:
    legal = " OR ".join(
        f"(OLD.state = '{state}' AND NEW.state IN ({_quoted(targets)}))"
        for state, targets in transitions.items()
        if targets
    )
    return {
        f"{table}_transition": (
            f"CREATE TRIGGER {table}_transition BEFORE UPDATE OF state ON {table}"
            f" WHEN OLD.state IS NOT NEW.state AND NOT ({legal})"
            f" BEGIN SELECT RAISE(ABORT, 'illegal change of state in {table}'); END"
        ),
        f"{table}_first_state": (
            f"CREATE TRIGGER {table}_first_state BEFORE INSERT ON {table} WHEN NEW.state IS NOT '{first}'"
            f" BEGIN SELECT RAISE(ABORT, 'a new row of {table} starts as {first}'); END"
        ),
    }


_M = TypeVar("_M", bound="BaseModel")
_JSON, _FLAG = "json", "flag"
_IDS = {"T": task_id, "P": proposal_id}


@cache
def _kinds(model: type[BaseModel]) -> dict[str, str]:
    """How each field of a model is stored: "json", "flag", "T" or "P" for an id, "" for a plain value."""
    from pydantic import BaseModel  # late: `navigator status` reads without models

    kinds = {}
    for name, field in model.model_fields.items():
        base = get_origin(field.annotation) or field.annotation
        nested = isclass(base) and issubclass(base, (tuple, frozenset, dict, BaseModel))
        letters = [mark.letter for mark in field.metadata if isinstance(mark, Lettered)]
        kinds[name] = (
            letters[0] if letters else _JSON if nested else _FLAG if field.annotation is bool else ""
        )
    return kinds


class DamagedRow(sqlite3.DatabaseError):
    """A row holds what was never written there. Told like any other damage of the file."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


def decoded(model: type[BaseModel], row: sqlite3.Row) -> dict[str, Any]:
    """The columns of `row` that are fields of `model`, as plain data. NULL is left out: the field's default holds."""
    kinds = _kinds(model)
    try:
        return {
            name: _value(kinds[name], column)
            for name, column in zip(row.keys(), row, strict=True)
            if name in kinds and column is not None
        }
    except (TypeError, ValueError, RecursionError) as error:
        raise damaged(model.__name__, row) from error


def _value(kind: str, column: Any) -> Any:
    if kind == _JSON:
        return read_json(column)
    if kind == _FLAG:
        return bool(column)
    return _IDS[kind](column) if kind else column


def from_row(model: type[_M], row: sqlite3.Row, **more: Any) -> _M:
    """A model from a row; `more` are fields that the row does not hold."""
    values = {**decoded(model, row), **more}
    try:
        return model.model_validate(values)
    except ValueError as error:
        raise damaged(model.__name__, row) from error


def damaged(kind: str, row: sqlite3.Row) -> DamagedRow:
    """The error for a row that is no model of that name."""
    number = f" {row['id']}" if "id" in row.keys() else ""  # noqa: SIM118 - iterating a Row gives its values
    return DamagedRow(f"row{number} of {kind} cannot be read")


def from_rows(model: type[_M], found: Iterable[sqlite3.Row]) -> list[_M]:
    """A model from each row."""
    return [from_row(model, row) for row in found]


def encoded(model: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of `model` as columns."""
    kinds = _kinds(model)
    return {name: _column(kinds[name], value) for name, value in values.items()}


def _column(kind: str, value: Any) -> Any:
    if kind == _JSON:
        return dumped(value)
    if kind == _FLAG:
        return int(value)
    if kind:
        return number_of(value, kind) if value else None
    return value.value if isinstance(value, Enum) else value


def dumped(value: Any) -> str:
    """A JSON column: models, tuples of models, or plain data. ASCII, so that any string a model may hold fits."""
    return json.dumps(value, default=_json_value, separators=(",", ":"))


def _json_value(value: Any) -> Any:
    from pydantic import BaseModel

    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} does not fit into a JSON column")


def clean(value: Any) -> Any:
    """A parameter as SQLite can take it: lone surrogates (undecodable bytes of an argument) become `?`."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "replace").decode("utf-8")
    return value


def packed(text: str) -> bytes:
    """An answer's text as it is stored."""
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 6)


def unpacked(blob: bytes) -> str:
    """The text again."""
    return zlib.decompress(blob).decode("utf-8", "surrogatepass")


def require_transition(
    current: TaskState | ProposalState, target: TaskState | ProposalState, *, of: str
) -> None:
    """Raise `IllegalTransition` unless the table knows `current -> target`; `of` is the id of the task or proposal."""
    known: dict[Any, frozenset[Any]] = (
        TASK_TRANSITIONS if isinstance(current, TaskState) else PROPOSAL_TRANSITIONS
    )
    if target not in known[current]:
        raise IllegalTransition(
            f"{of} is {current.value}: it cannot become {target.value}.",
            hint="`navigator task show` and `navigator proposals` say what happened to it.",
        )
