"""How many requests a role may have in flight: as many as its server says that it runs at once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from navigator.config.paths import StatePaths
from navigator.config.settings import Settings
from navigator.journey.dependencies import Dependencies
from navigator.model.states import Role
from navigator.rehearsal.api import Api
from navigator.rehearsal.engine import MODEL_NAMES, Completion, pace_of
from navigator.rehearsal.http import HttpServer
from navigator.store.database import open_writer
from navigator.store.reads.reader import Reader
from navigator.store.writes.writer import Store

F = Role.FINAL


@asynccontextmanager
async def at_a_server(folder: Path) -> AsyncIterator[Dependencies]:
    """With a server that runs two requests at once; the rehearsal's tells as SGLang does."""
    api = Api(Role.GENERATOR, pace_of(Role.GENERATOR, 0.0), lambda *_: Completion("x"), max_running=2)
    http = HttpServer(api)
    await http.start("127.0.0.1", 0)
    server = {
        "model": MODEL_NAMES[Role.GENERATOR],
        "base_url": f"http://127.0.0.1:{http.port}",
        "max_inflight": 6,
        "enabled": True,
    }
    paths = StatePaths(folder)
    paths.root.mkdir(exist_ok=True)
    connection = open_writer(paths.database)
    deps = Dependencies(
        Settings.model_validate({"final": server}), paths, Store(connection), Reader(connection)
    )
    try:
        yield deps
    finally:
        await deps.close()
        connection.close()
        await http.close()


async def test_a_server_that_runs_two_at_once_gets_two(tmp_path: Path) -> None:
    async with at_a_server(tmp_path) as deps:
        assert deps.request_limit(F) == 6
        async with deps.lent_client(F):
            assert deps.request_limit(F) == 2
        await deps.forget_client(F)
        assert deps.request_limit(F) == 6, "another model begins anew"
