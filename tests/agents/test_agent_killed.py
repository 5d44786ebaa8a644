"""A conductor that is killed while agents work: no answer of the model is asked for again, nothing of an agent is left."""

from __future__ import annotations

import os
import random
import re
import subprocess
import time
from collections import Counter
from pathlib import Path

from navigator.model.states import TaskState
from tests.agents.conftest import install
from tests.agents.test_misbehaving import left_of
from tests.journey.room import CODE, text_of
from tests.journey.scripted_models import Messages, Models, speaking
from tests.journey.support import Desk, make_repository
from tests.sandbox.support import needs_sandbox

pytestmark = needs_sandbox

KILLS = int(os.environ.get("NAVIGATOR_KILLS", "3"))
"""Fifty and more with NAVIGATOR_KILLS."""

QUESTIONS = 4


def test_no_answer_is_asked_for_twice_and_nothing_is_left(tmp_path: Path) -> None:
    chance = random.Random(8)
    asked: list[str] = []

    def answer(messages: Messages) -> str:
        asked.append(text_of(messages))
        return f"answer {len(asked)}"

    with speaking(Models(answer)) as models:
        desk = Desk.make(tmp_path / "desk", models.settings)
        program = install(tmp_path / "tools")
        settings = f"{models.settings}[generator.agent]\ncommand = ['{program}']\n"
        desk.config.write_text(settings, encoding="utf-8")
        repository = make_repository(tmp_path / "code", {"app.py": CODE.encode()})
        desk.read("project", "add", str(repository), "--name", "code")
        killed = tasks = 0
        before: set[str] = set()
        while killed < KILLS:
            desk.read("task", "add", "code", f"Make double() multiply ASK={QUESTIONS} number {tasks}")
            tasks += 1
            for _ in range(chance.randint(2, 6)):
                delay, count = chance.randint(0, 60), chance.randint(4, 4 + 2 * QUESTIONS)
                died, _ = desk.killed_at("soon", delay, count, "run", "--until", "idle", "--json")
                killed += died
                settled(tmp_path)
                now = runs(desk)
                if now - before or not died:
                    # It came as far as starting an agent, or to its end: what the one before left is gone.
                    assert not before & now
                assert died or not now
                before = now
        desk.read("run", "--until", "idle", "--json")
        assert left_of(tmp_path) == []
        assert not list((desk.paths.root / "agents").glob("*"))
        with desk.reading() as store:
            assert Counter(task.state for task in store.tasks()) == {TaskState.AWAITING_APPROVAL: tasks}
            calls = [call for call in store.calls_after(0) if call.purpose == "agent"]
            turns = [turn for task in store.tasks() for turn in store.agent_turns(task.id)]
        answered = Counter((call.task_id, call.prompt_hash) for call in calls if call.outcome == "ok")
        assert len(answered) == tasks * QUESTIONS
        assert set(answered.values()) == {1}
        # What the server saw more often than that was under way when its asker died: its answer was never stored.
        assert len(asked) <= len(answered) + sum(call.outcome == "lost" for call in calls)
        assert Counter(turn.outcome for turn in turns)["ok"] == tasks
        assert sum(turn.replayed for turn in turns) > 0


def runs(desk: Desk) -> set[str]:
    """Runs of agents that a folder or a process is left of."""
    found = {path.name for path in (desk.paths.root / "agents").glob("run-*")}
    return found.union(*(re.findall(r"/(run-\w+)", words) for words in left_of(desk.paths.root)))


def test_what_outlived_a_killed_conductor_is_ended_at_the_next_start(tmp_path: Path) -> None:
    with speaking(Models(lambda messages: "")) as models:
        desk = Desk.make(tmp_path / "desk", models.settings)
        mine, other = desk.paths.root / "agents" / "run-left", tmp_path / "run-other"
        sandboxes = []
        try:
            for place in (mine, other):
                place.mkdir(parents=True)
                words = ("bwrap", "--dev-bind", "/", "/", "--bind", str(place), str(place), "sleep", "600")
                sandboxes.append(subprocess.Popen(words))
            desk.read("run", "--until", "idle", "--json")
            assert sandboxes[0].wait(timeout=60) == -9
            assert not mine.exists()
            assert runs(desk) == set()
            # A sandbox of somebody else is left alone.
            assert sandboxes[1].poll() is None
            assert other.exists()
        finally:
            for sandbox in sandboxes:
                sandbox.kill()
                sandbox.wait()


def settled(folder: Path) -> None:
    """Give sandboxes some time after their parent's death: those that died with it are gone by then."""
    deadline = time.monotonic() + 2.0
    while left_of(folder) and time.monotonic() < deadline:
        time.sleep(0.02)
