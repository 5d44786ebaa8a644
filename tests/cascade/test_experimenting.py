"""Experiments at swaps through the conductor: what is drawn, where it is written down, when it ends, and kill -9 at the draw."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from navigator.cascade.views.statistics.experiments import PAGE
from navigator.cascade.views.statistics.page import Question
from navigator.config.resources import resource_dir
from navigator.domain.errors import ConfigError
from navigator.domain.states import Role
from navigator.evidence import experiment as evidence
from navigator.evidence.experiment import draw
from tests.cascade.scripted_models import Messages, Models, approval, objection, speaking
from tests.cascade.support import hurry
from tests.cascade.test_conductor import Room, edit
from tests.cascade.test_killed import Scene
from tests.cascade.test_reconcile import settings, swapping

STRICT = "Be strict."
EXPERIMENT = (
    '[canary]\nenabled = false\n[experiment]\nname = "strict"\nwhat = "reviewer-prompt"\n'
    'arms = ["review", "review-strict"]\n'
)


def strict_prompt(folder: Path) -> None:
    text = (resource_dir("prompts") / "review.md").read_text(encoding="utf-8")
    (folder / "prompts").mkdir()
    text = text.replace("name: review\n", "name: review-strict\n").replace(
        "<!-- user -->", f"{STRICT}\n\n<!-- user -->"
    )
    (folder / "prompts" / "review-strict.md").write_text(text, encoding="utf-8")


def read(messages: Messages) -> str:
    if STRICT in messages[0]["content"]:
        return approval(verdict="REVISE", findings=[objection("    return x * 2")])
    return approval()


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Room]:
    hurry(monkeypatch, retries=2)
    swapping(tmp_path)
    (tmp_path / "loaded").write_text("generator")
    with speaking(Models(lambda messages: edit("return x * 2"), read, holds=tmp_path / "loaded")) as models:
        made = Room(tmp_path, models, monkeypatch)
        strict_prompt(tmp_path)
        plain = settings(tmp_path, models.url).replace("[batch]\n", "[batch]\nrevisions = 0\n")
        made.config.write_text(plain + EXPERIMENT)
        yield made


def test_each_residency_has_the_arm_that_was_drawn_and_all_that_is_made_in_it_says_so(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(6):
        room.queue()
        room.work("reviewed")
    reader = room.read()
    experiment = reader.running_experiment()
    assert experiment is not None
    arms = ["review-strict" if draw(experiment.seed, n, 0.5) else "review" for n in range(1, 7)]
    outcomes = reader.residency_outcomes(experiment)
    assert [(row.arm, row.n, row.hits) for row in outcomes] == [
        (arm, 1, int(arm == "review-strict")) for arm in arms
    ]
    assert [row.ended for row in outcomes] == [True] * 5 + [False]
    reviews = [proposal.review for proposal in room.proposals()]
    assert [review.experiment for review in reviews if review] == [f"strict: {arm}" for arm in arms]
    assert [review.prompt_version.partition("@")[0] for review in reviews if review] == arms
    assert [call.residency for call in reader.calls(role=Role.REVIEWER)] == [1, 2, 3, 4, 5, 6]
    assert {call.residency for call in reader.calls(role=Role.GENERATOR)} == {0}
    assert reader.version_counts() == []  # the monitor of the revise rate follows no turns of arms
    (found,) = PAGE.read(reader, Question())
    assert found.comparison.counted == 5
    assert "Not decided after 5 residencies" in PAGE.tables((found,), False)[0].answer
    # It ends by itself: afterwards every residency has the first arm again, and nothing says that it is part of anything.
    monkeypatch.setattr(evidence, "SHOWN_FROM", 1.000001)
    room.queue()
    room.work("reviewed")
    assert room.read().running_experiment() is None
    assert [one.ending for one in room.read().experiments()] == ["decided"]
    last = room.proposals()[-1].review
    assert last is not None
    assert (last.experiment, last.residency, last.prompt_version.partition("@")[0]) == ("", 0, "review")
    room.queue()
    room.work("reviewed")
    assert len(room.read().experiments()) == 1  # the same settings do not begin it again


def test_settings_that_change_end_it_and_arms_that_cannot_be_are_refused(room: Room) -> None:
    room.queue()
    room.work("reviewed")
    text = room.config.read_text()
    room.config.write_text(text.replace('name = "strict"', 'name = ""'))
    room.queue()
    room.work("reviewed")
    assert [one.ending for one in room.read().experiments()] == ["changed"]
    room.config.write_text(text.replace("review-strict", "generate"))
    with pytest.raises(ConfigError, match="not for 'review'"):
        room.work("reviewed")
    profile = text.replace("reviewer-prompt", "reviewer-profile").replace('"command"', '"resident"')
    room.config.write_text(profile)
    with pytest.raises(ConfigError, match="keeps both models loaded"):
        room.work("reviewed")


@pytest.mark.parametrize("moment", [("event", "residency_drawn"), ("swap", "verify.done")])
def test_killed_at_the_draw_the_same_residency_begins_once(tmp_path: Path, moment: tuple[str, str]) -> None:
    scene = Scene(tmp_path, projects=1, tasks=1, seed=3)
    strict_prompt(tmp_path / "desk")
    with scene.desk.config.open("a", encoding="utf-8") as stream:
        stream.write(EXPERIMENT)
    count = 1 if moment[0] == "event" else 2  # the second swap is the one to the reviewer
    scene.killed(*moment, count, "run", "--until", "reviewed")
    with scene.desk.reading() as store:
        experiment = store.running_experiment()
        assert experiment is not None
        drawn = store.newest_residency(experiment.id)
    assert drawn is not None and (drawn.number, drawn.began) == (1, "")
    scene.desk.run("run", "--until", "reviewed")
    with scene.desk.reading() as store:
        after = store.newest_residency(experiment.id)
        calls = store.calls(role=Role.REVIEWER)
    assert after is not None
    assert (after.id, after.arm, after.drawn) == (drawn.id, drawn.arm, drawn.drawn)
    assert after.began and {call.residency for call in calls} == {drawn.id}


def test_a_launch_profile_reaches_the_server_and_its_accept_length_is_kept(tmp_path: Path) -> None:
    scene = Scene(tmp_path, projects=1, tasks=1, seed=3)
    plain = scene.desk.config.read_text(encoding="utf-8")
    (task,) = scene.desk.json("task", "list")["tasks"]
    for arms, length in ((("plain", "speculation"), 2.6), (("speculation", "plain"), None)):
        chosen = arms[draw("rehearsal 0", 1, 0.9)]
        scene.desk.config.write_text(
            plain
            + f'[experiment]\nname = "{chosen}"\nwhat = "generator-profile"\narms = ["{arms[0]}", "{arms[1]}"]\n'
            'outcome = "accept-length"\nshare = 0.9\n'
        )
        scene.desk.run("task", "add", task["project"], task["text"], "--kind", task["kind"])
        scene.desk.run("run", "--until", "reviewed")
        with scene.desk.reading() as store:
            experiment = store.experiments()[-1]
            drawn = store.newest_residency(experiment.id)
        assert drawn is not None and drawn.ended
        assert (drawn.arm, drawn.accept_length) == (chosen, length)
    shown = scene.desk.json("stats", "experiments")["experiments"]
    assert [one["comparison"]["counted"] for one in shown] == [
        0,
        1,
    ]  # a server that counts nothing has no figure
    assert all(one["rehearsal"] for one in shown)
