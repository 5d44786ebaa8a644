"""What a stage may use, passed down and never global: settings, the store, the prompts, the servers.

Everything heavy is made when it is first asked for, so that a command that adds a task pays for no HTTP client and no git.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from navigator.config.paths import StatePaths, config_path, resource_dir
from navigator.config.settings import Settings
from navigator.journey.prompts.blocks import KeyRing
from navigator.journey.prompts.library import PromptLibrary
from navigator.model.models import Project, Task
from navigator.model.secrets import Redactor
from navigator.model.states import Role

if TYPE_CHECKING:
    from navigator.client.client import ModelClient
    from navigator.client.tokens import TokenCounter
    from navigator.context.repomap import RepoMap
    from navigator.git.private import PrivateRepo
    from navigator.git.source import TreeSource
    from navigator.store.reads.reader import Reader
    from navigator.store.writes.writer import Store, Transaction
    from navigator.swap.base import SwapStrategy

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
        return PromptLibrary([resource_dir("prompts"), config_path().parent / "prompts"])

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

    @cached_property
    def counter(self) -> TokenCounter:
        """Counts tokens as the generator does, or estimates and says so."""
        return self.counter_for(Role.GENERATOR)

    def counter_for(self, role: Role) -> TokenCounter:
        """Counts tokens as `role`'s model does; where it names no tokenizer, as the generator does."""
        from navigator.client.tokens import load_counter

        folder = self.settings.server(role).tokenizer or self.settings.generator.tokenizer
        if folder not in self._counters:
            self._counters[folder] = load_counter(folder)
        return self._counters[folder]


class CpuWork:
    """What the CPU does for the tasks, by the clock: how much of a swap was used while the GPU could answer nothing.

    Intervals of work that needs no model, by kind. Those that ended before the last swap are forgotten.
    """

    def __init__(self) -> None:
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

    def between(self, start: float, end: float) -> tuple[float, dict[str, float]]:
        """Seconds from `start` to `end` (monotonic) in which any work ran, and the seconds of work by kind, added up."""
        running = [(kind, began, end) for kind, began in self._running.values()]
        inside = sorted(
            (max(start, began), min(end, done), kind)
            for kind, began, done in (*self._ended, *running)
            if began < end and done > start
        )
        by_kind: dict[str, float] = {}
        covered, reached = 0.0, start
        for began, done, kind in inside:
            by_kind[kind] = by_kind.get(kind, 0.0) + done - began
            covered += max(0.0, done - max(began, reached))
            reached = max(reached, done)
        return covered, by_kind


@dataclass
class Dependencies(Prompting):
    """One process's hold on the state folder.

    Args:
        paths: the state folder.
        store: the one writer.
        reader: reads through the writer's own connection, so it sees what was just written.
        time_scale: the rehearsal's.
        on_live: told about progress that is not kept.
        at_hand: whether a role's model answers now, without a swap first; the conductor knows.
        conducting: a conductor works on this state in this process, and takes up what is left due.
        conductor: what verbs may ask of that conductor.
        prepared: prompts that were made ahead, by everything that each was made of; each is taken once.
        checks_wanted: runs of projects' tests that tasks wait for, under way or queued: the exam's trials stand back for them.
        exams_wanted: who prepares exam items or waits to do so; they take turns by `exam_lock`.
        baseline_locks: held, by project, while its tests run on a base: siblings wait for that one run.
        landing_locks: held from a landing's plan to its end, tests included: landings of a project go one after the other.
        landing_tests: set while the tests of a landing of the project run.
    """

    paths: StatePaths
    store: Store
    reader: Reader
    time_scale: float = 1.0
    on_live: Callable[[dict[str, Any]], None] = lambda progress: None
    at_hand: Callable[[Role], bool] = lambda role: True
    conducting: bool = False
    conductor: Controls | None = None
    checks_wanted: int = 0
    exams_wanted: int = 0
    prepared: dict[Hashable, object] = field(default_factory=dict)
    _privates: dict[int, PrivateRepo] = field(default_factory=dict)
    _clients: dict[Role, ModelClient] = field(default_factory=dict)
    _lent: Counter[ModelClient] = field(default_factory=Counter)
    _rooms: dict[ModelClient, int] = field(default_factory=dict)
    baseline_locks: dict[int, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    landing_locks: dict[int, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    landing_tests: dict[int, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    _project_locks: dict[int, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    cpu_work: CpuWork = field(default_factory=CpuWork)

    def __post_init__(self) -> None:
        servers = [self.settings.server(role) for role in Role]
        names = {name for server in servers for name in (server.api_key_env, server.admin_key_env) if name}
        self.redact.learn(os.environ.get(name, "") for name in names)

    def move(
        self, make: Callable[Concatenate[Transaction, _P], _T], *args: _P.args, **named: _P.kwargs
    ) -> _T:
        """Make one of the moves in `journey.moves`, in a transaction of its own."""
        with self.store.transaction() as tx:
            return make(tx, *args, **named)

    def request_limit(self, role: Role) -> int:
        """How many requests the role may have in flight: what its server runs at once, `max_inflight` at most."""
        most, client = self.settings.server(role).max_inflight, self._clients.get(role)
        return most if client is None else min(most, self._rooms.get(client, most))

    @cached_property
    def strategy(self) -> SwapStrategy:
        """How the GPU changes hands.

        Raises:
            MissingPart: the settings name no strategy.
        """
        from navigator.swap import make_strategy

        return make_strategy(self.settings, self.paths, time_scale=self.time_scale, in_flight=self._in_flight)

    def _in_flight(self) -> Iterator[str]:
        """The ids of every request that runs right now, on a connection that is kept or only lent."""
        for client in {*self._clients.values(), *self._lent}:
            yield from client.in_flight

    def client(self, role: Role) -> ModelClient:
        """The connection to the server that plays `role`."""
        from navigator.client.client import ModelClient

        if role not in self._clients:
            final = role is Role.FINAL
            self._clients[role] = ModelClient(self.settings.final if final else self.strategy.server(role))
        return self._clients[role]

    @asynccontextmanager
    async def lent_client(self, role: Role) -> AsyncIterator[ModelClient]:
        """The connection for one call: it stays open until the call ends, even if it is forgotten meanwhile."""
        client = self.client(role)
        self._lent[client] += 1
        try:
            if client not in self._rooms:
                self._rooms[client] = self.settings.server(role).max_inflight
                load = await client.load()
                # A swap may have forgotten it meanwhile.
                if load is not None and load.room is not None and client in self._rooms:
                    self._rooms[client] = max(1, load.room)
            yield client
        finally:
            self._lent[client] -= 1
            if not self._lent[client]:
                del self._lent[client]
                if client not in self._clients.values():
                    await client.aclose()

    async def forget_client(self, role: Role) -> None:
        """Drop a connection whose server is about to go, or came back elsewhere. Calls in flight end by themselves."""
        client = self._clients.pop(role, None)
        self._rooms = {held: room for held, room in self._rooms.items() if held is not client}
        if client is not None and client not in self._lent:
            await client.aclose()

    def writer_of(self, task: Task) -> Role:
        """The role that writes a task: the one that its present attempt began with, else as `[routing]` says."""
        return self.reader.wrote(task.id) or self.settings.routing.writer(task.kind, task.complexity)

    def private(self, project: Project) -> PrivateRepo:
        """The project's private repository, made if absent. Runs git: call it in a thread."""
        from navigator.git.facts import require_same
        from navigator.git.private import PrivateRepo

        if project.id not in self._privates:
            with at_home(project):
                opened = PrivateRepo.open(self.paths.private, project)
            require_same(opened.facts, project)
            self._privates[project.id] = opened
        return self._privates[project.id]

    def forget_private(self, project_id: int) -> None:
        """The project's repository has moved: open it again at the next use."""
        self._privates.pop(project_id, None)

    def project_lock(self, project_id: int) -> asyncio.Lock:
        """Held while a project's private repository or its branches are written."""
        return self._project_locks[project_id]

    @cached_property
    def _checks_at_once(self) -> asyncio.Semaphore:
        """How many projects' tests run beside each other: they share the CPU with what feeds the GPU."""
        from navigator.schedule.swap_rule import CHECKS_AT_ONCE

        return asyncio.Semaphore(max(1, min(CHECKS_AT_ONCE, os.cpu_count() or 1)))

    @asynccontextmanager
    async def room_for_check(self) -> AsyncIterator[None]:
        """Room for one run of a project's tests that a task waits for. The exam's trials stand back from the first moment on."""
        self.checks_wanted += 1
        try:
            async with self._checks_at_once:
                yield
        finally:
            self.checks_wanted -= 1

    @cached_property
    def _agents_at_once(self) -> asyncio.Semaphore:
        return asyncio.Semaphore(self.settings.generator.agent.at_once)

    @asynccontextmanager
    async def room_for_agent(self) -> AsyncIterator[None]:
        """Room for one more coding agent beside those that work: each takes half a gigabyte."""
        async with self._agents_at_once:
            yield

    @cached_property
    def exam_lock(self) -> asyncio.Lock:
        """Held while items of the exam are prepared, whatever the project."""
        return asyncio.Lock()

    def project(self, project_id: int) -> Project:
        """A project by its number."""
        return self.reader.project(project_id)

    async def close(self) -> None:
        """End connections; the servers themselves are left to their strategy."""
        for role in list(self._clients):
            await self.forget_client(role)
        if "strategy" in self.__dict__:
            await self.strategy.close()
