"""Each command, run as a user runs it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from navigator.cli.main import _COMMANDS
from navigator.engine import acting
from navigator.engine.wire import NoConductor, error_document, raise_remote
from navigator.landing.plan import unknown_person
from tests.cli.conftest import Command, git
from tests.journey.support import without_identity


def test_the_whole_way_from_a_repository_to_a_landed_commit_and_back(
    command: Command, repository: Path
) -> None:
    command.run("project", "add", str(repository), "--name", "thing")
    added = command.json(
        "task", "add", "thing", "Compare with None by identity", "--kind", "fix", "--file", "thing.py"
    )
    assert [task["state"] for task in added["tasks"]] == ["queued"]

    session = command.json("run", "--until", "idle", "--time-scale", "0")
    assert session["states"] == {"awaiting_approval": 1}
    assert session["rehearsal"] is True
    promised = "projects tasks proposals verdicts rounds swaps wall_seconds model_seconds serial_seconds"
    assert set(promised.split()) <= session.keys()

    proposals = command.json("proposals", "--state", "open")["proposals"]
    assert len(proposals) == 1
    proposal = proposals[0]
    assert proposal["rehearsal"] is True
    assert proposal["review"]["verdict"] in ("APPROVE", "REVISE")
    assert git(repository, "branch", "--list").split() == ["*", "main"]

    shown = command.run("diff", proposal["id"]).stdout
    assert "REHEARSAL" in shown
    assert " + # " in shown

    command.run("project", "set", "thing", "--landing", "current")
    sound = (repository / "thing.py").read_text()
    (repository / "thing.py").write_text("changed = True\n")
    refused = command.json("approve", "--yes", proposal["id"], code=1)["decisions"][0]
    assert refused["landing"] == "refused"
    assert command.json("undo", "--yes", "P1")["undone"][0]["undone"] is True
    assert command.json("task", "show", "T1")["task"]["state"] == "awaiting_approval"
    (repository / "thing.py").write_text(sound)
    command.run("project", "set", "thing", "--landing", "branch")

    landed = command.json("approve", "--yes", proposal["id"])["decisions"][0]
    assert landed["landing"] == "landed"
    branch = landed["ref"].removeprefix("refs/heads/")
    assert branch.startswith("navigator/")
    message = git(repository, "log", "-1", "--format=%B", branch)
    assert f"Navigator-Proposal: {proposal['id']}" in message
    assert "Rehearsal: true" in message
    assert git(repository, "diff", "--numstat", "main", branch).split() == ["1", "0", "thing.py"]

    undone = command.json("undo", "--yes", proposal["id"])["undone"][0]
    assert undone["undone"] is True
    assert git(repository, "branch", "--list").split() == ["*", "main"]
    assert git(repository, "status", "--porcelain") == ""


def test_reject_and_send_back(command: Command, repository: Path) -> None:
    command.run("project", "add", str(repository), "--name", "thing")
    command.run("task", "add", "thing", "Compare with None by identity", "--file", "thing.py")
    text = "Make the bare URLs of README.md links"
    command.run("task", "add", "thing", text, "--kind", "docs", "--file", "README.md")
    away = repository.with_name("away")
    repository.rename(away)
    failed = command.json("run", "--until", "idle", "--time-scale", "0", code=1)
    assert (failed["failed"], failed["states"]) == (2, {"failed": 2})
    away.rename(repository)
    command.run("task", "retry", "T1")
    # A failure of an earlier session is none of this one.
    session = command.json("run", "--until", "idle", "--time-scale", "0")
    assert (session["failed"], session["states"]) == (0, {"awaiting_approval": 1, "failed": 1})
    command.run("task", "retry", "T2")
    command.run("run", "--until", "idle", "--time-scale", "0", "--json")
    first, second = command.json("proposals", "--state", "open")["proposals"]

    nothing_said = command.json("send-back", first["id"], code=1)["decisions"][0]
    assert nothing_said["recorded"] is False
    assert "--note" in nothing_said["reason"]
    command.run("send-back", first["id"], "--note", "Only in load(), please.")
    task = command.json("task", "show", first["task_id"])["task"]
    told = command.run("task", "show", first["task_id"]).stdout
    assert "queued → generating" in told and "{'" not in told
    assert f"{first['id']}  attempt 2 round 0" in told
    assert (task["state"], task["attempt"], task["note"]) == ("queued", 2, "Only in load(), please.")

    command.run("reject", second["id"], "--yes")
    assert command.json("task", "show", second["task_id"])["task"]["state"] == "rejected"
    again = command.json("approve", "--yes", second["id"], code=1)["decisions"][0]
    assert again["recorded"] is False
    command.run("task", "retry", second["task_id"])
    command.run("task", "cancel", second["task_id"])
    assert command.json("task", "show", second["task_id"])["task"]["state"] == "cancelled"


def test_a_second_conductor_is_refused_and_commands_reach_the_first(
    command: Command, repository: Path
) -> None:
    stopped = command.run("run", "--stop", code=1).stderr
    assert "No conductor is running." in stopped and "navigator run" not in stopped
    started = command.json("run", "--detach", "--time-scale", "0")
    try:
        assert os.getsid(started["pid"]) == started["pid"], "it outlives the terminal"
        status = command.json("status")
        assert status["conductor"]["strategy"] == "rehearsal"
        for words in (("--detach",), ("--until", "idle")):
            refused = command.run("run", *words, code=1).stderr
            assert "is running" in refused or "is using" in refused
            assert "navigator run --stop" in refused
        command.run("project", "add", str(repository), "--name", "thing")
        command.run("task", "add", "thing", "Compare with None by identity", "--file", "thing.py")
        assert _comes_true(lambda: command.json("task", "show", "T1")["task"]["state"] == "awaiting_review")
    finally:
        command.run("run", "--stop")
    assert _comes_true(lambda: command.json("status")["conductor"] is None)
    # Nothing was lost, and the lock comes free: the next session goes on.
    words = ("run", "--until", "idle", "--time-scale", "0")
    assert _comes_true(lambda: command.run(*words, code=None).returncode == 0)
    assert command.json("task", "show", "T1")["task"]["state"] == "awaiting_approval"


def _comes_true(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("proposal",), "Did you mean"),
        (("task", "show", "P7"), "does not name a task"),
        (("task", "lst"), "Did you mean 'list'?"),
        (("context", "T99"), "There is no task T99"),
        (("diff", "P7"), "There is no proposal"),
        (("diff", "T1"), "does not name a proposal (such as P7)"),
        (("proposals", "--project", "nosuch"), "There is no project 'nosuch'"),
        (("task", "list", "--project", "nosuch"), "There is no project 'nosuch'"),
        (("task", "add", "nothing", "do it"), "no project"),
        (("task", "add", "--from", "missing.toml"), "cannot be read"),
        (("project", "add", "/nonexistent/folder"), "does not exist"),
        (("approve",), "Name proposals"),
        (("stats", "reviewer", "--since", "yesterday"), "is not a date"),
        (("gc", "--older-than", "soon"), "is not an age"),
        (("prompts", "show", "nothing"), "There is no prompt"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_use_is_said_with_what_to_do(command: Command, words: tuple[str, ...], says: str) -> None:
    done = command.run(*words, code=None)
    assert done.returncode in (1, 2)
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_settings_file_is_named_with_its_key(command: Command) -> None:
    command.config.write_text("[batch]\ntargt = 3\n")
    done = command.run("config", "check", code=2)
    assert "targt" in done.stderr
    assert "target" in done.stderr
    assert str(command.config) in done.stderr


def test_without_a_strategy_run_says_how_to_choose_one_and_doctor_that_it_is_missing(
    command: Command,
) -> None:
    command.config.write_text("")
    done = command.run("run", "--until", "idle", code=3)
    assert "strategy" in done.stderr and done.stdout == ""
    document = command.json("doctor", code=3)
    missing = [item["name"] for item in document["items"] if item["state"] == "missing"]
    assert missing == ["swap strategy"]
    assert document["log"] == str(command.state / "navigator.log")


def test_doctor_says_where_git_does_not_know_its_user(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_identity(monkeypatch, tmp_path)

    def said() -> tuple[str, str]:
        items = {item["name"]: item for item in command.json("doctor", code=None)["items"]}
        return items["git identity"]["state"], items["git identity"]["found"]

    assert said() == ("warn", unknown_person(""))
    (tmp_path / "nobody.gitconfig").write_text("[user]\n\tname = A\n\temail = a@example.invalid\n")
    assert said() == ("ok", "A <a@example.invalid>")


def test_json_of_an_empty_state_is_one_document_each(command: Command) -> None:
    assert command.json("project", "list") == {"projects": []}
    assert command.json("task", "list") == {"tasks": []}
    assert command.json("proposals") == {"proposals": [], "waiting": []}
    assert command.json("stats", "reviewer", "--since", "7d")["revise_rate"]["rows"] == []
    assert command.json("swap", "log") == {"swaps": [], "rehearsal": True}
    assert command.json("status")["waiting"] == 0
    assert command.json("forecast", "--batch", "30")["forecast"]["swap_each"] == pytest.approx(75.4 / 30)


def test_state_is_private(command: Command) -> None:
    command.run("status")
    assert command.state.stat().st_mode & 0o777 == 0o700
    for path in command.state.iterdir():
        if path.is_file():
            assert path.stat().st_mode & 0o077 == 0, path


def test_projects_of_the_settings_file_are_there_and_override(command: Command, repository: Path) -> None:
    command.run("project", "add", str(repository), "--name", "plain")
    command.config.write_text(
        command.config.read_text()
        + f'[[project]]\npath = "{repository}"\nname = "named"\nlanding = "current"\n'
        + '[[project]]\npath = "/nonexistent/elsewhere"\n'
    )
    command.run("gc")
    (held,) = command.json("project", "list")["projects"]
    assert (held["name"], held["landing"], held["source"]) == ("named", "current", "config")
    command.config.write_text('[swap]\nstrategy = "rehearsal"\n')
    command.run("gc")
    (held,) = command.json("project", "list")["projects"]
    assert held["source"] == "store"
    command.run("project", "remove", "named", "--yes")
    command.config.write_text(f'{command.config.read_text()}[[project]]\npath = "{repository}"\n')
    assert command.json("task", "add", "--all", "Say what it does")["tasks"][0]["project"] == "thing"


def test_status_while_a_conductor_ends(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def ending(*args: object, **options: object) -> None:
        raise_remote(error_document(NoConductor("The conductor is ending.")))

    monkeypatch.setattr(acting, "request", ending)
    assert command.json("status")["conductor"] is None


def test_doctor_finds_a_damaged_database(command: Command) -> None:
    command.run("status")
    (command.state / "navigator.db").write_bytes(b"rubbish" * 1000)
    items = {item["name"]: item for item in command.json("doctor", code=3)["items"]}
    assert items["database"]["state"] == "missing"


def test_every_command_has_help_that_cuts_no_sentence(command: Command) -> None:
    for name in _COMMANDS:
        said = command.run(name, "--help").stdout
        assert "Usage: navigator" in said
        assert "..." not in said.partition("Commands:")[2], name


def test_a_list_of_tasks_says_what_each_waits_for(command: Command, repository: Path) -> None:
    command.run("project", "add", str(repository), "--name", "thing")
    command.run("task", "add", "thing", "Say what load() returns", "--variants", "2")
    command.run("task", "add", "thing", "Say more", "--after", "T1")
    lines = command.run("task", "list").stdout.splitlines()[1:]
    said = [line.partition("  Say ")[2].split("  ", 1)[1].strip() for line in lines]
    assert said == ["variant 1 of T1", "variant 2 of T1", "after T1"]


def test_a_folder_of_repositories_is_added_once(command: Command, repository: Path) -> None:
    assert command.json("project", "scan", str(repository.parent))["projects"] == []
    found = command.json("project", "scan", str(repository.parent), "--yes")
    assert (found["found"], [one["name"] for one in found["projects"]]) == ([str(repository)], ["thing"])
    assert command.json("project", "scan", str(repository.parent), "--yes")["found"] == []
