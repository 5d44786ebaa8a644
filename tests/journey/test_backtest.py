"""The backtest from a history to its figures: real git, a real session, and a reviewer that knows which bugs it sees."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from navigator.cli.main import cli
from navigator.cli.session import locked_dependencies
from navigator.engine.conductor import Conductor
from navigator.exam import blame
from navigator.figures.page import PageQuestion
from navigator.figures.reviewer import exam_tables
from navigator.journey.dependencies import Dependencies
from navigator.model.states import PAST, ExamSource, Role
from tests.git.world import fingerprint, git
from tests.journey.room import Room, text_of
from tests.journey.scripted_models import Messages, Models, Refusal, approval, objection
from tests.journey.test_exam_prepare import RENAMED, T_FEATURE, ProvingRoom
from tests.sandbox.support import needs_sandbox

PARTS = 6
SEEN = (1, 2)
"""Bugs that the reviewer sees, of parts 0 to 3; part 4 is innocent, but it objects to it."""


@pytest.fixture
def room(room: Room, models: Models, monkeypatch: pytest.MonkeyPatch) -> Room:
    def read(messages: Messages) -> str:
        said = text_of(messages)
        for part in (*SEEN, 4):
            quote = f"    return x * {part} - 0"
            if re.search(rf"\+{re.escape(quote)}", said):
                return approval(findings=[objection(quote)], verdict="REVISE")
        return approval()

    models.read = read
    stream: list[str] = []
    day = 0

    def commit(part: int, text: str, message: str) -> None:
        nonlocal day
        day += 40
        when = f"{1_600_000_000 + day * 86_400} +0000"
        above = "" if stream else "from refs/heads/main^0\n"
        stream.append(
            f"commit refs/heads/main\ncommitter Dev Eloper <dev@example.org> {when}\ndata {len(message)}\n{message}\n{above}"
            f"M 100644 inline part{part}.py\ndata {len(text)}\n{text}\n"
        )
        monkeypatch.setenv("GIT_COMMITTER_DATE", when)

    def text(part: int, line: str) -> str:
        return f"def part{part}(x):\n    y = x + {part}\n    {line}\n"

    for part in range(PARTS + 2):
        commit(part, text(part, f"return x * {part} - 0"), f"Add \x1b[31mpart {part} [bold]")
    for part in range(4):
        commit(part, text(part, f"return y * {part} - 0"), f"Fix wrong result of part {part}")
    day += 400
    commit(9, "z = 1\n", "Add the end")
    git(room.repository, "fast-import", "--quiet", input="".join(stream).encode())
    git(room.repository, "reset", "--quiet", "--hard", "main")
    return room


def run(*words: str) -> str:
    done = CliRunner().invoke(cli, list(words))
    assert done.exit_code == 0, done.output
    return done.stdout


def test_bugs_are_found_asked_about_blindly_and_counted(room: Room, models: Models) -> None:
    before = fingerprint(room.repository)
    first = json.loads(run("backtest", "--json"))
    (project,) = first["projects"]
    counts = {"found": 4, "known": 0, "tried": 4, "kept": 4}
    assert project["sources"]["shipped"] == project["sources"]["shipped"] | counts
    assert (project["faulty"], project["clean"], first["caught"]["n"]) == (4, 4, 0)
    items = room.read().exam_items()
    fixes = {item.evidence["fix_subject"] for item in items if item.faulty}
    assert fixes == {f"Fix wrong result of part {part}" for part in range(4)}
    assert {item.title[-8] for item in items if item.source is ExamSource.INNOCENT} == set("4567")

    # A server that fails, and a session that ends: what has no answer is asked the next time, and nothing twice.
    script, asked = models.read, 0

    def failing(messages: Messages) -> str | Refusal:
        nonlocal asked
        asked += 1
        return script(messages) if asked <= 3 else Refusal(503)  # type: ignore[return-value]

    async def ask(_: Dependencies, conductor: Conductor) -> None:
        conductor.ask_exam(100)

    models.read = failing
    room.work(meanwhile=ask)
    begun = len(room.read().exam_answers())
    assert 0 < begun < len(items)
    models.read = script
    room.work(meanwhile=ask)
    answers = room.read().exam_answers()
    assert sorted(one.item_id for one in answers) == [item.id for item in items]

    # Nothing in a prompt tells one kind from the other, and nothing of the fixes is in any.
    for messages in models.read_by:
        said = text_of(messages)
        assert "Fix wrong" not in said and "shipped" not in said and "innocent" not in said
        assert "return y *" not in said

    # The writer's model may be asked the same items, to compare: that is no answer of the reviewer's.
    with locked_dependencies(room.paths) as deps, deps.store.transaction() as tx:
        other = {"id": 0, "role": Role.GENERATOR, "model": "scripted/writer"}
        tx.add_exam_answer(answers[0].model_copy(update=other))
    found = json.loads(run("backtest", "--json"))
    assert found["reviewer"].startswith("scripted/reader")
    assert found["projects"][0]["sources"]["shipped"]["known"] == 4, "nothing is made twice"
    assert (found["caught"]["n"], found["caught"]["value"], found["flagged"]["value"]) == (4, 0.5, 0.25)
    assert found["false_alarms_each"]["value"] == 0.5
    assert {bug["title"][-8] for bug in found["bugs"] if bug["caught"]} == {"1", "2"}

    told = run("backtest")
    assert "caught 2 of 4 bugs you shipped (50% [15–85]), with 0.5 false alarms for each" in " ".join(
        told.split()
    )
    assert "was trained on this repository" in " ".join(told.split()) and "\x1b" not in told
    assert "Caught: " in told and "Missed: " in told and "only add lines" in told
    assert fingerprint(room.repository) == before

    # It is no exam: that has no item and no score, but the page says what the backtest found.
    exam, *tables = exam_tables(room.read(), PageQuestion())
    assert (exam.data["reviewers"], exam.data["prepared"]) == ([], {"faulty": 0, "clean": 0})
    (table,) = [one for one in tables if one.title == "WOULD IT HAVE CAUGHT YOUR BUGS?"]
    assert table.answer.startswith("It would have caught 2 of 4 bugs")


def test_the_limit_and_the_day_bound_what_is_asked(room: Room) -> None:
    newest = json.loads(run("backtest", "--limit", "1", "--since", "2021-11-01", "--json"))["projects"][0]
    assert (newest["sources"]["shipped"]["found"], newest["faulty"], newest["clean"]) == (2, 1, 1)
    (bug,) = [item for item in room.read().exam_items() if item.faulty]
    assert bug.evidence["fix_subject"].endswith("part 3")
    assert json.loads(run("backtest", "code", "--limit", "3", "--json"))["projects"][0]["faulty"] == 3
    assert all(item.source in PAST for item in room.read().exam_items())


def test_an_innocent_commit_that_a_new_fix_leads_to_is_innocent_no_more(room: Room) -> None:
    run("backtest")
    items = room.read().exam_items()
    part = next(item.title[-8] for item in items if item.source is ExamSource.INNOCENT)
    path = room.repository / f"part{part}.py"
    path.write_text(path.read_text().replace("return x", "return y"))
    git(room.repository, "commit", "--quiet", "-am", f"Fix wrong result of part {part}")
    found = json.loads(run("backtest", "--json"))["projects"][0]
    assert (found["faulty"], found["clean"]) == (5, 3)
    assert {item.title[-8]: item.source for item in room.read().exam_items()}[part] is ExamSource.SHIPPED
    # A commit that is withheld is never an item.
    key = "AKIA" + "Z7Q2M4X5P6L3K3J6"
    for line, subject in ((f'KEY = "{key}"', "Add keys"), ("KEY = load()", "Fix leak of keys")):
        room.commit({"keys.py": f"def key():\n    {line}\n    return KEY\n"}, subject)
    made = json.loads(run("backtest", "--json"))["projects"][0]
    assert made["sources"]["shipped"]["rejected"] == {"a model may not be shown the commit": 1}
    assert not [item for item in room.read().exam_items() if item.title == "Add keys"]


@needs_sandbox
@pytest.mark.sandbox
def test_a_test_that_fails_without_the_fix_is_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = ProvingRoom(tmp_path, monkeypatch)
    right = RENAMED.replace("half(x, True) + 1, label", "half(x, True), label")
    tests = T_FEATURE.replace("(5, ", "(4, ")
    room.commit({"app.py": right, "test_app.py": tests}, "Fix wrong result of both()")
    wordy = right.replace('        return "more"\n', '        return str("more")\n')
    room.commit({"app.py": wordy}, "Say more")
    room.commit({"app.py": wordy.replace('str("more")', '"more"')}, "Fix wrong more")
    room.register()
    before = fingerprint(room.repository)
    made = room.prepare(past=True)
    proofs = {item.evidence["fix_subject"]: item.evidence["proof"] for item in room.items() if item.faulty}
    assert proofs == {"Fix wrong result of both()": "failing", "Fix wrong more": "no test fails"}
    assert made.runs >= 3 and fingerprint(room.repository) == before


def test_what_git_cannot_say_is_counted_or_a_problem(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(blame, "_SECONDS", 0.0)
        made = json.loads(run("backtest", "--json"))["projects"][0]
    assert made["sources"]["shipped"]["rejected"] == {"git cannot say who wrote its lines": 4}
    blob = git(room.repository, "rev-parse", "HEAD~1:part3.py")
    (room.repository / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    made = json.loads(run("backtest", "--json"))["projects"][0]
    assert "git log" in made["problem"] and made["hint"]
