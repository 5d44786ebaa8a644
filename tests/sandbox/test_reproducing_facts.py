"""Reading a test, choosing its command: no code is run here."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.checks.proof import read_test, whole_statements
from navigator.sandbox.one_test import NoRunner, one_command

TEXT = st.text(max_size=300)
PYTHONISH = st.lists(
    st.sampled_from(
        ["import calc", "from calc import f", "def test():", "    assert f(1)", "    x = f()", "    assert x",
         "class A:", "    for i in f():", "    raise V",
         "    with pytest.raises(V):", "        f()", "    try:", "    except E:", "    y: int"]
    ),
    max_size=12,
).map("\n".join)  # fmt: skip


@given(TEXT | PYTHONISH)
def test_whatever_is_read_is_told(text: str) -> None:
    facts = read_test(text, ["calc.py"])
    assert bool(facts.problem) or all(line > 0 and reason for line, reason in facts.baseless.items())
    assert whole_statements(text, {1, 2}) >= {1, 2}


@pytest.mark.parametrize(
    ("body", "baseless"),
    [
        ("assert calc.f(1) == 2", False),
        ("x = calc.f(1)\n    y = x\n    assert y == 2", False),
        ("out = []\n    calc.fill(out)\n    assert out == [1]", False),
        ("if calc.f(1) != 2:\n        raise AssertionError('no')", False),
        ("for x in calc.all():\n        assert x", False),
        ("try:\n        calc.f(1)\n    except ValueError:\n        pytest.fail('no')", False),
        ("with pytest.raises(ValueError):\n        calc.f(1)", False),
        ("assert helper() == 2", False),
        ("assert fixture == 2", False),
        ("assert False", True),
        ("assert 1 == 2, calc.f(1)", True),
        ("raise AssertionError(calc.f(1))", True),
        ("pytest.fail(str(calc.f(1)))", True),
        ("x = 1\n    assert x == 2", True),
        ("assert tmp_path == 2", True),
        ("with pytest.raises(ValueError):\n        int('1')", True),
        ("if True:\n        assert False", True),
    ],
)
def test_a_failure_has_to_depend_on_the_project(body: str, baseless: bool) -> None:
    text = f"import calc\nimport pytest\n\ndef helper():\n    return calc.f(2)\n\ndef test_it(fixture, tmp_path):\n    {body}\n"
    last = text.rstrip().count("\n") + 1
    line = last if "raises" not in body else last - 1
    assert bool(read_test(text).baseless.get(line)) is baseless


@pytest.mark.parametrize(
    ("check", "path", "command"),
    [
        ("pytest -q -x tests", "tests/test_a.py", "pytest -p navigator_reporter"),
        ("uv run pytest", "tests/test_a.py", "uv run pytest -p navigator_reporter"),
        ("coverage run -m pytest", "tests/test_a.py", "coverage run -m pytest -p"),
        ("ruff check . && python3 -m pytest", "tests/test_a.py", "python3 -m pytest -p"),
        ("cd lib && DEBUG=1 pytest", "tests/test_a.py", "cd lib && PYTHONPATH="),
        ("python -m unittest discover", "tests/test_a.py", "python -m navigator_reporter tests/test_a.py"),
        ("go test ./...", "a/b_test.go", "go test -count=1 -v -run '^(TestOne|TestTwo)$' ./a"),
        ("npm test", "test/a.test.js", "jest --ci --runTestsByPath test/a.test.js"),
        ("node --test", "test/a.test.mjs", "node --test test/a.test.mjs"),
        ("npx vitest", "src/a.test.ts", "vitest run src/a.test.ts"),
        ("pytest", "tests/test a; rm -rf x.py", "'tests/test a; rm -rf x.py'"),
    ],
)
def test_one_file_is_run_as_the_check_runs_all(check: str, path: str, command: str) -> None:
    files = {"package.json": json.dumps({"scripts": {"test": "jest --coverage"}})}
    text = "func TestOne(t *testing.T) {}\nfunc TestTwo(t *testing.T) {}\n"
    assert command in one_command(check, path, text, files.get).command


@pytest.mark.parametrize(
    ("check", "path"),
    [
        ("make test", "tests/test_a.py"),
        ("tox", "tests/test_a.py"),
        ("python manage.py test", "tests/test_a.py"),
        ("pytest | tee log", "tests/test_a.py"),
        ("pytest", "tests/a.test.js"),
        ("go test ./...", "tests/test_a.py"),
        ("cargo test", "src/lib.rs"),
        ("npm test", "tests/test_a.py"),
        ("'unclosed", "tests/test_a.py"),
        ("", "tests/test_a.py"),
    ],
)
def test_what_is_not_known_is_said(check: str, path: str) -> None:
    with pytest.raises(NoRunner):
        one_command(check, path, "func TestIt(t *testing.T) {}", {"package.json": "[]"}.get)


def test_settings_that_would_hide_the_report_are_switched_off() -> None:
    files = {"pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-n auto --cov=calc"\n'}
    command = one_command("pytest", "tests/test_a.py", "", files.get).command
    assert "-n0" in command and "--no-cov" in command
    files = {
        "pyproject.toml": '[tool.pytest.ini_options]\naddopts = [\n  "-ra",\n  "--cov",\n]\n[x]\nscript = "a -n 4"\n'
    }
    command = one_command("pytest", "tests/test_a.py", "", files.get).command
    assert "-n0" not in command and "--no-cov" in command


def test_a_line_stands_for_its_statement_and_not_for_what_is_in_it() -> None:
    text = "X = (\n    1,\n    2,\n)\n\n\ndef f(\n    a,\n):\n    if a:\n        return 1\n"
    text += "    match a:\n        case 2:\n            pass\n"
    assert whole_statements(text, {3}) == {1, 2, 3, 4}
    assert whole_statements(text, {8}) == {7, 8, 9}
    assert whole_statements(text, {10}) == {10}
    assert whole_statements(text, {5}) == {5}
