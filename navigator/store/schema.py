"""The tables, their constraints, and the triggers that make the database obey the domain's transition tables.

`schema.sql` has the tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from importlib import resources
from string import Template
from typing import TypeVar

from navigator.model import states
from navigator.model.states import PROPOSAL_TRANSITIONS, TASK_TRANSITIONS, ProposalState, TaskState

APPLICATION_ID = 0x4E415631
"""`PRAGMA application_id` of Navigator's databases: "NAV1"."""

WORLD = "rehearsal"
"""The key in `meta` that says whether everything in the database is simulated; written when it is made, and never again."""

SCHEMA_VERSION = 15
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
    text = resources.files(__package__).joinpath("schema.sql").read_text(encoding="utf-8")
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
