"""The samples' answers: they fit the samples, and whatever the data does not know gets no invented answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from navigator.model.states import TaskKind
from navigator.rehearsal.player import answer
from navigator.rehearsal.samples import SampleTask, sample_projects, sample_questions, sample_tasks
from tests.journey.support import git, make_repository
from tests.rehearsal.test_tool_calls import Agent, again, first

KEY = "0123456789ab"
PROJECTS = {project.name: project for project in sample_projects()}
TASKS = sample_tasks(1000, sample_projects())
SYSTEM = f"The key {KEY}\n<<<<<<< SEARCH\n<<<<<<< LOOK\n"


def block(kind: str, text: str, **attributes: object) -> str:
    return f"[[begin {kind} {KEY} {json.dumps(attributes)}]]\n{text}\n[[end {kind} {KEY}]]\n"


def asked(task: SampleTask, *answers: str, system: str = SYSTEM, more: str = "") -> str:
    """What is answered after `answers`."""
    first = f"Project: {task.project}\n\n{block('task', task.text)}{more}"
    messages = [{"role": "system", "content": system}, {"role": "user", "content": first}]
    for said in answers:
        messages += [{"role": "assistant", "content": said}, {"role": "user", "content": "Again."}]
    return answer(messages).text


def test_there_is_enough_of_everything() -> None:
    assert len(PROJECTS) == 24
    assert len(TASKS) == 120
    kinds = {task.kind for task in sample_questions(sample_projects())}
    assert kinds == {TaskKind.SCAN, TaskKind.ARCHITECTURE}
    findings = [finding for task in TASKS for one in task.reviews for finding in one["findings"]]
    assert any(finding["kind"] == "missing" for finding in findings)
    assert any(task.revised for task in TASKS) and any(task.cut for task in TASKS)
    assert [task.order for task in sample_tasks(9, sample_projects())] == list(range(9))


def test_the_answers_come_in_their_order() -> None:
    for task in TASKS:
        said: list[str] = []
        for expected in (*task.answers, task.answers[-1]):
            said.append(asked(task, *said))
            assert said[-1] == expected, task.text
        assert PROJECTS[task.project].files.keys() >= {*task.files}
        assert not task.reviews or "\n<<<<<<< SEARCH\n" in task.answers[-1]


def test_an_unknown_task_is_not_invented() -> None:
    task = TASKS[0]
    game = block("task", "Write a game")
    words = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": game}]
    assert answer(words).text.startswith("NO_CHANGE: this rehearsal only plays its sample tasks")
    words[0]["content"] = f"The key {KEY}"
    assert answer(words).text.startswith("No report: ")
    assert json.loads(answer(words, {"type": "object"}).text) == {"suggestions": []}
    words[1]["content"] += block("diff", "### a.py\n@@ H1 @@\n     1|+x")
    assert answer(words).text.startswith("No review: ")
    findings = block("findings", "[]") * 4
    assert asked(task, more=findings).startswith("NO_CHANGE: this rehearsal has no other answer")


def test_what_was_done_already_is_left_out() -> None:
    task = next(task for task in TASKS if task.answers[0].count("\n<<<<<<< SEARCH\n") > 1 and task.files)
    path = task.files[0]
    text = PROJECTS[task.project].files[path].decode().replace("\r\n", "\n")
    edits = task.answers[0].split("<<<<<<< SEARCH\n")[1:]
    for number, edit in enumerate(edits, 1):
        search, _, rest = edit.partition("=======\n")
        put = rest.partition(">>>>>>> REPLACE")[0]
        assert search in text
        text = text.replace(search, put, 1)
        said = asked(task, more=block("file", text.removesuffix("\n"), path=path))
        left = said.count("\n<<<<<<< SEARCH\n")
        assert left == len(edits) - number
    assert said.startswith("NO_CHANGE: the files are already as the task asks")


@pytest.mark.parametrize("fixed", [False, True])
def test_what_was_sent_back_is_made_again_and_the_title_says_so(fixed: bool) -> None:
    task = next(task for task in TASKS if task.revised and task.revised[0] != task.answers[0])
    before = (task.revised if fixed else task.answers)[0]
    put = "".join(part.partition(">>>>>>> ")[0] for part in before.split("=======\n")[1:])
    sent = block("sent-back", "\n".join(f"+{line}" for line in put.splitlines()))
    said = asked(task, more=sent)
    assert said.startswith("The same change again: this rehearsal cannot follow a note.\n\n")
    assert said.endswith(before)


def test_a_review_has_the_findings_whose_line_is_shown() -> None:
    task, finding = next(
        (task, one)
        for task in TASKS
        if task.reviews
        for one in task.reviews[0]["findings"]
        if one["kind"] == "wrong" and one["line"] and not task.cut
    )
    shown = f"### {task.files[0]}\n@@ H7 @@\n    12|+{finding['quote']}"
    words = [{"role": "system", "content": f"The key {KEY}"}]
    there = [*words, {"role": "user", "content": block("task", task.text) + block("diff", shown)}]
    (found,) = json.loads(answer(there).text)["findings"]
    assert found == finding | {"hunk": "H7"}
    unlike = block("task", task.text) + block("diff", "@@ H1 @@\n    1|+x")
    other = [*words, {"role": "user", "content": unlike}]
    assert json.loads(answer(other).text)["findings"] == []
    earlier = block("earlier", json.dumps([{"number": 1, "quote": finding["quote"]}]))
    again = [*words, {"role": "user", "content": there[1]["content"] + earlier}]
    assert [one["finding"] for one in json.loads(answer(again).text)["addressed"]] == [1]


def test_an_answer_that_breaks_off_is_whole_on_a_retry() -> None:
    task = next(task for task in TASKS if task.cut == 1)
    text = block("task", task.text) + block("diff", f"### {task.files[0]}\n@@ H1 @@\n    12|+x")
    words = [{"role": "system", "content": f"The key {KEY}"}, {"role": "user", "content": text}]
    assert answer(words).finish_reason == "length"
    assert "verdict" in json.loads(answer(words, repeat=1).text)


def test_a_coding_agent_makes_the_change_by_its_tools(tmp_path: Path) -> None:
    task = next(task for task in TASKS if task.revised and "\n<<<<<<< SEARCH\n" in task.revised[-1])
    repository = make_repository(tmp_path / "it", PROJECTS[task.project].files)
    words = first(repository, task.text).replace("repository code,", f"repository {task.project},")
    agent = Agent(repository, answer)
    assert agent.prompt(words) == task.answers[-1].partition("\n")[0] + "\n"
    assert set(agent.calls) == {"read_file", "edit"}
    before = git(repository, "diff")
    agent.prompt(again("x"))
    assert "bash" in agent.calls
    assert before != git(repository, "diff") != ""
    assert Agent(repository, answer).prompt(first(repository, "Write a game")).startswith("NO_CHANGE: this")
