"""How many requests a role may have in flight: as many as its server says that it runs at once."""

from __future__ import annotations

from pathlib import Path

from navigator.config.paths import StatePaths
from navigator.config.settings import Settings
from navigator.journey.servers import ModelServers
from navigator.model.states import Role
from navigator.rehearsal.engine import MODEL_NAMES
from tests.rehearsal.test_engine import AT_ONCE, serving

F = Role.FINAL


async def test_a_server_that_runs_two_at_once_gets_two(tmp_path: Path) -> None:
    """The rehearsal's tells as SGLang does."""
    paths = StatePaths(tmp_path)
    async with serving(AT_ONCE, max_running=2) as (client, _):
        server = {"base_url": str(client.base_url), "model": MODEL_NAMES[Role.GENERATOR]}
        settings = Settings.model_validate({"final": server | {"max_inflight": 6, "enabled": True}})
        servers = ModelServers(settings, paths)
        assert servers.limit(F) == 6
        async with servers.lent(F):
            assert servers.limit(F) == 2
        await servers.forget(F)
        assert servers.limit(F) == 6, "another model begins anew"
        await servers.close()
