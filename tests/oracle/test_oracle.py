"""The ends that every engine must come to, however often it is killed on the way.

`ends.json` was recorded; `NAVIGATOR_RECORD=1` records it again. A change of it needs a reason: say it in the commit.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.git.world import fingerprint
from tests.journey.scripted_models import Models, speaking
from tests.journey.support import PATIENCE, differences, hurry, running
from tests.oracle.scenarios import World, speakers, unlike
from tests.sandbox.support import needs_sandbox

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, needs_sandbox]

ENDS = Path(__file__).with_name("ends.json")
RECORD = bool(os.environ.get("NAVIGATOR_RECORD"))
WRITING = (("event", "call_ended", 1), ("event", "task_state", 6), ("event", "", 24), ("whole", "10", 16))
READING = (
    ("event", "review_added", 1),
    ("event", "call_ended=reviewer", 1),
    ("event", "", 12),
    ("whole", "5", 8),
)
DECIDED = (("event", "task_state", 2), ("event", "", 5), ("whole", "5", 4))
KILLS = ((1, (("event", "looked", 1),)), (26, WRITING), (24, READING), (14, DECIDED))
"""How often, and by which moments of `killed_at.py`: the last number is the most of such events that a session comes to."""
SEEDS = max(1, int(os.environ.get("NAVIGATOR_KILLS", "0")) // sum(number for number, _ in KILLS))
RUN = ("run", "--until", "idle")
SCRATCH = ("blobs-", "tree-", "new-", "own-", "snapshot-", "check-", "merge-", "checkout-")
"""Beginnings of the names of folders that last as long as one step."""


@pytest.fixture
def models() -> Iterator[Models]:
    with speaking(speakers()) as models:
        yield models


@pytest.fixture
def world(tmp_path: Path, models: Models, monkeypatch: pytest.MonkeyPatch) -> World:
    hurry(monkeypatch)
    monkeypatch.setenv("NAVIGATOR_CONFIG", str(tmp_path / "desk/config.toml"))
    monkeypatch.setenv("NAVIGATOR_STATE", str(tmp_path / "desk/state"))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    return World(tmp_path, models)


def assert_nothing_left(world: World, folder: Path) -> None:
    """After the next start of a conductor: no process, and no folder that lasts as long as one step."""
    world.desk.killed_at("event", "none", 1, *RUN)
    deadline = time.monotonic() + PATIENCE
    # What a killed process started ends a little after it.
    while left := [words for parent, words in running(str(folder)) if parent != os.getpid()]:
        assert time.monotonic() < deadline, left
        time.sleep(0.02)
    assert list((folder / "temporary").iterdir()) == []
    # In a private repository `gc` removes what a kill left, once it is old.
    outside = [path for path in world.desk.root.rglob("*") if ".git/" not in path.as_posix()]
    assert [path for path in outside if path.name.startswith(SCRATCH)] == []
    assert [path.suffix for path in world.desk.paths.private.iterdir() if path.is_dir()] == [".git"]


def test_every_way_of_a_task_comes_to_its_end(world: World) -> None:
    world.work()
    world.decide()
    world.work()
    if RECORD:
        ENDS.write_text(json.dumps(world.ends(), indent=1) + "\n", encoding="utf-8")
    assert unlike(world.ends(), json.loads(ENDS.read_text(encoding="utf-8")), answers=True) == {}
    assert world.landed() == 3


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_same_ends_after_kills(world: World, tmp_path: Path, seed: int) -> None:
    """Killed every few events of both sessions, alone or with its gits: nothing is lost, nothing is doubled."""
    chosen = random.Random(seed)
    untouched = fingerprint(world.repository)
    died = 0
    for wanted, moments in KILLS:
        if moments is DECIDED:
            world.work()
            assert differences(untouched, fingerprint(world.repository)) == []
            world.decide()
        for _ in range(wanted):
            moment, what, most = chosen.choice(moments)
            died += world.desk.killed_at(moment, what, chosen.randint(1, most), *RUN)[0]
    world.work()
    assert died >= 60
    with world.desk.reading() as store:
        looks = [(one.turn, one.kind) for one in store.looks(world.task("looked").id)]
    assert looks == [(1, "search"), (1, "read")], "what was answered is not asked again"
    assert unlike(world.ends(), json.loads(ENDS.read_text(encoding="utf-8")), answers=False) == {}
    assert world.landed() == 3
    assert_nothing_left(world, tmp_path)
