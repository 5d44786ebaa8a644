"""A test that is to prove a finding, run for real: what counts, and each way of faking it.

Most are unittest's, which starts five times as fast as pytest.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from navigator.model.states import FindingKind, ReproductionOutcome
from tests.sandbox.reproducing import BASE, FAULTY, PYTEST, UNITTEST, Proof, finding
from tests.sandbox.support import needs_sandbox

pytestmark = [pytest.mark.sandbox, needs_sandbox]

REGRESSION, UNMET = ReproductionOutcome.REGRESSION, ReproductionOutcome.UNMET
NOT, COULD_NOT = ReproductionOutcome.NOT_REPRODUCED, ReproductionOutcome.COULD_NOT_RUN


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> Proof:
    return Proof(tmp_path_factory.mktemp("proof"), {"calc.py": FAULTY}, f"{UNITTEST} -s tests")


@pytest.fixture(scope="module")
def by_pytest(tmp_path_factory: pytest.TempPathFactory) -> Proof:
    return Proof(tmp_path_factory.mktemp("pytest"), {"calc.py": FAULTY}, PYTEST)


def case(*bodies: str, above: str = "import calc\n") -> str:
    """A test file with a test of each body."""
    tests = "".join(f"\n    def test_{number}(self):\n{body}" for number, body in enumerate(bodies))
    return f"import unittest\n{above}\n\nclass Finding(unittest.TestCase):\n{tests}"


HONEST = case("        self.assertEqual(calc.clamp(9, 0, 5), 5)\n")

# What counts


def test_pytest_tells_a_regression(by_pytest: Proof) -> None:
    made = by_pytest.judge("import calc\n\n\ndef test_above():\n    assert calc.clamp(9, 0, 5) == 5\n")
    assert made.outcome is REGRESSION, made.reason
    assert "test_above" in made.failure and "assert 0 == 5" in made.failure


def test_a_helper_beside_the_tests_is_found_and_a_process_that_the_test_starts_is_followed(
    proof: Proof,
) -> None:
    text = case(
        "        said = subprocess.run([sys.executable, '-c', 'import calc; print(calc.clamp(9, 0, 5))'],"
        " capture_output=True, text=True)\n        assert int(said.stdout) == WANTED\n",
        above="import subprocess, sys\nfrom helpers import WANTED\n",
    )
    made = proof.judge(text)
    assert made.outcome is REGRESSION, made.reason


def test_what_was_asked_for_and_is_not_there_fails_on_both(proof: Proof) -> None:
    made = proof.judge(case("        assert calc.clamp(3, 5, 1) == 5 and calc.total([]) is None\n"))
    assert made.outcome is UNMET, made.reason


def test_a_name_that_the_task_asks_for_may_be_missing(proof: Proof) -> None:
    text = case("        assert calc.mean([1, 3]) == 2\n")
    missing = finding(FindingKind.MISSING)
    assert proof.judge(text, about=missing, task="Add mean() to calc.").outcome is UNMET
    made = proof.judge(text, about=missing, task="Repair clamp.")
    assert made.outcome is NOT and "the test itself is wrong" in made.reason
    assert proof.judge(text, task="Add mean() to calc.").outcome is NOT, "a `wrong` finding misses nothing"


def test_a_removed_line_and_one_within_a_string_are_reached(tmp_path: Path) -> None:
    code = BASE["calc.py"] + '\n\ndef query():\n    return """select a\nfrom t\nwhere b"""\n'
    changed = code.replace("    if value > high:\n        return high\n", "").replace("from t", "from u")
    proof = Proof(tmp_path, {"calc.py": changed}, UNITTEST, {**BASE, "calc.py": code})
    for text in (HONEST, case("        assert 'from t' in calc.query()\n")):
        made = proof.judge(text)
        assert made.outcome is REGRESSION, made.reason


# What does not


def test_a_finding_that_is_not_true_passes_on_the_proposal(proof: Proof) -> None:
    made = proof.judge(case("        assert calc.clamp(-1, 0, 5) == 0\n"))
    assert (made.outcome, made.reason) == (NOT, "the test passes on the proposal")


BASELESS = (
    "        assert False\n",
    "        calc.clamp(9, 0, 5)\n        wanted = 3\n        assert wanted == 4, calc.clamp\n",
    "        calc.clamp(9, 0, 5)\n        raise AssertionError(calc.clamp(9, 0, 5))\n",
    "        calc.clamp(9, 0, 5)\n        self.fail('clamp is wrong')\n",
    "        with self.assertRaises(ValueError):\n            int('3')\n",
    "        calc.clamp(9, 0, 5)\n        int('x')\n",
)
WRONG = (
    "        assert calc.clamp(9, 0, five) == 5\n",
    "        assert calc.clam(9, 0, 5) == 5\n",
    "        from calc import clamped\n        assert clamped(9, 0, 5) == 5\n",
)
EDITS = """import glob

place, = glob.glob('c*c.py')
text = open(place).read()
open(place, 'w').write('def clamp(*a): return 7')

import calc
"""
PROVES_NOTHING = {
    "without a condition": (case(*BASELESS), "its assertion does not depend"),
    "an error of its own": (case(*WRONG), "the test itself is wrong"),
    "far away": (
        case("        assert other.broken() == 2\n", above="import other\n"),
        "runs nothing of the code",
    ),
    "replacing": (
        case("        calc.clamp = lambda *a: 7\n        assert calc.clamp(3, 0, 5) == 3\n"),
        "runs nothing of the code",
    ),
    "reading the source": (
        case(
            "        assert 'return high' in ''.join(open(p).read() for p in glob.glob('c*.py'))\n",
            above="import glob\nimport calc\n",
        ),
        "the test reaches none of the changed lines",
    ),
    "editing": (  # also where it puts them back
        case("        open(place, 'w').write(text)\n        assert calc.clamp(3, 0, 5) == 3\n", above=EDITS),
        "edits files of the project",
    ),
    "reading a named source": (
        "import calc\nassert 'return high' in pathlib.Path('calc.py').read_text()\n",
        "would read the source",
    ),
    "inspecting": ("import calc\nassert 'high' in inspect.getsource(calc)[90:]\n", "reads the source"),
    "tracing": ("import calc\nsys.settrace(None)\n", "interferes"),
}
"""The last three are not even run."""


@pytest.mark.parametrize("how", PROVES_NOTHING)
def test_what_fails_for_another_reason_proves_nothing(proof: Proof, how: str) -> None:
    text, reason = PROVES_NOTHING[how]
    made = proof.judge(text)
    assert made.outcome is NOT and reason in made.reason, "of several, one would be enough"


def test_a_test_that_depends_on_the_order_proves_nothing(by_pytest: Proof) -> None:
    made = by_pytest.judge(
        "import calc\n\nseen = []\n\n\ndef test_one():\n    seen.append(calc.clamp(1, 0, 5))\n\n\n"
        "def test_two():\n    assert calc.clamp(2, 0, 5) == 2 + len(seen)\n"
    )
    assert made.outcome is NOT and "depends on order or chance" in made.reason


# What cannot be run


def test_what_a_test_leaves_in_the_tree_and_beside_its_report_is_read_with_limits(proof: Proof) -> None:
    text = case(
        "        here = os.getcwd()\n        for _ in range(1500):\n            os.mkdir('d')\n            os.chdir('d')\n"
        "        os.chdir(here)\n        os.mkfifo('pipe')\n        os.mkfifo('/build/lines-a.json')\n"
        "        os.symlink('/dev/zero', '/build/lines-b.json')\n        assert calc.clamp(9, 0, 5) == 5\n",
        above="import os\nimport calc\n",
    )
    made = proof.run(text, proof.tree)
    assert (made.problem, len(made.failed), made.written) == ("", 1, ())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def test_it(:\n    pass\n", "does not parse"),
        ("import nowhere_to_be_found\n", "nowhere_to_be_found"),
        ("import calc\n", "no test"),
        (case("        getattr(os, '_ex' + 'it')(0)\n", above="import os, calc\n"), "without a report"),
    ],
)
def test_what_does_not_parse_or_import_or_end_could_not_run(proof: Proof, text: str, reason: str) -> None:
    made = proof.judge(text)
    assert made.outcome is COULD_NOT and reason in made.reason


@pytest.mark.skipif(not shutil.which("go"), reason="go: apt install golang")
def test_go_tells_a_regression(tmp_path: Path) -> None:
    base = {
        "go.mod": "module thing\n\ngo 1.19\n",
        "calc.go": "package thing\n\nfunc Double(x int) int { return 2 * x }\n",
        "calc_test.go": 'package thing\n\nimport "testing"\n\nfunc TestIt(t *testing.T) { _ = Double(1) }\n',
    }
    proof = Proof(tmp_path, {"calc.go": base["calc.go"].replace("2 * x", "3 * x")}, "go test ./...", base)
    text = (
        'package thing\n\nimport "testing"\n\nfunc TestFinding(t *testing.T) {\n'
        '\tif Double(4) != 8 {\n\t\tt.Fatal("no")\n\t}\n}\n'
    )
    assert proof.judge(text, path="finding_test.go").outcome is REGRESSION


@pytest.mark.skipif(not shutil.which("node"), reason="node: apt install nodejs")
def test_node_tells_a_regression_and_nothing_of_what_fails_on_both(tmp_path: Path) -> None:
    base = {
        "package.json": '{"scripts": {"test": "node --test"}}\n',
        "calc.js": "exports.double = (x) => 2 * x;\n",
        "test/calc.test.js": "require('node:test')('one', () => {});\n",
    }
    proof = Proof(tmp_path, {"calc.js": base["calc.js"].replace("2 *", "3 *")}, "npm test", base)
    text = (
        "const test = require('node:test');\nconst assert = require('node:assert');\nconst calc = require('../calc.js');\n"
        "test('double', () => { assert.strictEqual(calc.double(4), 8); });\n"
    )
    assert proof.judge(text, path="test/finding.test.js").outcome is REGRESSION
    both = text.replace(", 8", ", 9")
    made = proof.judge(both, path="test/finding.test.js")
    assert made.outcome is COULD_NOT and "only known for Python" in made.reason
