"""A scan from the command line: asked for, rehearsed, chosen from, put away."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command

pytestmark = pytest.mark.slow


def test_suggestions_are_listed_sent_back_chosen_and_put_away(command: Command, repository: Path) -> None:
    command.run("project", "add", str(repository))
    (asked,) = command.json("task", "add", "--all", "--kind", "scan", "What is worth a task?")["tasks"]
    scanned = asked["id"]
    session = ("run", "--until", "idle", "--time-scale", "0", "--json")
    command.run(*session)
    assert "what to do differently" in command.run("send-back", scanned, code=2).stderr
    command.run("send-back", scanned, "--note", "Only the README.")
    shown = command.json("task", "show", scanned)
    task = shown["task"]
    assert (task["state"], task["attempt"], task["note"]) == ("queued", 1, "Only the README.")
    assert shown["suggestions"] == []
    command.run(*session)
    shown = command.json("task", "show", scanned)
    found = shown["suggestions"]
    assert shown["task"]["id"] == scanned and shown["task"]["report"].startswith("# ")
    assert len(found) >= 3
    assert [one["rank"] for one in found] == list(range(1, len(found) + 1))
    source = (repository / "thing.py").read_text().splitlines()
    for one in found:
        if one["quote_path"] == "thing.py":
            assert one["quote"].strip() in source[one["quote_line"] - 1]
    assert "why: " in command.run("task", "show", scanned).stdout
    for words, said in (
        (("task", "accept", scanned, "99"), "has no suggestion 99"),
        (("task", "accept", scanned), "Name suggestions by their numbers"),
        (("task", "accept", scanned, "1", "--all"), "Name suggestions by their numbers"),
    ):
        assert said in command.run(*words, code=2).stderr

    made = command.json("task", "accept", scanned, "1", "2")
    assert [(task["origin"], task["state"]) for task in made["tasks"]] == [(scanned, "queued")] * 2
    assert made["scan"]["state"] == "awaiting_approval"
    accepted = made["tasks"][0]["id"]
    again = command.run("task", "accept", scanned, "1", code=1)
    assert f"accepted already, as {accepted}" in again.stderr
    assert "has no suggestions" in command.run("task", "accept", accepted, "1", code=2).stderr

    assert "left" in command.run("task", "dismiss", scanned, "3").stdout
    command.run("task", "dismiss", scanned, "--all")
    shown = command.json("task", "show", scanned)
    assert shown["task"]["state"] == "done"
    states = [one["state"] for one in shown["suggestions"]]
    assert states == ["accepted", "accepted", *["dismissed"] * (len(found) - 2)]
    assert f"from: {scanned}" in command.run("task", "show", accepted).stdout
