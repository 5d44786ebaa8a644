"""Compare: models of known quality on replayed commits, in the real sandbox, with real swaps between two servers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.figures.compared import outlook, pairs
from navigator.figures.intervals import holm, paired_difference, pairs_needed, power, sign_test
from navigator.lab.comparing.journal import (
    ARMS,
    USUAL,
    Journal,
    LabTask,
    Setting,
    TreeTests,
    Turn,
    next_turn,
    turns_taken,
)
from navigator.lab.comparing.tasks import read_functions
from navigator.model.errors import Conflict, NavigatorError, UsageError
from tests.git.world import fingerprint
from tests.journey.scripted_models import Models, speaking
from tests.journey.support import Desk, git, make_repository
from tests.journey.swaps import asked, settings, swapping
from tests.lab.known_models import Change, Quality, known
from tests.sandbox.support import needs_sandbox

QUALITY = Quality(0.5, 0.75, 0.9, {"generator": 0.4, "reviewer": 0.9}, seed="22")
"""With this seed every arm solves a task that another one does not."""
TASKS = 4


def wrong(number: int) -> str:
    return f"def f{number}(x):\n    return x\n"


def right(number: int) -> str:
    return f"def f{number}(x):\n    return x + {number + 1}\n"


def text_of(number: int) -> str:
    return f"Fix f{number}() of any number\n\nIt has to add {number + 1}."


def suite_for(number: int) -> str:
    return (
        f"import unittest\nimport m{number}\n\n\nclass T(unittest.TestCase):\n    def test_{number}(self):\n"
        f"        self.assertEqual(m{number}.f{number}(3), {number + 4})\n"
    )


CHANGES: dict[str, Change] = {
    text_of(number): {f"m{number}.py": (wrong(number), right(number))} for number in range(TASKS)
}


class Bench:
    """A desk with one repository whose history has a fix with its test for each task, and two models that are swapped."""

    def __init__(self, folder: Path, models: Models) -> None:
        self.folder, self.models = folder, models
        start = {f"m{number}.py": wrong(number).encode() for number in range(TASKS)}
        (folder / "code").mkdir()
        self.path = make_repository(folder / "code", start | {"test_none.py": b"import unittest\n"})
        for number in range(TASKS):
            (self.path / f"m{number}.py").write_text(right(number))
            (self.path / f"test_m{number}.py").write_text(suite_for(number))
            git(self.path, "add", "--all")
            git(self.path, "commit", "--quiet", "-m", text_of(number))
        self.desk = Desk.make(folder / "desk", settings(folder, models.url))
        self.desk.run("project", "add", str(self.path), "--name", "code", "--check", "python3 -m unittest")

    def compare(self, *words: str) -> dict[str, Any]:
        found = json.loads(self.desk.read("lab", "compare", *words, "--json"))
        assert isinstance(found, dict)
        return found

    def worked(self) -> int:
        """Questions but those to judges."""
        said = self.models.written + self.models.read_by
        return sum(not messages[0]["content"].startswith("You compare two answers") for messages in said)

    def swaps(self) -> list[str]:
        return asked(self.folder)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    holds = tmp_path / "loaded"
    holds.write_text("generator")
    swapping(tmp_path)
    models = known(CHANGES, QUALITY)
    models.holds = holds
    with speaking(models):
        yield Bench(tmp_path, models)


@needs_sandbox
@pytest.mark.sandbox
def test_known_models_are_told_apart_in_four_swaps_and_nothing_is_asked_twice(
    bench: Bench, judge: Models
) -> None:
    before = fingerprint(bench.path)
    chosen = bench.compare("code", "--dry-run")
    assert len(chosen["tasks"]) == chosen["n"] == TASKS
    assert "scripted" not in json.dumps(chosen)
    assert bench.models.written == bench.models.read_by == []
    done = bench.compare("code")
    texts = {task["key"]: task["text"] for task in chosen["tasks"]}
    for task in done["tasks"]:
        assert task["passed"] == {arm: QUALITY.expected(arm, texts[task["key"]]) for arm in USUAL}
    assert done["swaps"] == len(bench.swaps()) <= 4
    assert bench.swaps()[0] == "reviewer"
    assert bench.models.wrong == []
    asked_so_far, swaps = bench.worked(), len(bench.swaps())
    with bench.desk.config.open("a") as config:
        config.write(f'[final]\nmodel = "judge"\nbase_url = "{judge.url}"\n')
    again = bench.compare("code", *(f"--judge={role}" for role in ("generator", "reviewer", "final")))
    assert again["arms"] == done["arms"]
    assert again["pairs"] == done["pairs"]
    assert bench.worked() == asked_so_far
    said = again["judging"]
    assert 3 * len(judge.read_by) == said["votes"] + said["unreadable"] > 0
    assert sorted(one["name"].partition(":")[0] for one in said["judges"]) == [
        "final",
        "generator",
        "reviewer",
    ]
    assert said["incomplete"] == 0
    assert len(bench.swaps()) - swaps <= 2 and bench.models.wrong == []  # each is loaded when it is asked
    assert fingerprint(bench.path) == before
    with bench.desk.reading() as reader:
        assert reader.tasks() == [] and reader.proposals() == []
    with pytest.raises(Conflict, match="was begun with other rounds"):
        bench.compare("code", "--rounds", "1")
    (noted,) = json.loads(bench.desk.read("lab", "runs", "--json"))["runs"]
    assert (noted["state"], noted["done"]) == ("complete", noted["total"])
    assert noted["command"][noted["command"].index("--rounds") + 1] == "2"


@needs_sandbox
@pytest.mark.sandbox
def test_nobody_is_asked_to_read_a_draft_that_did_not_apply(bench: Bench) -> None:
    bench.models.write = bench.models.read = lambda messages: "NO_CHANGE: I cannot do it."
    done = bench.compare("code", "--tasks", "1")
    said = bench.models.written + bench.models.read_by
    assert len(said) == 2 and not any("verdict" in messages[0]["content"].lower() for messages in said)
    assert not any(any(task["passed"].values()) for task in done["tasks"])


@needs_sandbox
@pytest.mark.sandbox
def test_a_comparison_that_was_cut_off_goes_on(bench: Bench) -> None:
    """The server is gone after some answers; the journal's last line is half written."""
    read, calls = bench.models.read, 0

    def dying(messages: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            assert bench.models.holds is not None
            bench.models.holds.write_text("")
        return read(messages)

    bench.models.read = dying
    with pytest.raises(NavigatorError):
        bench.compare("code", "--tasks", "2")
    folder = bench.desk.root / "lab" / "compare" / "code"
    kept = (folder / "journal.jsonl").read_bytes()
    (folder / "journal.jsonl").write_bytes(kept + b'{"turn": {"task": "code:1')
    written = len(bench.models.written)
    done = bench.compare("code", "--tasks", "2")
    assert len(done["tasks"]) == 2
    assert (folder / "journal.jsonl").read_bytes().startswith(kept)
    # The server went while the reviewer read: what the generator had said is not asked again.
    assert all(len(messages) > 2 for messages in bench.models.written[written:])


@needs_sandbox
@pytest.mark.sandbox
def test_functions_of_a_file_are_executed(bench: Bench, tmp_path: Path) -> None:
    start, test = (
        'def double(x):\n    """Return twice x."""\n',
        "def check(candidate):\n    assert candidate(4) == 8\n",
    )
    code, tests = "def half(x): return x / 2", ["assert half(8) == 4"]
    rows = [
        {"task_id": "X/1", "prompt": start, "entry_point": "double", "test": test},
        {"task_id": 7, "text": "Write half().", "code": code, "test_list": tests},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    first, second = (function.text for function in read_functions(path))
    changes: dict[str, Change] = {
        first: {"solution.py": (start, start + "    return 2 * x\n")},
        second: {"solution.py": (None, "def half(x):\n    return x / 3\n")},
    }
    always = known(changes, Quality(1.0, 1.0))
    bench.models.write, bench.models.read = always.write, always.read
    done = bench.compare("--file", str(path), "--arm", "generator")
    passed = {task["key"]: task["passed"]["generator"] for task in done["tasks"]}
    assert passed == {"X/1": True, "MBPP/7": False}
    assert done["power"]["impossible"]
    assert done["swaps"] == 0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 1 is no JSON"),
        ('{"task_id": "a", "prompt": "p", "test": "t", "entry_point": "a; b"}', "entry_point"),
        ('{"task_id": 1, "text": "t", "test_list": []}', "test_list"),
        ("[]", "line 1"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(line)
    with pytest.raises(UsageError, match="line 1") as refused:
        read_functions(path)
    assert said in refused.value.message


@given(st.sampled_from(list(ARMS)), st.integers(0, 2), st.lists(st.booleans(), min_size=3, max_size=3))
def test_turns_of_an_arm_end_and_are_taken_once(name: str, rounds: int, answers: list[bool]) -> None:
    arm, revise, said = ARMS[name], {}, iter(answers)
    while (path := next_turn(arm, revise, rounds)) is not None:
        assert path not in revise
        revise[path] = next(said) if len(path) % 2 == 0 else False
    taken = turns_taken(arm, revise, rounds)
    assert len(taken) == len(revise) <= 1 + 2 * rounds
    assert (
        len(taken) % 2 == 1 or not revise[taken[-1]]
    )  # it ends with a draft, or with a reading that approves


def test_the_power_is_that_of_the_exact_test() -> None:
    """The published figures of docs/lab.md, and the sum over every table of a small case."""
    assert power(378, 0.08, 0.03) == pytest.approx(0.814, abs=0.001)
    assert power(164, 0.08, 0.03) == pytest.approx(0.41, abs=0.001)
    assert power(20, 0.08, 0.03) == pytest.approx(0.00243, abs=0.0001)
    n, first, second = 12, 0.5, 0.1
    from math import comb

    by_hand = sum(
        comb(n, a) * comb(n - a, b) * first**a * second**b * (1 - first - second) ** (n - a - b)
        for a in range(n + 1)
        for b in range(n + 1 - a)
        if a + b and sign_test(a, b) < 0.05
    )
    assert power(n, first, second) == pytest.approx(by_hand, rel=1e-9)
    needed = pairs_needed(0.13, 0.03)
    assert needed is not None
    assert power(needed, 0.13, 0.03) >= 0.8 > power(needed - 12, 0.13, 0.03)
    assert pairs_needed(0.031, 0.03) is None
    assert outlook(5).impossible
    assert outlook(6).impossible == ""


def test_newcombes_paired_interval_is_the_published_one() -> None:
    """The first example of Newcombe's table II: 36, 12, 2, 0."""
    difference, low, high = paired_difference(36, 12, 2, 0)
    assert (difference, low, high) == pytest.approx((0.2, 0.0569, 0.3404), abs=0.0001)
    assert paired_difference(1, 0, 0, 0)[0] == 0


def test_pairs_are_counted_on_the_same_tasks_and_adjusted() -> None:
    passed = {
        "a": dict.fromkeys("abcdefgh", True),
        "b": dict.fromkeys("abcdefgh", False),
        "c": {"a": True, "b": False},
    }
    ab, ac, bc = pairs(passed)
    assert (ab.n, ab.first_only, ab.second_only, ab.p) == (8, 8, 0, pytest.approx(2 / 256))
    assert ab.p_adjusted == pytest.approx(3 * ab.p)
    assert (ac.n, bc.n) == (2, 2)
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_the_journal_keeps_whole_lines_and_one_plan(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "one")
    plan = Setting(arms=("generator",), rounds=1, models={"g": "m"}, prompts={})
    journal.agree(plan)
    journal.add(LabTask(key="t", text="x", base="b", frame="f"))
    journal.add(Turn(task="t", path="g"))
    journal.add(TreeTests(task="t", tree="f", passed=True))
    with (tmp_path / "one" / "journal.jsonl").open("ab") as stream:
        stream.write(b'{"turn": {"task": "u"')
    again = Journal(tmp_path / "one")
    assert list(again.turns) == [("t", "g")]
    assert again.runs["t", "f"].passed
    assert [task.key for task in again.tasks] == ["t"]
    again.agree(plan)
    with pytest.raises(Conflict, match="models"):
        again.agree(plan.model_copy(update={"models": {"g": "other"}}))
    with (tmp_path / "one" / "journal.jsonl").open("a") as stream:
        stream.write('{"other": {}}\n')
    with pytest.raises(UsageError, match="line 5 cannot be read"):
        Journal(tmp_path / "one")
