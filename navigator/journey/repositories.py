"""The projects' private repositories as one process holds them, and whose turn it is in each."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from navigator.model.models import Project

if TYPE_CHECKING:
    from navigator.git.private import PrivateRepo

_P = ParamSpec("_P")
_T = TypeVar("_T")


@contextmanager
def at_home(project: Project) -> Iterator[None]:
    """For what reads a project's repository: where it is not at its path, the error says how to set the new one."""
    from navigator.git.facts import NotARepository

    try:
        yield
    except NotARepository as error:
        error.hint = f"If it was moved: `navigator project set {project.name} --path PATH`. {error.hint}"
        raise


class Repositories:
    """The private repositories, opened once each, and their locks. All are by the project's number.

    Attributes:
        baseline_locks: held while a project's tests run on a base: siblings wait for that one run.
        landing_locks: held from a landing's plan to its end, tests included: landings of a project go one after the other.
        landing_tests: set while the tests of a landing of the project run.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._opened: dict[int, PrivateRepo] = {}
        self._locks: dict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.baseline_locks: dict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.landing_locks: dict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.landing_tests: dict[int, asyncio.Event] = defaultdict(asyncio.Event)

    def private(self, project: Project) -> PrivateRepo:
        """The project's private repository, made if absent. Runs git: call it in a thread."""
        from navigator.git.facts import require_same
        from navigator.git.private import PrivateRepo

        if project.id not in self._opened:
            with at_home(project):
                opened = PrivateRepo.open(self._folder, project)
            require_same(opened.facts, project)
            self._opened[project.id] = opened
        return self._opened[project.id]

    def forget(self, project_id: int) -> None:
        """The project's repository has moved: open it again at the next use."""
        self._opened.pop(project_id, None)

    def lock(self, project_id: int) -> asyncio.Lock:
        """Held while a project's private repository or its branches are written."""
        return self._locks[project_id]

    async def locked(self, project_id: int, work: Callable[_P, _T], *args: _P.args, **named: _P.kwargs) -> _T:
        """Do some work with the project's private repository in a thread, while nobody else writes it."""
        async with self.lock(project_id):
            return await asyncio.to_thread(work, *args, **named)

    @asynccontextmanager
    async def opened(self, project: Project) -> AsyncIterator[PrivateRepo]:
        """The project's private repository, while nobody else writes it."""
        async with self.lock(project.id):
            yield await asyncio.to_thread(self.private, project)
