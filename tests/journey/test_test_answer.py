"""The answer to a request for a test: one new test file, or nothing that runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.journey.reproducing import NoTest, WrittenTest, read_test_answer, to_prove, why_not_there
from navigator.model.states import ReproductionOutcome, Severity
from tests.journey.answers import grounded
from tests.journey.room import whole

TEXT = "x = 1\n"
TAKEN = {"calc.py", "tests/test_calc.py", "lib/tests/test_b.py", "tests/data.txt/x"}


@pytest.mark.parametrize(
    "path",
    [
        "calc.py", "tests/test_calc.py", "setup.py", "conftest.py", "tests/conftest.py", "tests/__init__.py",
        "tests/test_calc.py/test_x.py", "lib/tests", ".github/workflows/test_x.py", ".git/test_x.py", "TESTS/test_calc.py",
    ],
)  # fmt: skip
def test_no_other_path_may_be_written(path: str) -> None:
    read = read_test_answer(whole(path, "x = 1\n"), 7, TAKEN)
    assert isinstance(read, NoTest) and read.outcome is not ReproductionOutcome.REGRESSION, path
    assert read.reason


def test_two_files_edits_and_nothing_are_no_test() -> None:
    read = read_test_answer(f"Here it is.\n\n{whole('tests/test_new.py', TEXT)}", 7, TAKEN)
    assert read == WrittenTest("tests/test_new.py", "x = 1\n")
    two = read_test_answer(whole("tests/test_new.py", TEXT) + whole("tests/test_other.py", TEXT), 7, TAKEN)
    assert isinstance(two, NoTest) and "one whole new file" in two.reason
    beside = read_test_answer(whole("tests/test_new.py", TEXT) + whole("calc.py", TEXT), 7, TAKEN)
    assert isinstance(beside, NoTest) and beside.outcome is ReproductionOutcome.NOT_REPRODUCED
    declined = read_test_answer("**NO_TEST:** too large\n", 7, TAKEN)
    assert isinstance(declined, NoTest) and not declined.again and "too large" in declined.reason


@given(st.text(max_size=400), st.text(max_size=60))
def test_no_answer_breaks_it_or_leads_out(text: str, path: str) -> None:
    for answer in (text, whole(path, text)):
        read = read_test_answer(answer, 7, TAKEN)
        if isinstance(read, WrittenTest):
            assert read.path not in TAKEN and not why_not_there(read.path, TAKEN)
            assert ".." not in read.path.split("/") and not read.path.startswith("/")


def test_the_gravest_grounded_findings_are_proved_first() -> None:
    found = [
        grounded(severity=Severity.MAJOR),
        grounded(severity=Severity.MINOR),
        grounded(severity=Severity.BLOCKER, anchored=False),
        grounded(severity=Severity.BLOCKER, remark=True),
        grounded(severity=Severity.BLOCKER),
        grounded(severity=Severity.MAJOR),
    ]
    assert to_prove(found) == [4, 0, 5]
