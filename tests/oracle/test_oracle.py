"""The ends that every engine must come to, however often it is killed on the way.

`ends.json` was recorded; `NAVIGATOR_RECORD=1` records it again. A change of it needs a reason: say it in the commit.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.git.world import fingerprint
from tests.journey.killed_at import KILLED_AT
from tests.journey.scripted_models import Models, speaking
from tests.journey.support import PATIENCE, differences, hurry
from tests.oracle.scenarios import World, speakers, unlike
from tests.sandbox.support import needs_sandbox

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, needs_sandbox]

ENDS = Path(__file__).with_name("ends.json")
RECORD = bool(os.environ.get("NAVIGATOR_RECORD"))
KILLS = int(os.environ.get("NAVIGATOR_KILLS", "8"))
SCRATCH = ("blobs-", "tree-", "new-", "own-", "snapshot-", "check-", "merge-", "checkout-")
"""Beginnings of the names of folders that last as long as one step."""
MOMENTS = (
    (
        ("event", "call_ended=generator", 6),
        ("event", "looked", 1),
        ("event", "proposal_added", 3),
        ("event", "review_added", 4),
    ),
    (("event", "task_state=generating", 1),),
)
"""Where the two sessions are killed; and at random, Navigator and its gits."""


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


def running_in(folder: Path) -> list[str]:
    """What still runs with this folder in its arguments or its environment, apart from this process and its own children."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile, or is another user's
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            words = (entry / "cmdline").read_bytes()
            if str(os.getpid()) in (entry.name, parent):
                continue
            if str(folder).encode() in words + (entry / "environ").read_bytes():
                found.append(words.decode("utf-8", "replace"))
    return found


def assert_nothing_left(world: World, folder: Path) -> None:
    """After the next start of a conductor: no process, and no folder that lasts as long as one step."""
    world.desk.run("run", "--until", "idle")
    deadline = time.monotonic() + PATIENCE
    while left := running_in(folder):  # what a killed process started ends a little after it
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


@pytest.mark.parametrize("seed", range(max(1, KILLS // 8)))
def test_the_same_ends_after_kills(world: World, tmp_path: Path, seed: int) -> None:
    """Killed at events all over both sessions: nothing is lost, nothing is doubled."""
    chosen = random.Random(seed)
    untouched = fingerprint(world.repository)
    died = 0
    for part, named in enumerate(MOMENTS):
        random_ones = [("whole", str(chosen.randrange(30)), chosen.randrange(5, 60)) for _ in range(1 - part)]
        for moment, what, count in (*named, *random_ones):
            child = world.desk.python(KILLED_AT, moment, what, str(count), "run", "--until", "idle")
            out, err = child.communicate(timeout=PATIENCE)
            assert child.returncode in (-signal.SIGKILL, 0), (out + err).decode()[-3000:]
            died += child.returncode == -signal.SIGKILL
        world.work()
        if not part:
            assert differences(untouched, fingerprint(world.repository)) == []
            world.decide()
    assert died >= 4
    with world.desk.reading() as store:
        looks = [(one.turn, one.kind) for one in store.looks(world.task("looked").id)]
    assert looks == [(1, "search"), (1, "read")], "what was answered is not asked again"
    assert unlike(world.ends(), json.loads(ENDS.read_text(encoding="utf-8")), answers=False) == {}
    assert world.landed() == 3
    assert_nothing_left(world, tmp_path)
