"""What a comparison keeps, in a file of its own: its plan, every turn, every result. It goes on from there after a crash.

Nothing of it is in the database: it enters no inbox, no rate and no statistic of the work.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from navigator.figures.compared import Vote
from navigator.lab.runs import add_lines, whole_lines
from navigator.model.errors import Conflict, UsageError
from navigator.model.json_text import read_json
from navigator.model.models import CheckResult, Review, Usage
from navigator.model.states import Role, TaskKind, Verdict


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
    """

    key: str
    project_id: int | None = None
    text: str
    kind: TaskKind = TaskKind.FIX
    base: str
    frame: str
    check: str = ""


class Turn(_Line):
    """A turn that was taken, with what all its questions cost.

    A writing turn has the tree that it left (that of the base where nothing applied), its answer, and what its checks said;
    `problem` says why nothing applied. A reading turn has its review.
    """

    task: str
    path: str
    tree: str = ""
    text: str = ""
    summary: str = ""
    checks: tuple[CheckResult, ...] = ()
    problem: str = ""
    review: Review | None = None
    usage: Usage = Usage()

    @property
    def asks(self) -> bool:
        """Whether it asks for a revision."""
        read = self.review
        return bool(read and read.verdict is Verdict.REVISE and any(one.asked_for for one in read.findings))


class TreeTests(_Line):
    """What the tests said of a tree."""

    task: str
    tree: str
    passed: bool
    detail: str = ""


class Tried(_Line):
    """A candidate that was looked at; `reason` says why it is no task. An empty key: the choice is complete."""

    key: str
    reason: str = ""


class Swapped(_Line):
    """One swap that the comparison made."""

    to: str
    seconds: float
    outcome: str


class Setting(_Line):
    """What makes two runs of a command the same comparison."""

    arms: tuple[str, ...]
    rounds: int
    models: dict[str, str]
    prompts: dict[str, str]
    simulated: bool = False


_KINDS: dict[str, type[BaseModel]] = {
    "turn": Turn,
    "tests": TreeTests,
    "swap": Swapped,
    "task": LabTask,
    "tried": Tried,
    "vote": Vote,
    "plan": Setting,
}
"""What a line is, by the name that it is written under."""


class Journal:
    """The file of one comparison, in a folder. Lines are written to the disk before anything is built on them."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder = folder
        self.turns: dict[tuple[str, str], Turn] = {}
        self.runs: dict[tuple[str, str], TreeTests] = {}
        self.swaps: list[Swapped] = []
        self.tasks: list[LabTask] = []
        self.tried: dict[str, str] = {}
        self.votes: list[Vote] = []
        self.plan: Setting | None = None
        for line in self._read():
            self._take(line)

    def agree(self, plan: Setting) -> None:
        """Take up the comparison that is kept here, or begin it.

        Raises:
            Conflict: what is kept was made with other models, prompts or arms.
        """
        if self.plan is None:
            self.add(plan)
        elif self.plan != plan:
            changed = [
                name for name in Setting.model_fields if getattr(self.plan, name) != getattr(plan, name)
            ]
            raise Conflict(
                f"The comparison in {self.folder} was begun with other {', '.join(changed)}.",
                hint="Give this one another --name.",
            )

    @property
    def chosen(self) -> bool:
        """Whether the tasks are chosen; otherwise those that are known are a part of them."""
        return "" in self.tried

    def add(self, line: BaseModel) -> None:
        """Keep one line."""
        (name,) = (name for name, kind in _KINDS.items() if isinstance(line, kind))
        add_lines(self._path, [json.dumps({name: line.model_dump(mode="json")})])
        self._take(line)

    def _take(self, line: BaseModel) -> None:
        match line:
            case Turn():
                self.turns[line.task, line.path] = line
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
            case Setting():
                self.plan = line

    @property
    def _path(self) -> Path:
        return self.folder / "journal.jsonl"

    def _read(self) -> Iterator[BaseModel]:
        for number, line in enumerate(whole_lines(self._path), 1):
            try:
                ((name, document),) = read_json(line).items()
                yield _KINDS[name].model_validate(document)
            except (ValueError, LookupError, AttributeError, ValidationError) as error:
                raise UsageError(
                    f"{self._path}, line {number} cannot be read: {error}.",
                    hint="Give the comparison another --name.",
                ) from error


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
