"""Tests that the rehearsal's reviewer writes for its findings: run for real, without the change and with it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from navigator.journey.prompts.blocks import data_block
from navigator.journey.reviewing.test_answer import WrittenTest, read_test_answer
from tests.rehearsal.conversation import KEY, PROMPTS, Message, reviewing
from tests.scripted.reviewer.reviewer import Reviewer

CLAMP = b"def clamp(v, low, high):\n    if v > high:\n        return high\n    return max(v, low)\n"
BEFORE = {"calc.py": CLAMP, "tests/__init__.py": b"", "tests/test_calc.py": b""}
FAULTY = {**BEFORE, "calc.py": BEFORE["calc.py"].replace(b"return high", b"return low")}


def asked(now: dict[str, bytes], line: int, path: str = "calc.py") -> list[Message]:
    messages, _, _ = reviewing(BEFORE, now, "Rework clamp.")
    finding = {"path": path, "line": line, "quote": "return low", "message": "It returns the wrong bound."}
    _, user, _ = PROMPTS.render(
        "reproduce",
        finding=data_block("finding", KEY, json.dumps(finding)),
        command="python3 -m unittest",
        runner="unittest",
        tests=["tests/test_calc.py"],
        open="<" * 7,
        close=">" * 7,
        problem="",
    )
    return [*messages, {"role": "assistant", "content": "{}"}, {"role": "user", "content": user}]


def run(folder: Path, files: dict[str, bytes], test: WrittenTest) -> int:
    for path, content in {**files, test.path: test.text.encode()}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    words = [sys.executable, "-B", "-m", "unittest", test.path]
    return subprocess.run(words, cwd=folder, capture_output=True, check=False).returncode


def test_a_true_finding_gets_a_test_that_fails_because_of_it(tmp_path: Path) -> None:
    answers = {Reviewer(seed=seed).answer(asked(FAULTY, 3)).text for seed in range(12)}
    tests = [read_test_answer(answer, 7, FAULTY) for answer in answers]
    assert len(tests) == 2, "an honest one, and now and then a careless one"
    honest = next(test for test in tests if isinstance(test, WrittenTest) and "BEFORE" in test.text)
    assert honest.path == "tests/test_calc_clamp_finding.py"
    assert run(tmp_path / "base", BEFORE, honest) == 0
    assert run(tmp_path / "proposal", FAULTY, honest) == 1
    careless = next(test for test in tests if test is not honest)
    assert isinstance(careless, WrittenTest) and run(tmp_path / "other", BEFORE, careless) == 1


@pytest.mark.parametrize(("line", "path"), [(3, "README.md"), (3, "other.py"), (99, "calc.py")])
def test_where_no_test_can_be_written_it_says_so(line: int, path: str) -> None:
    assert Reviewer().answer(asked(FAULTY, line, path)).text.startswith("NO_TEST: ")


def test_the_same_conversation_gets_the_same_test() -> None:
    assert Reviewer(seed=3).answer(asked(FAULTY, 3)) == Reviewer(seed=3).answer(asked(FAULTY, 3))
