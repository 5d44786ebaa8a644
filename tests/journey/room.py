"""A state folder and a repository, worked on in this process: by commands, and by sessions with scripted models."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from navigator.actions.registry import perform
from navigator.cli.session import locked_dependencies
from navigator.config.paths import StatePaths
from navigator.engine.conductor import Conductor, RunOptions
from navigator.journey.dependencies import Dependencies
from navigator.journey.recovery import recover
from navigator.model.models import CheckResult, Proposal, Review, Task
from navigator.store.database import open_reader
from navigator.store.reads.reader import Reader
from tests.journey.scripted_models import Messages, Models
from tests.journey.support import Desk, git, make_repository

CODE = "def double(x):\n    return x + x\n"
FILES = {"app.py": CODE, "README.md": "# Code\n"}
CODE_TESTED = f"{CODE}\n\ndef half(x):\n    return x / 2\n"
TESTS = (
    "import unittest\n\nfrom app import double, half\n\n\nclass Numbers(unittest.TestCase):\n"
    "    def test_double(self):\n        self.assertEqual(double(4), 8)\n\n"
    "    def test_half(self):\n        self.assertEqual(half(8), 4)\n"
)
TESTED: Mapping[str, str | bytes] = {"app.py": CODE_TESTED, "test_app.py": TESTS}
CHECK = "python3 -m unittest"


class Bench:
    """One state folder and the repository `code`; commands run here as `navigator` does them where no conductor runs."""

    repository: Path

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, settings: str) -> None:
        self.folder = folder
        self.desk = Desk.make(folder, settings)
        self.config = self.desk.config
        self.paths: StatePaths = self.desk.paths.ensure()
        monkeypatch.setenv("NAVIGATOR_CONFIG", str(self.config))
        monkeypatch.setenv("NAVIGATOR_STATE", str(self.desk.root))

    def add(self, files: Mapping[str, str | bytes] = TESTED, check: str = CHECK, **fields: Any) -> Path:
        """Make the repository, and add it as a project."""
        held = {name: text.encode() if isinstance(text, str) else text for name, text in files.items()}
        self.repository = make_repository(self.folder / "code", held)
        self.act("project.add", path=str(self.repository), name="code", check=check, **fields)
        return self.repository

    def commit(self, files: Mapping[str, str | bytes], message: str = "More") -> str:
        """What the developer does meanwhile; the commit."""
        for name, text in files.items():
            (self.repository / name).write_bytes(text.encode() if isinstance(text, str) else text)
        git(self.repository, "add", "--all")
        git(self.repository, "commit", "--quiet", "-m", message)
        return git(self.repository, "rev-parse", "HEAD")

    def world(self, *, alone: bool = True) -> Any:
        return locked_dependencies(self.paths, conducting=not alone)

    def act(self, op: str, *, alone: bool = True, **args: Any) -> dict[str, Any]:
        """One command; not `alone`: as the conductor does it, which takes up the rest later."""
        with self.world(alone=alone) as world:
            return asyncio.run(perform(world, op, args))

    def decide(self, kind: str, proposal: Proposal | str, note: str = "", **more: Any) -> dict[str, Any]:
        """About a proposal by its id, or as it was looked at."""
        entry = {"id": proposal} if isinstance(proposal, str) else {"id": proposal.id, "tree": proposal.tree}
        done = self.act(kind.replace("_", "-"), proposals=[entry], note=note, **more)
        return dict(done["decisions"][0])

    def approve(self, proposal: Proposal | str, **more: Any) -> dict[str, Any]:
        return self.decide("approve", proposal, **more)

    def undo(self, identifier: str) -> dict[str, Any]:
        return dict(self.act("undo", ids=[identifier])["undone"][0])

    def recover(self) -> None:
        """What the next conductor does first."""
        with self.world() as world:
            asyncio.run(recover(world))

    def read(self) -> Reader:
        return Reader(open_reader(self.paths.database))

    def task(self, identifier: str) -> Task:
        return self.read().task(identifier)

    def proposals(self, task: str | None = None) -> list[Proposal]:
        return self.read().proposals(task_id=task)

    def proposal(self, identifier: str) -> Proposal:
        """By its id, or the newest of a task."""
        return self.proposals(identifier)[-1] if identifier[0] == "T" else self.read().proposal(identifier)


class Room(Bench):
    """A bench with a pair of scripted models. `project`: the repository of `FILES` is there already."""

    def __init__(
        self, folder: Path, models: Models, monkeypatch: pytest.MonkeyPatch, *, project: bool = True
    ) -> None:
        super().__init__(folder, monkeypatch, models.settings)
        self.models = models
        if project:
            self.add(FILES, check="")

    def queue(self, text: str = "Make double() multiply\n\nBy two.", **fields: Any) -> str:
        added = self.act("task.add", tasks=[{"project": "code", "text": text, "files": ["app.py"]} | fields])
        return str(added["tasks"][0]["id"])

    def work(
        self,
        until: str = "idle",
        meanwhile: Callable[[Dependencies, Conductor], Awaitable[None]] | None = None,
    ) -> dict[str, Any]:
        """One session to its end, and what `navigator run --json` says of it; `meanwhile` runs beside it."""
        with self.world() as world:

            async def session() -> dict[str, Any]:
                conductor = Conductor(world, RunOptions(until=until))
                running = asyncio.create_task(conductor.run())
                if meanwhile is not None:
                    await meanwhile(world, conductor)
                return (await running).document()

            return asyncio.run(session())

    def done(self, text: str = "Make double() multiply\n\nBy two.", **fields: Any) -> Proposal:
        """A task queued and worked on; its newest proposal."""
        task = self.queue(text, **fields)
        self.work()
        return self.proposal(task)

    def tests(self, task: str) -> CheckResult:
        """The check of the project's tests."""
        (found,) = [check for check in self.proposal(task).checks if check.name == "tests"]
        return found

    def settle(self, **tables: str) -> None:
        """Write the settings anew with more in their tables."""
        text = self.models.settings
        for table, lines in tables.items():
            head = f"[{table}]\n"
            text = text.replace(head, head + lines + "\n") if head in text else f"{text}{head}{lines}\n"
        self.config.write_text(text, encoding="utf-8")


def edit(line: str, *, old: str = "return x + x") -> str:
    return block("app.py", f"    {old}\n", f"    {line}\n")


def block(path: str, old: str, new: str) -> str:
    """An edit; a new file where `old` is empty."""
    return f"{path}\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n"


def whole(path: str, text: str) -> str:
    """A file written anew."""
    return f"{path}\n<<<<<<< WHOLE\n{text}>>>>>>> WHOLE\n"


GOOD = edit("return 2 * x")
BAD = edit("return 3 * x")
"""It makes a test of `TESTED` fail."""


def text_of(messages: Messages) -> str:
    return "\n".join(message["content"] for message in messages)


def review_of(proposal: Proposal) -> Review:
    assert proposal.review is not None
    return proposal.review


def saying(*answers: Any) -> Any:
    """A model that gives one answer after the other, and the last one for ever."""
    left = list(answers)

    def say(messages: Messages) -> Any:
        return left.pop(0) if len(left) > 1 else left[0]

    return say
