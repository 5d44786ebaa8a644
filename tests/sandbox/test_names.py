"""Which tests failed, out of what test runners print; and whose doing that is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.model.models import Baseline
from navigator.model.states import CheckOutcome
from navigator.sandbox.binds import programs_of
from navigator.sandbox.names import failing_tests, none_ran, passed_count, plain
from navigator.sandbox.propose import proposed_command
from navigator.sandbox.suite import SHOWN, SuiteRun, compared, excerpt

PASSED, FAILED, UNTESTED = CheckOutcome.PASSED, CheckOutcome.FAILED, CheckOutcome.UNTESTED
FAILED_BEFORE = CheckOutcome.FAILED_BEFORE

# Lines as each runner writes them, with the lines around that must not be taken for names.
PRINTED: dict[str, tuple[str, tuple[str, ...], int | None]] = {
    "pytest": (
        "..F.E\n=================== FAILURES ===================\nE   assert 1 == 2\n"
        "=========== short test summary info ============\n"
        "FAILED tests/test_a.py::TestA::test_one[x - y] - assert 1 == 2\nERROR tests/test_b.py\n"
        "ERROR tests/test_c.py::test_two - RuntimeError: no\n2 failed, 212 passed, 1 error in 3.21s\n",
        ("tests/test_a.py::TestA::test_one[x", "tests/test_b.py", "tests/test_c.py::test_two"),
        212,
    ),
    "unittest": (
        "FAIL: test_one (test_a.Case.test_one)\n----\nERROR: test_two (test_a.Case)\n"
        "FAIL: test_three (test_a.Case.test_three) (n=3)\nRan 5 tests in 0.001s\n\nFAILED (failures=2, errors=1)\n",
        ("test_a.Case.test_one", "test_a.Case.test_three (n=3)", "test_a.Case.test_two"),
        2,
    ),
    "cargo": (
        "running 3 tests\ntest tests::one ... ok\ntest tests::two ... FAILED\ntest tests::three - should panic ... FAILED\n"
        "test result: FAILED. 1 passed; 2 failed; 0 ignored\n\nrunning 1 test\n"
        "test src/lib.rs - double (line 3) ... FAILED\ntest result: FAILED. 0 passed; 1 failed\n",
        ("src/lib.rs - double (line 3)", "tests::three", "tests::two"),
        1,
    ),
    "go": (
        "--- FAIL: TestOne (0.00s)\n    --- FAIL: TestOne/sub (0.00s)\n    x_test.go:9: no\nFAIL\n"
        "FAIL\texample.org/x\t0.003s\nok  \texample.org/y\t0.002s\nFAIL\texample.org/z [build failed]\nFAIL\n",
        ("example.org/x.TestOne", "example.org/x.TestOne/sub", "example.org/z"),
        None,
    ),
    "node, TAP": (
        "TAP version 13\n# Subtest: sums\n    # Subtest: adds\n    not ok 1 - adds\n    1..1\nnot ok 1 - sums\n"
        "# Subtest: other\nok 2 - other\nnot ok 3 - later # TODO\n# pass 1\n# fail 1\n",
        ("adds", "sums"),
        1,
    ),
    "node, spec": (
        "▶ sums\n  ✖ adds (1.2ms)\n✖ sums (2ms)\nℹ pass 4\n\n"
        "✖ failing tests:\n\ntest at a.test.js:3:1\n✖ adds (0.9ms)\n  Error\n",
        ("adds", "sums"),
        4,
    ),
    "jest": (
        "FAIL src/a.test.ts (5.1 s)\n  sums\n    ✕ adds (3 ms)\n  ● sums › adds\n\n    expect(received)\n"
        "FAIL src/b.test.ts\n  ● Test suite failed to run\n\nTests:       1 failed, 12 passed, 13 total\n",
        ("src/a.test.ts › sums › adds", "src/b.test.ts"),
        12,
    ),
    "vitest": (
        " FAIL  src/a.test.ts > sums > adds\nAssertionError: no\n      Tests  1 failed | 7 passed (8)\n",
        ("src/a.test.ts > sums > adds",),
        7,
    ),
    "mocha": (
        "  sums\n    1) adds\n\n  3 passing (5ms)\n  1 failing\n\n  1) sums\n       adds:\n\n      AssertionError\n",
        ("adds", "sums"),
        3,
    ),
    "rspec": ("rspec ./spec/a_spec.rb:12 # sums adds\n", ("sums adds",), None),
    "gradle": ("FTest > adds() FAILED\n    java.lang.AssertionError\n", ("FTest > adds()",), None),
    "phpunit": ("1) App\\FTest::testAdds\nFailed asserting\n", ("App\\FTest::testAdds",), None),
    "ctest": ("The following tests FAILED:\n\t  3 - adds (Failed)\n", ("adds",), None),
    "nothing known": ("Segmentation fault\n", (), None),
}


@pytest.mark.parametrize("runner", PRINTED)
def test_failing_tests_are_named(runner: str) -> None:
    text, names, passed = PRINTED[runner]
    assert failing_tests(plain(text)) == names
    assert passed_count(plain(text)) == passed
    coloured = text.replace("\n", "\x1b[0m\n").replace("F", "\x1b[31mF")
    assert failing_tests(plain(coloured)) == names


@given(st.text(max_size=2_000))
def test_any_output_is_read(text: str) -> None:
    names = failing_tests(plain(text))
    assert list(names) == sorted(set(names))
    assert len(excerpt(text, names)) <= SHOWN + 100


def printed_by(folder: Path, *words: str) -> str:
    """What a program prints there, as its names are looked for in it."""
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ran = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return plain(ran.stdout + ran.stderr)


def test_pytest_itself_is_understood(tmp_path: Path) -> None:
    """What the installed pytest prints, in its two usual ways."""
    (tmp_path / "test_a.py").write_text(
        "import pytest\n\ndef test_good(): pass\ndef test_bad(): assert 0, 'no - really'\n"
        "@pytest.mark.parametrize('x', ['a b'])\ndef test_many(x): assert 0\n"
        "@pytest.fixture\ndef broken(): raise RuntimeError\ndef test_setup(broken): pass\n"
    )
    for words in (["-q"], ["-v", "--color=yes"]):
        alone = ["-m", "pytest", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", "."]
        printed = printed_by(tmp_path, sys.executable, *alone, *words)
        named = tuple(f"test_a.py::test_{name}" for name in ("bad", "many[a b]", "setup"))
        assert failing_tests(printed) == named, printed
        assert passed_count(printed) == 1


@pytest.mark.skipif(shutil.which("node") is None, reason="node: apt install nodejs")
@pytest.mark.parametrize("reporter", ["tap", "spec"])
def test_node_itself_is_understood(tmp_path: Path, reporter: str) -> None:
    (tmp_path / "a.test.js").write_text(
        "const { test, describe } = require('node:test');\ntest('good', () => {});\n"
        "describe('sums', () => { test('adds', () => { throw new Error('no'); }); });\n"
    )
    printed = printed_by(tmp_path, "node", "--test", f"--test-reporter={reporter}")
    if "bad option" in printed:
        pytest.skip("reporters of node: needs Node.js 18.15 or newer")
    assert any("adds" in name for name in failing_tests(printed)), printed
    assert not any("good" in name for name in failing_tests(printed))


def base(outcome: CheckOutcome, *failures: str, detail: str = "12 passed") -> Baseline:
    return Baseline(project_id=1, tree="t", command="c", outcome=outcome, failures=failures, detail=detail)


def after(
    outcome: CheckOutcome, *failures: str, detail: str = "1 failed\n\nout", **fields: object
) -> SuiteRun:
    return SuiteRun(outcome, failures, detail, 1.0, **fields)  # type: ignore[arg-type]


WHOSE = [
    (base(PASSED), after(PASSED, detail="12 passed", passed=12), PASSED, "12 passed"),
    (base(PASSED), after(PASSED, detail="9 passed", passed=9), PASSED, "9 passed; 12 on the base"),
    (base(FAILED, "a"), after(PASSED, detail="12 passed", passed=12), PASSED, "on the base: "),
    (None, after(PASSED, detail="passed"), PASSED, "passed"),
    (base(PASSED), after(FAILED, "a", "b"), FAILED, "2 newly failing: a, b"),
    (base(PASSED), after(FAILED, detail="exit status 2"), FAILED, "exit status 2"),
    (base(FAILED, "a"), after(FAILED, "a", "b"), FAILED, "1 newly failing: b (1 more fails on the base too)"),
    (base(FAILED, "a"), after(FAILED, "a"), FAILED_BEFORE, "1 test fails as it does on the base"),
    (base(FAILED), after(FAILED), FAILED_BEFORE, "cannot be compared"),
    (base(FAILED), after(FAILED, "a"), FAILED_BEFORE, "where no test is named"),
    (base(FAILED, "a"), after(FAILED, detail="exit status 4"), FAILED, "before any test could be named"),
    (base(FAILED, "a"), after(FAILED, "a", cut="it did not end"), FAILED, "on the base the command ends normally"),
    (base(UNTESTED, detail="x was not found"), after(UNTESTED, detail="x was not found"), UNTESTED, "x was not found"),
    (base(UNTESTED, detail="x was not found"), after(FAILED, "a"), FAILED, "the base could not be tested: x was not found"),
    (base(UNTESTED), after(PASSED, detail="3 passed", passed=3), PASSED, "the base could not be tested"),
    (base(PASSED), after(UNTESTED, detail="x was not found"), FAILED, "on the base the command runs"),
    (base(PASSED), after(UNTESTED, detail="no sandbox: gone", ran=False), UNTESTED, "no sandbox: gone"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "run", "outcome", "words"), WHOSE)
def test_whose_failure_it_is(
    before: Baseline | None, run: SuiteRun, outcome: CheckOutcome, words: str
) -> None:
    said = compared(before, run)
    assert said.outcome is outcome and words in said.detail.partition("\n")[0]
    assert said.before is (before.outcome if before else None) and said.name == "tests"


@given(st.sets(st.sampled_from("abcdef")), st.sets(st.sampled_from("abcdef"), min_size=1))
def test_only_what_the_base_passes_is_blamed(failed: set[str], fails: set[str]) -> None:
    """Named on both sides: blamed exactly if something fails that did not."""
    before = base(FAILED if failed else PASSED, *sorted(failed))
    said = compared(before, after(FAILED, *sorted(fails)))
    assert (said.outcome is FAILED) == bool(fails - failed)
    assert said.outcome in (FAILED, FAILED_BEFORE)


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("pytest -q", ("pytest",)),
        ("FOO=1 uv run pytest && npm test; cargo test | tee out", ("uv", "npm", "cargo", "tee")),
        ("env X=1 python -m unittest", ("env", "python")),
        ("(cd sub && go test ./...)", ("cd", "go")),
        ("it's broken", ()),
        ("", ()),
    ],
)
def test_programs_of_a_command(command: str, programs: tuple[str, ...]) -> None:
    assert programs_of(command) == programs


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"Makefile": "all:\n\ntest: all\n\tpytest\n"}, "make test"),
        ({"package.json": '{"scripts": {"test": "vitest run"}}', "pnpm-lock.yaml": ""}, "pnpm test"),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}, ""),
        ({"package.json": "{broken"}, ""),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, "python -m pytest -q"),
        ({"tests/test_a.py": "import pytest\n", "uv.lock": "", "pyproject.toml": ""}, "uv run pytest -q"),
        ({"tests/test_a.py": "class A(unittest.TestCase): ..."}, "python3 -m unittest discover -s tests"),
        ({"tests/test_a.py": "def test_one():\n    assert 1\n"}, "python -m pytest -q"),
        ({"Cargo.toml": "[package]\n"}, "cargo test"),
        ({"go.mod": "module x\n"}, "go test ./..."),
        ({"README.md": "# Words\n"}, ""),
    ],
)
def test_a_command_is_proposed_from_what_is_there(files: dict[str, str], command: str) -> None:
    contents = {path: text.encode() for path, text in files.items()}
    assert proposed_command(files.keys(), contents.get) == command


@pytest.mark.parametrize(
    ("output", "none"),
    [
        ("\n----------\nRan 0 tests in 0.000s\n\nOK\n", True),
        ("\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n", True),
        ("\nno tests ran in 0.01s\n", True),
        ("==== no tests ran in 0.01s ====\n", True),
        ("3 deselected in 0.01s\n", True),
        ("running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored\n", True),
        ("?   \texample.org/x\t[no test files]\n", True),
        ("No tests found, exiting with code 0\n", True),
        ("  0 passing (1ms)\n", True),
        ("ℹ tests 0\nℹ pass 0\n", True),
        ("Ran 0 tests in 0.000s\n\nOK\n5 passed in 0.1s\n", False),
        ("?   \texample.org/x\t[no test files]\nok  \texample.org/y\t0.002s\n", False),
        ("test result: ok. 0 passed; 0 failed\ntest result: ok. 2 passed; 0 failed\n", False),
        ("2 skipped in 0.01s\n", False),
        ("all is well\n", False),
        ("", False),
    ],
)
def test_a_run_that_says_so_ran_no_test(output: str, none: bool) -> None:
    assert none_ran(plain(output)) is none


def test_a_count_of_zero_explains_no_failure() -> None:
    """cargo says so of every crate without tests: what failed was something else."""
    assert not none_ran("test result: ok. 0 passed; 0 failed\nerror: could not run\n", ended_well=False)
