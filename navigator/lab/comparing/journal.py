"""What a comparison keeps, in a folder of its own: its plan, every answer, every result. It goes on from there after a crash.

Nothing of it is in the database: it enters no inbox, no rate and no statistic of the work.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from navigator.model.errors import Conflict, UsageError
from navigator.model.json_text import read_json
from navigator.model.models import Usage
from navigator.model.states import Complexity, Role, TaskKind


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class LabTask(_Line):
    """One task with the tests that decide.

    Attributes:
        key: names it within the comparison.
        project_id: None for a task that comes from a file.
        base: the commit that models are shown.
        frame: the tree that a result is put on: the tests that decide, on code as it is in `base`.
        check: the command that decides, where the project has none of its own.
        sound: the tree of the known solution; "" where there is none.
    """

    key: str
    project_id: int | None = None
    text: str
    kind: TaskKind = TaskKind.FIX
    complexity: Complexity = Complexity.MEDIUM
    base: str
    frame: str
    sound: str = ""
    check: str = ""
    origin: str = ""


class TurnAnswer(_Line):
    """One answer of a model: to question `number` of the turn `path` of a task. `error` says why there is none."""

    task: str
    path: str
    number: int
    text: str = ""
    reasoning: str = ""
    model: str = ""
    usage: Usage = Usage()
    error: str = ""


class Turn(_Line):
    """A turn that was taken: all its answers are kept."""

    task: str
    path: str


class TreeTests(_Line):
    """What the tests said of a tree."""

    task: str
    tree: str
    passed: bool
    detail: str = ""
    seconds: float = 0.0


class Tried(_Line):
    """A candidate that was looked at; `reason` says why it is no task. An empty key: the choice is complete."""

    key: str
    reason: str = ""


class Swapped(_Line):
    """One swap that the comparison made."""

    to: str
    seconds: float
    outcome: str


class Vote(_Line):
    """What one judge said to one pair in one order; `better` is "" for a tie. The judge sees no names."""

    task: str
    judge: str
    first: str
    second: str
    better: str


class Setting(_Line):
    """What makes two runs of a command the same comparison."""

    arms: tuple[str, ...]
    rounds: int
    models: dict[str, str]
    prompts: dict[str, str]
    simulated: bool = False


_T = TypeVar("_T", bound=_Line)

_FILES: dict[type[_Line], str] = {
    TurnAnswer: "answers",
    Turn: "turns",
    TreeTests: "runs",
    Swapped: "swaps",
    LabTask: "tasks",
    Tried: "tried",
    Vote: "votes",
}


class Journal:
    """The folder of one comparison. Lines are written to the disk before anything is built on them."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder = folder
        self.answers = {(one.task, one.path, one.number): one for one in self._read("answers", TurnAnswer)}
        self.turns = {(one.task, one.path) for one in self._read("turns", Turn)}
        self.runs = {(one.task, one.tree): one for one in self._read("runs", TreeTests)}
        self.swaps = self._read("swaps", Swapped)
        self.tasks = self._read("tasks", LabTask)
        self.tried = {one.key: one.reason for one in self._read("tried", Tried)}
        self.votes = self._read("votes", Vote)

    def agree(self, plan: Setting) -> None:
        """Take up the comparison that is kept here, or begin it.

        Raises:
            Conflict: what is kept was made with other models, prompts or arms.
        """
        kept = self._read("plan", Setting)
        if not kept:
            self._append("plan", plan)
        elif (was := kept[-1]) != plan:
            changed = [name for name in Setting.model_fields if getattr(was, name) != getattr(plan, name)]
            raise Conflict(
                f"The comparison in {self.folder} was begun with other {', '.join(changed)}.",
                hint="Give this one another --name.",
            )

    @property
    def chosen(self) -> bool:
        """Whether the tasks are chosen; otherwise those that are known are a part of them."""
        return "" in self.tried

    def add(self, line: TurnAnswer | Turn | TreeTests | Swapped | LabTask | Tried | Vote) -> None:
        """Keep one line."""
        match line:
            case TurnAnswer():
                self.answers[line.task, line.path, line.number] = line
            case Turn():
                self.turns.add((line.task, line.path))
            case TreeTests():
                self.runs[line.task, line.tree] = line
            case Swapped():
                self.swaps.append(line)
            case LabTask():
                self.tasks.append(line)
            case Tried():
                self.tried[line.key] = line.reason
            case Vote():
                self.votes.append(line)
        self._append(_FILES[type(line)], line)

    def _append(self, name: str, line: BaseModel) -> None:
        path = self.folder / f"{name}.jsonl"
        with path.open("ab") as stream:
            stream.write(line.model_dump_json().encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())

    def _read(self, name: str, kind: type[_T]) -> list[_T]:
        path = self.folder / f"{name}.jsonl"
        if not path.exists():
            return []
        raw = path.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1]
        if whole != raw:  # cut off by a crash in the middle of a line
            with path.open("r+b") as stream:
                stream.truncate(len(whole))
        found: list[_T] = []
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                document: Any = read_json(line)
                found.append(kind.model_validate(document))
            except (ValueError, ValidationError) as error:
                raise UsageError(
                    f"{path}, line {number} cannot be read: {error}.",
                    hint="Give the comparison another --name.",
                ) from error
        return found


# The ways of working that are compared, as chains of turns. Pure.
#
# A turn is an actor's letter; a path such as "grg" says that the generator wrote, the reviewer read and the generator revised.
# Arms that begin alike share those turns: the same draft is reviewed by its writer and by the reviewer.


@dataclass(frozen=True, slots=True)
class Actor:
    """Who takes a turn: the role whose residency it needs, and another model of that server, "" for the role's own."""

    letter: str
    role: Role
    model: str = ""


@dataclass(frozen=True, slots=True)
class Arm:
    """One way of working: who writes, and who reads what was written; None where nobody does."""

    name: str
    writer: str
    reader: str | None = None


ARMS = {
    arm.name: arm
    for arm in (
        Arm("generator", "g"),
        Arm("self-review", "g", "g"),
        Arm("cascade", "g", "r"),
        Arm("reviewer", "r"),
        Arm("adapters", "a", "b"),
    )
}
USUAL = ("generator", "self-review", "cascade", "reviewer")


def next_turn(arm: Arm, revise: Mapping[str, bool], rounds: int) -> str | None:
    """The path of the arm's next turn; None when it is at its end.

    Args:
        revise: of the turns that were taken, whether they asked for a revision; writing turns ask for none.
        rounds: revisions at most.
    """
    longest = _longest(arm, rounds)
    for end in range(1, len(longest) + 1):
        path = longest[:end]
        if path not in revise:
            return path
        if len(path) % 2 == 0 and not revise[path]:
            return None
    return None


def _longest(arm: Arm, rounds: int) -> str:
    return arm.writer + (arm.reader + arm.writer) * rounds if arm.reader else arm.writer


def turns_taken(arm: Arm, revise: Mapping[str, bool], rounds: int) -> list[str]:
    """The paths of an arm that is at its end, in order."""
    longest = _longest(arm, rounds)
    return [longest[:end] for end in range(1, len(longest) + 1) if longest[:end] in revise]


def most_turns(arms: Sequence[Arm], rounds: int) -> int:
    """Turns that a task takes at most; arms that begin alike share them."""
    chains = [_longest(arm, rounds) for arm in arms]
    return len({chain[:end] for chain in chains for end in range(1, len(chain) + 1)})


def swaps_expected(arms: Sequence[Arm], actors: Mapping[str, Actor], rounds: int, loaded: Role | None) -> int:
    """The most swaps that all arms together can take, every turn that a model can take being taken while it is loaded."""
    left = [[actors[letter].role for letter in _longest(arm, rounds)] for arm in arms]
    swaps, here = 0, loaded or Role.GENERATOR
    while any(left):
        for chain in left:
            while chain and chain[0] is here:
                chain.pop(0)
        if any(left):
            here = next(chain[0] for chain in left if chain)
            swaps += 1
    return swaps
