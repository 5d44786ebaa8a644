"""The generator's answers, from the first turn to the revision, judged by the real edit engine."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from navigator.checks.syntax import syntax_check
from tests.rehearsal.conversation import applied, repairing, revising, task_messages, writing
from tests.scripted.instances import fitted, instance_of
from tests.scripted.samples.repositories import SampleProject, SampleTask
from tests.scripted.writer.generator import Generator, planted
from tests.scripted.writer.work import LARGEST_FILE

RIGHT = Generator(seed=0, fault_rate=0.0)
SPOILT = Generator(seed=0, fault_rate=1.0)
TASK = "Compare with None by identity\n\nEvery `== None` has to go."


def said(generator: Generator, messages: list[dict[str, str]]) -> str:
    return generator.answer(messages).text


def test_every_right_answer_applies_and_parses(
    projects: list[SampleProject], tasks: list[SampleTask]
) -> None:
    by_name = {project.name: project for project in projects}
    made = 0
    for task in tasks:
        files = by_name[task.project].files
        answer = said(RIGHT, task_messages(by_name[task.project], task))
        if answer.startswith("NO_CHANGE: "):
            continue
        done = applied(files, answer)
        assert not done.problems, (task, [str(problem) for problem in done.problems])
        for path, change in done.changes.items():
            assert syntax_check(path, change.content or b"") is None
        made += 1
    assert made > 0.9 * len(tasks)


def test_spoilt_answers_are_of_many_kinds_and_only_two_do_not_apply(
    projects: list[SampleProject], tasks: list[SampleTask]
) -> None:
    by_name = {project.name: project for project in projects}
    kinds: Counter[str] = Counter()
    for task in tasks:
        messages = task_messages(by_name[task.project], task)
        plant = planted(0, messages, 1.0)
        if plant is None:
            continue
        kind = plant.partition(":")[0]
        kinds[kind.partition("-")[0] if kind.startswith("subtle") else kind] += 1
        answer = said(SPOILT, messages)
        assert kind not in answer
        assert bool(applied(by_name[task.project].files, answer).problems) == (
            kind in {"wrong-block", "omission"}
        )
    assert set(kinds) == {"subtle", "wrong-name", "incomplete", "wrong-block", "omission"}


def test_what_does_not_apply_is_repaired(projects: list[SampleProject], tasks: list[SampleTask]) -> None:
    by_name = {project.name: project for project in projects}
    repaired = 0
    for task in tasks:
        project = by_name[task.project]
        messages = task_messages(project, task)
        answer = said(SPOILT, messages)
        problems = applied(project.files, answer).problems
        if not problems:
            continue
        again = said(SPOILT, repairing(messages, answer, [str(problem) for problem in problems]))
        assert not applied(project.files, again).problems
        repaired += 1
    assert repaired > 10


def test_the_share_of_spoilt_answers_follows_the_rate(
    projects: list[SampleProject], tasks: list[SampleTask]
) -> None:
    by_name = {project.name: project for project in projects}
    prompts = [task_messages(by_name[task.project], task) for task in tasks]
    plants = [planted(seed, prompt) for seed in range(3) for prompt in prompts]

    share = sum(plant is not None for plant in plants) / len(plants)

    assert 0.25 <= share <= 0.42
    assert all(planted(0, prompt, 0.0) is None for prompt in prompts[:20])


def test_the_answer_depends_on_prompt_and_seed_alone() -> None:
    text = b"".join(
        b"def f%d(a):\n    if a == None:\n        return 1\n    return a < 3\n" % n for n in range(4)
    )
    messages = writing({"a.py": text}, TASK)

    assert said(Generator(seed=3, fault_rate=0.5), messages) == said(
        Generator(seed=3, fault_rate=0.5), messages
    )
    assert len({said(Generator(seed=seed, fault_rate=1.0), messages) for seed in range(12)}) > 3


def test_line_endings_encoding_and_missing_newline_survive() -> None:
    files = {
        "crlf.py": b"a = 1\r\nb = a == None\r\n",
        "latin.py": "# -*- coding: latin-1 -*-\ns = 'é'\nb = s == None\n".encode("latin-1"),
        "bare.py": b"a = 1\nb = a == None",
    }

    done = applied(files, said(RIGHT, writing(files, TASK)))

    assert not done.problems
    assert {path: change.content for path, change in done.changes.items()} == {
        "crlf.py": b"a = 1\r\nb = a is None\r\n",
        "latin.py": "# -*- coding: latin-1 -*-\ns = 'é'\nb = s is None\n".encode("latin-1"),
        "bare.py": b"a = 1\nb = a is None",
    }


def test_files_with_markers_get_longer_ones() -> None:
    files = {"a.py": b'T = """\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n"""\nb = T == None\n'}

    answer = said(RIGHT, writing(files, TASK))

    assert "<<<<<<<<< SEARCH" in answer
    assert applied(files, answer, 9).changes["a.py"].content == files["a.py"].replace(b"== None", b"is None")


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"a.py": b"def f(:\n    x == None\n"}, "cannot be parsed"),
        ({"a.py": b"x == None\n" * (LARGEST_FILE // 10 + 1)}, "more than"),
        ({"a.py": b"x = 1\n"}, "nothing the task asks for was found in a.py"),
    ],
)
def test_no_change_says_why(files: dict[str, bytes], reason: str) -> None:
    answer = said(RIGHT, writing(files, TASK))

    assert answer.startswith("NO_CHANGE: ")
    assert reason in answer
    assert applied(files, answer).changes == {}


def test_a_file_that_cannot_be_parsed_does_not_keep_the_others_back() -> None:
    files = {"a.py": b"def f(:\n    x == None\n", "b.py": b"y = x == None\n"}

    assert set(applied(files, said(RIGHT, writing(files, TASK))).changes) == {"b.py"}


def test_an_answer_stays_within_its_tokens() -> None:
    files = {
        "a.py": b"".join(b"def long_function_name_%d(value):\n    print(value)\n\n\n" % n for n in range(300))
    }

    answer = said(RIGHT, writing(files, "Docstrings for the public functions"))

    assert len(answer) < 16_000
    assert "left for a further task" in answer
    assert not applied(files, answer).problems


def test_a_function_named_in_backticks_is_the_only_one_changed() -> None:
    files = {"a.py": b"def f(x):\n    return x == None\n\n\ndef g(x):\n    return x != None\n"}

    content = (
        applied(files, said(RIGHT, writing(files, "Compare with None by identity in `g()`")))
        .changes["a.py"]
        .content
    )

    assert content == files["a.py"].replace(b"!= None", b"is not None")


def test_a_file_asked_for_whole_is_written_whole() -> None:
    files = {"a.py": b"y = x == None\n"}
    messages = writing(files, TASK)

    answer = said(RIGHT, repairing(messages, "nonsense", ["NO_MATCH a.py"], whole="a.py"))

    assert "<<<<<<< WHOLE" in answer
    assert applied(files, answer).changes["a.py"].content == b"y = x is None\n"


def test_a_right_answer_that_fails_again_gives_up_the_file_complained_about() -> None:
    files = {"a.py": b"y = x == None\n", "b.py": b"y = x == None\n"}
    messages = writing(files, TASK)
    answer = said(RIGHT, messages)

    again = said(RIGHT, repairing(messages, answer, ["tests: failed after the change of a.py"]))
    nothing = said(RIGHT, repairing(messages, answer, ["tests: failed"]))

    assert set(applied(files, again).changes) == {"b.py"}
    assert nothing.startswith("NO_CHANGE: ")


def test_most_revisions_follow_the_findings_and_some_insist(
    projects: list[SampleProject], tasks: list[SampleTask]
) -> None:
    by_name = {project.name: project for project in projects}
    fixed = insisted = 0
    for task in tasks:
        project = by_name[task.project]
        messages = task_messages(project, task)
        right, spoilt = said(RIGHT, messages), said(SPOILT, messages)
        if right == spoilt or applied(project.files, spoilt).problems:
            continue
        finding = [{"kind": "wrong", "quote": "x", "severity": "major", "message": "wrong"}]
        revised = said(SPOILT, revising(messages, spoilt, json.dumps(finding)))
        same = applied(project.files, revised).changes
        if same == applied(project.files, right).changes:
            fixed += 1
        else:
            assert same in ({}, applied(project.files, spoilt).changes)
            insisted += 1
    assert 0.7 <= fixed / (fixed + insisted) <= 0.97
    assert insisted > 0


def test_an_objection_to_a_right_change_is_met_by_leaving_that_place() -> None:
    files = {"a.py": b"def f(x, y):\n    a = x == None\n    b = y == None\n    return a, b\n"}
    messages = writing(files, TASK)
    answer = said(RIGHT, messages)
    finding = json.dumps([{"kind": "wrong", "quote": "    b = y is None", "severity": "major"}])
    outcomes = set()
    for seed in range(30):
        revised = said(Generator(seed=seed, fault_rate=0.0), revising(messages, answer, finding))
        change = applied(files, revised).changes.get("a.py")
        outcomes.add(change.content if change else None)

    left_alone = files["a.py"].replace(b"x == None", b"x is None")
    kept = left_alone.replace(b"y == None", b"y is None")
    assert left_alone in outcomes
    assert outcomes == {left_alone, kept, None}


def test_a_report_where_no_edits_are_asked_for() -> None:
    system, user = writing({"a.py": b"y = x == None\n"}, "What would you change?")
    system = {"role": "system", "content": "Report. Data stands under the key 0123456789ab."}

    answer = said(RIGHT, [system, user])

    assert "`a.py`: 1 for none-comparisons." in answer
    assert "SEARCH" not in answer


def test_a_probe_gets_a_short_answer() -> None:
    assert said(RIGHT, [{"role": "user", "content": "Say OK"}]) == "OK."


def test_a_schema_is_honoured() -> None:
    schema = {
        "type": "object",
        "properties": {
            "winner": {"enum": ["A", "B"]},
            "why": {"type": "string", "maxLength": 4},
            "scores": {"type": "array", "minItems": 2, "items": {"type": "integer", "minimum": 1}},
        },
    }

    value = json.loads(RIGHT.answer([{"role": "user", "content": "judge"}], schema).text)

    assert value == {"winner": "A", "why": "rehe", "scores": [1, 1]}
    assert instance_of({"type": ["null", "string"]}) is None


def test_fitting_a_value_to_a_schema() -> None:
    schema = {
        "properties": {
            "s": {"type": "string", "maxLength": 2},
            "items": {"type": "array", "maxItems": 1, "items": {"properties": {"h": {"enum": ["H1"]}}}},
        }
    }

    assert fitted({"s": "long", "items": [{"h": "H9"}, {"h": "H1"}, {"h": "H1"}], "other": 1}, schema) == {
        "s": "lo",
        "items": [{"h": "H1"}],
    }
