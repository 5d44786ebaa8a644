"""A scan from the command line: asked for, rehearsed, chosen from, put away."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command

pytestmark = pytest.mark.slow


@pytest.fixture
def scanned(command: Command, repository: Path) -> str:
    """A scan of the small repository, done by the rehearsal."""
    command.run("project", "add", str(repository))
    (made,) = command.json("task", "add", "--all", "--kind", "scan", "What is worth a task?")["tasks"]
    command.run("run", "--until", "idle", "--time-scale", "0", "--json")
    return str(made["id"])


def test_suggestions_are_listed_chosen_and_put_away(command: Command, scanned: str) -> None:
    shown = command.json("task", "show", scanned)
    found = shown["suggestions"]
    assert shown["task"]["id"] == scanned
    assert len(found) >= 3
    assert [one["rank"] for one in found] == list(range(1, len(found) + 1))
    grounded = [one for one in found if one["quote_path"]]
    source = (Path(command.state).parent / "thing" / "thing.py").read_text().splitlines()
    for one in grounded:
        if one["quote_path"] == "thing.py":
            assert one["quote"].strip() in source[one["quote_line"] - 1]
    words = command.run("task", "show", scanned).stdout
    assert "why: " in words

    made = command.json("task", "accept", scanned, "1", "2")
    assert [task["origin"] for task in made["tasks"]] == [scanned, scanned]
    assert [task["state"] for task in made["tasks"]] == ["queued", "queued"]
    assert made["scan"]["state"] == "awaiting_approval"
    again = command.run("task", "accept", scanned, "1", code=1)
    assert f"accepted already, as {made['tasks'][0]['id']}" in again.stderr

    assert "left" in command.run("task", "dismiss", scanned, "3").stdout
    command.run("task", "dismiss", scanned, "--all")
    assert command.json("task", "show", scanned)["task"]["state"] == "done"
    states = [one["state"] for one in command.json("task", "show", scanned)["suggestions"]]
    assert states == ["accepted", "accepted", *["dismissed"] * (len(found) - 2)]
    origin = command.run("task", "show", made["tasks"][0]["id"]).stdout
    assert f"from: {scanned}" in origin


def test_all_that_are_open_are_accepted_at_once_and_worked_on(command: Command, scanned: str) -> None:
    made = command.json("task", "accept", scanned, "--all")
    assert made["scan"]["state"] == "done"
    session = command.json("run", "--until", "idle", "--time-scale", "0")
    assert session["proposals"] >= 1
    tasks = command.json("task", "list")["tasks"]
    assert len(tasks) == len(made["tasks"]) + 1
    assert all(task["state"] not in ("failed", "queued") for task in tasks)


def test_what_cannot_be_chosen_is_said(command: Command, scanned: str) -> None:
    report = command.json("task", "show", scanned)
    assert report["suggestions"]
    assert report["task"]["report"].startswith("# ")
    for words, said in (
        (("task", "accept", scanned, "99"), "has no suggestion 99"),
        (("task", "accept", scanned), "Name suggestions by their numbers"),
        (("task", "accept", scanned, "1", "--all"), "Name suggestions by their numbers"),
    ):
        assert said in command.run(*words, code=2).stderr
    (made,) = command.json("task", "add", "thing", "Compare with None by identity")["tasks"]
    assert "has no suggestions" in command.run("task", "accept", made["id"], "1", code=2).stderr


def test_a_scan_is_sent_back_with_a_note(command: Command, scanned: str) -> None:
    assert "what to do differently" in command.run("send-back", scanned, code=2).stderr
    command.run("send-back", scanned, "--note", "Only the README.")
    shown = command.json("task", "show", scanned)["task"]
    assert (shown["state"], shown["attempt"], shown["note"]) == ("queued", 1, "Only the README.")
    assert command.json("task", "show", scanned)["suggestions"] == []
