"""What a stage may use, passed down and never global: settings, the store, the prompts, the servers.

Everything heavy is made when it is first asked for, so that a command that adds a task pays for no HTTP client and no git.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from navigator.config.paths import StatePaths
from navigator.config.settings import Settings
from navigator.journey.prompts.blocks import KeyRing
from navigator.journey.prompts.library import PromptLibrary
from navigator.journey.repositories import Repositories
from navigator.journey.servers import ModelServers
from navigator.model.models import Task
from navigator.model.secrets import Redactor
from navigator.model.states import Role
from navigator.schedule.swap_rule import CHECKS_AT_ONCE

if TYPE_CHECKING:
    from navigator.context.repomap import RepoMap
    from navigator.context.source import TreeSource
    from navigator.context.tokens import TokenCounter
    from navigator.store.reads.reader import Reader
    from navigator.store.writes.writer import Store, Transaction

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Controls(Protocol):
    """What a user can ask of a running conductor."""

    def review_now(self) -> None:
        """Load the reviewer without waiting for the batch to fill."""

    def swap_to(self, role: Role) -> bool:
        """Load `role` when current work finishes; returns whether it is loaded already."""

    def ask_exam(self, items: int) -> tuple[int, int]:
        """Ask so many items of the reviewer's exam once it is loaded; returns how many it will be, and how many are left."""

    def stop(self, reason: str) -> None:
        """End the session soon: work in progress is done again by the next one."""

    @property
    def running(self) -> int:
        """How many tasks it is working on."""


_KEPT_MAPS = 3
"""A map of 2,000 files takes some 50 MB."""


@dataclass
class Prompting:
    """What prompts are made with. The state folder's lock is not needed for it.

    Args:
        settings: as read once at the start.
        redact: takes secrets out of what is stored, logged or shown. It knows them by form, the configured API keys, and
            the values of files that no model is shown, once a project's tests were about to run.
    """

    settings: Settings
    redact: Redactor = field(default_factory=Redactor, kw_only=True)
    keys: KeyRing = field(default_factory=KeyRing, kw_only=True)
    _maps: dict[tuple[object, ...], RepoMap] = field(default_factory=dict, kw_only=True)
    _maps_lock: threading.Lock = field(default_factory=threading.Lock, kw_only=True)
    _counters: dict[str, TokenCounter] = field(default_factory=dict, kw_only=True)

    @cached_property
    def prompts(self) -> PromptLibrary:
        """The packaged templates, and the user's own in their place."""
        return PromptLibrary()

    def map_of(self, source: TreeSource) -> RepoMap:
        """The map of a tree as its project sees it; made, but read only when it is asked something. The last few are kept."""
        from navigator.context.repomap import RepoMap

        project = source.project
        key = (source.private.git_dir, source.treeish, project.include, project.exclude)
        with self._maps_lock:
            held = self._maps.pop(key, None) or RepoMap(source)
            self._maps[key] = held
            if len(self._maps) > _KEPT_MAPS:
                del self._maps[next(iter(self._maps))]
        return held

    def counter_for(self, role: Role) -> TokenCounter:
        """Counts tokens as `role`'s model does, or estimates and says so; where it names no tokenizer, as the generator does."""
        from navigator.context.tokens import load_counter

        folder = self.settings.server(role).tokenizer or self.settings.generator.tokenizer
        if folder not in self._counters:
            self._counters[folder] = load_counter(folder)
        return self._counters[folder]


class CpuWork:
    """What the CPU does for the tasks: how much of it at once, and when, so that it is known how much of a swap was used.

    Intervals of work that needs no model, by kind. Those that ended before the last swap are forgotten.

    Args:
        agents_at_once: how many coding agents may work beside each other.

    Attributes:
        checks_wanted: runs of projects' tests that tasks wait for, under way or queued: the exam's trials stand back for them.
        exams_wanted: who prepares exam items or waits to do so; they take turns by `exam_lock`.
        room_for_agent: held while a coding agent works: each takes half a gigabyte.
        exam_lock: held while items of the exam are prepared, whatever the project.
    """

    def __init__(self, agents_at_once: int) -> None:
        self.checks_wanted = 0
        self.exams_wanted = 0
        self.exam_lock = asyncio.Lock()
        self.room_for_agent = asyncio.Semaphore(agents_at_once)
        # They share the CPU with what feeds the GPU.
        self._checks = asyncio.Semaphore(max(1, min(CHECKS_AT_ONCE, os.cpu_count() or 1)))
        self._running: dict[int, tuple[str, float]] = {}
        self._ended: list[tuple[str, float, float]] = []
        self._next = 0

    async def during(self, kind: str, work: Callable[[], Awaitable[_T]]) -> _T:
        """Do some work, and note when it ran, however it ends."""
        number, self._next = self._next, self._next + 1
        self._running[number] = (kind, time.monotonic())
        try:
            return await work()
        finally:
            _, began = self._running.pop(number)
            self._ended.append((kind, began, time.monotonic()))

    def forget(self) -> None:
        """A swap begins: what ended before it fills nothing."""
        self._ended.clear()

    def between(self, start: float, end: float) -> dict[str, float]:
        """Seconds of work from `start` to `end` (monotonic) by kind, added up."""
        running = [(kind, began, end) for kind, began in self._running.values()]
        by_kind: dict[str, float] = {}
        for kind, began, done in (*self._ended, *running):
            if began < end and done > start:
                by_kind[kind] = by_kind.get(kind, 0.0) + min(end, done) - max(start, began)
        return by_kind

    @asynccontextmanager
    async def room_for_check(self) -> AsyncIterator[None]:
        """Room for one run of a project's tests that a task waits for. The exam's trials stand back from the first moment on."""
        self.checks_wanted += 1
        try:
            async with self._checks:
                yield
        finally:
            self.checks_wanted -= 1


@dataclass
class Dependencies(Prompting):
    """One process's hold on the state folder.

    Args:
        paths: the state folder.
        store: the one writer.
        reader: reads through the writer's own connection, so it sees what was just written.
        servers: the model servers, and how the GPU changes hands.
        on_live: told about progress that is not kept.
        conducting: a conductor works on this state in this process, and takes up what is left due.
        conductor: what verbs may ask of that conductor.
        prepared: prompts that were made ahead, by everything that each was made of; each is taken once.
    """

    paths: StatePaths
    store: Store
    reader: Reader
    servers: ModelServers
    on_live: Callable[[dict[str, Any]], None] = lambda progress: None
    conducting: bool = False
    conductor: Controls | None = None
    prepared: dict[Hashable, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.repositories = Repositories(self.paths.private)
        self.cpu_work = CpuWork(self.settings.generator.agent.at_once)
        servers = [self.settings.server(role) for role in Role]
        names = {name for server in servers for name in (server.api_key_env, server.admin_key_env) if name}
        self.redact.learn(os.environ.get(name, "") for name in names)

    def move(
        self, make: Callable[Concatenate[Transaction, _P], _T], *args: _P.args, **named: _P.kwargs
    ) -> _T:
        """Make one of the moves in `journey.moves`, in a transaction of its own."""
        with self.store.transaction() as tx:
            return make(tx, *args, **named)

    def writer_of(self, task: Task) -> Role:
        """The role that writes a task: the one that its present attempt began with, else as `[routing]` says."""
        return self.reader.wrote(task.id) or self.settings.routing.writer(task.kind, task.complexity)
