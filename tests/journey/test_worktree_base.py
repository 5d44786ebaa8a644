"""A project whose base is `worktree`: tasks see what is not committed yet, and land once it is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from navigator.actions.registry import perform
from navigator.cli.session import locked_dependencies
from navigator.config.paths import StatePaths
from navigator.engine.conductor import Conductor, RunOptions
from navigator.git.snapshot import NoWorktree
from navigator.model.errors import ConfigError
from navigator.model.models import Project
from navigator.model.states import TaskState
from navigator.store.database import open_reader
from navigator.store.reads.reader import Reader
from navigator.tui.compose.sheet import look_at
from tests.journey.scripted_models import Models, speaking
from tests.journey.support import git, make_repository

ANSWER = """Doubling is a product.

app.py
<<<<<<< SEARCH
    return x + x  # mine
=======
    return x * 2
>>>>>>> REPLACE
"""


@pytest.fixture
def models() -> Iterator[Models]:
    with speaking(Models(lambda messages: ANSWER)) as models:
        yield models


@pytest.fixture
def paths(tmp_path: Path, models: Models, monkeypatch: pytest.MonkeyPatch) -> StatePaths:
    config = tmp_path / "config.toml"
    config.write_text(models.settings, encoding="utf-8")
    monkeypatch.setenv("NAVIGATOR_CONFIG", str(config))
    monkeypatch.setenv("NAVIGATOR_STATE", str(tmp_path / "state"))
    (tmp_path / "state").mkdir(mode=0o700)
    return StatePaths(tmp_path / "state").ensure()


def act(paths: StatePaths, op: str, **args: Any) -> dict[str, Any]:
    with locked_dependencies(paths) as world:
        return asyncio.run(perform(world, op, args))


def work(paths: StatePaths) -> None:
    with locked_dependencies(paths) as world:

        async def session() -> None:
            await Conductor(world, RunOptions(until="idle")).run()

        asyncio.run(session())


def test_a_task_on_uncommitted_work_and_its_landing(tmp_path: Path, paths: StatePaths) -> None:
    code = make_repository(tmp_path / "code", {"app.py": b"def double(x):\n    return x + x\n"})
    act(paths, "project.add", path=str(code), name="code", base="worktree")
    (code / "app.py").write_bytes(b"def double(x):\n    return x + x  # mine\n")
    act(paths, "task.add", tasks=[{"project": "code", "text": "Make double() multiply", "files": ["app.py"]}])
    head = git(code, "rev-parse", "HEAD")
    work(paths)
    reader = Reader(open_reader(paths.database))
    (proposal,) = reader.proposals()
    assert reader.task(proposal.task_id).state is TaskState.AWAITING_APPROVAL
    assert proposal.base_commit != head
    entry = [{"id": proposal.id, "tree": proposal.tree}]
    (row,) = act(paths, "approve", proposals=entry)["decisions"]
    assert row["landing"] == "refused" and "uncommitted work: app.py" in row["reason"]
    # The approval stands, and no attempt begins anew for it.
    assert Reader(open_reader(paths.database)).task(proposal.task_id).state is TaskState.APPROVED
    git(code, "commit", "-q", "-am", "Mine")
    (row,) = act(paths, "approve", proposals=entry)["decisions"]
    assert row["landing"] == "landed"
    landing = Reader(open_reader(paths.database)).proposal(proposal.id).landing
    assert landing is not None
    assert git(code, "show", f"{landing.commit}:app.py") == "def double(x):\n    return x * 2"


def test_a_bare_repository_has_no_checkout_to_work_from(tmp_path: Path, paths: StatePaths) -> None:
    code = make_repository(tmp_path / "code", {"app.py": b"x = 1\n"})
    git(tmp_path, "clone", "-q", "--bare", str(code), "bare.git")
    with pytest.raises(NoWorktree):
        act(paths, "project.add", path=str(tmp_path / "bare.git"), base="worktree")


def test_the_ground_shows_the_checkouts_files(tmp_path: Path) -> None:
    code = make_repository(tmp_path / "code", {"app.py": b"x = 1\n"})
    (code / "new.py").write_bytes(b"n = 1\n")
    on_head = look_at(Project(id=1, name="code", path=str(code)))
    assert (on_head.paths, on_head.uncommitted) == (("app.py",), ("new.py",))
    on_work = look_at(Project(id=1, name="code", path=str(code), base="worktree"))
    assert (on_work.paths, on_work.uncommitted) == (("app.py", "new.py"), ())


@pytest.mark.parametrize("base", ["-x", "a..b", "a b", "a\\nb"])
def test_a_base_that_can_be_no_branch_is_refused_in_the_settings(base: str, tmp_path: Path) -> None:
    from navigator.config.settings import load_settings

    file = tmp_path / "config.toml"
    file.write_text(f'[[project]]\npath = "/x"\nbase = "{base}"\n')
    with pytest.raises(ConfigError, match="base"):
        load_settings(file)
    file.write_text('[[project]]\npath = "/x"\nbase = "worktree"\n')
    assert load_settings(file).project[0].base == "worktree"
