"""`navigator prompts try`: what the conductor would send."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from navigator.cli.prompts import prompts
from navigator.context.tokens import load_counter
from navigator.journey.prompts.material import gather
from navigator.model.errors import ConfigError, UsageError
from navigator.model.states import Role
from tests.journey.room import Room, text_of
from tests.journey.scripted_models import Models
from tests.journey.test_prompts import own


def run(*words: str) -> dict[str, Any]:
    done = CliRunner().invoke(prompts, [*words, "--json"], catch_exceptions=False)
    return dict(json.loads(done.stdout))


def tried(task: str) -> dict[str, Any]:
    (trial,) = run("try", task)["trials"]
    return dict(trial)


def without_key(messages: Any) -> str:
    """Apart from the delimiters' key, which is drawn anew."""
    return text_of(messages).replace(messages[0]["content"].split("carry the key ")[1][:12], "KEY")


def test_a_prompt_is_tried_as_the_conductor_sends_it(room: Room) -> None:
    task = room.queue()
    trial = tried(task)
    assert (trial["role"], trial["prompt"]) == ("generator", "generate")
    room.work()
    assert without_key(trial["prompts"][0]["messages"]) == without_key(room.models.written[0])
    trial = tried(task)
    (shown,) = trial["prompts"]
    (sent,) = room.models.read_by
    assert (trial["role"], trial["prompt"], shown["fits"]) == ("reviewer", "review", True)
    assert 0 < shown["tokens"] < trial["room"]
    assert without_key(shown["messages"]) == without_key(sent)
    used = room.proposals()[0].review
    assert used is not None
    own(room.folder, "review", ("You review one", "You distrust one"))
    trial = tried(task)
    assert trial["prompts"][0]["messages"][0]["content"].startswith("You distrust one proposed change")
    assert trial["prompt_version"] != used.prompt_version


def test_a_prompt_is_counted_by_the_tokenizer_of_its_writer(room: Room) -> None:
    folder = str(Path(__file__).parents[1] / "client" / "data" / "tokenizer")
    room.settle(routing='reviewer = ["fix"]', reviewer=f'tokenizer = "{folder}"')
    task, count = room.queue(kind="fix"), load_counter(folder).count
    trial = tried(task)
    (shown,) = trial["prompts"]
    assert (trial["role"], trial["exact"]) == ("reviewer", True)
    assert shown["tokens"] == sum(count(message["content"]) for message in shown["messages"])
    with room.world() as world:
        made = asyncio.run(gather(world, room.task(task), Role.REVIEWER)).prompted
    assert made.tokens == sum(count(message["content"]) for message in made.messages)


def test_what_cannot_be_tried_says_why(room: Room, models: Models) -> None:
    task = room.queue()
    for words, said in (
        (("--prompt", "repair"), "cannot be tried on its own"),
        (("--prompt", "review"), "no proposal"),
        (("--prompt", "revise"), "it follows another answer"),
    ):
        with pytest.raises(UsageError, match=said):
            CliRunner().invoke(prompts, ["try", task, *words], catch_exceptions=False)
    own(room.folder, "generate", ("{{ task }}", "{{ tusk }}"))
    with pytest.raises(ConfigError, match=r"generate\.md: the prompt uses tusk"):
        CliRunner().invoke(prompts, ["try", task], catch_exceptions=False)


def test_checking_lists_what_is_broken_and_fails(room: Room) -> None:
    assert run("list")["ok"] is True
    own(room.folder, "revise")
    own(room.folder, "review", ("{{ diff }}", ""))
    done = CliRunner().invoke(prompts, ["list", "--json"])
    document = json.loads(done.stdout)
    assert (done.exit_code, document["ok"]) == (1, False)
    problems = {row["name"]: row["problem"] for row in document["prompts"]}
    assert problems["revise"] == ""
    owned = {row["name"]: row["own"] for row in document["prompts"]}
    assert owned["revise"] and not owned["generate"]
    assert problems["review"].startswith(f"{room.folder}/prompts/review.md: the prompt does not use diff")
