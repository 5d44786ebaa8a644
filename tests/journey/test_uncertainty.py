"""Entropy through the conductor: asked for where the settings say so, stored with call and change, shown, and counted."""

from __future__ import annotations

from pathlib import Path

from navigator.model.states import Role
from tests.journey.test_killed import Scene


def test_it_is_kept_with_the_call_and_the_change_and_asked_for_only_where_wanted(tmp_path: Path) -> None:
    scene = Scene(tmp_path, projects=1, tasks=2, seed=3)
    plain = scene.desk.config.read_text(encoding="utf-8")
    scene.desk.config.write_text(plain.replace("[reviewer]", "logprobs = true\n[reviewer]"))
    scene.desk.run("run", "--until", "reviewed")
    with scene.desk.reading() as store:
        written = store.calls(role=Role.GENERATOR)
        read = store.calls(role=Role.REVIEWER)
    assert all(call.entropy_mean and call.entropy_peak for call in written)
    assert {call.entropy_mean for call in read} == {None}
    (first, *_) = scene.desk.json("proposals")["proposals"]
    by_task = {call.task_id: call for call in written}
    assert first["entropy_mean"] == by_task[first["task_id"]].entropy_mean
    assert b"bits a token" in scene.desk.run("diff", first["id"]).stdout
    (mean,) = scene.desk.json("stats", "reviewer")["uncertainty"]
    assert mean["verdict"] == "too few to tell"
    assert mean["revise"] + mean["approve"] > 0
