"""A test that is to prove a finding, run for real: what counts, and each way of faking it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from navigator.model.states import FindingKind, ReproductionOutcome
from navigator.sandbox.one_test import AGAIN
from tests.sandbox.reproducing import BASE, FAULTY, UNITTEST, Proof, finding
from tests.sandbox.support import needs_sandbox

pytestmark = [pytest.mark.sandbox, needs_sandbox]

REGRESSION, UNMET = ReproductionOutcome.REGRESSION, ReproductionOutcome.UNMET
NOT, COULD_NOT = ReproductionOutcome.NOT_REPRODUCED, ReproductionOutcome.COULD_NOT_RUN

HONEST = "import calc\n\n\ndef test_above():\n    assert calc.clamp(9, 0, 5) == 5\n"


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> Proof:
    return Proof(tmp_path_factory.mktemp("proof"), {"calc.py": FAULTY})


# What counts


def test_a_test_that_passes_on_the_base_and_fails_on_the_proposal_is_a_regression(proof: Proof) -> None:
    made = proof.judge(HONEST)
    assert made.outcome is REGRESSION, made.reason
    assert "test_above" in made.failure and "assert 0 == 5" in made.failure


def test_unittest_is_judged_like_pytest(tmp_path: Path) -> None:
    proof = Proof(tmp_path, {"calc.py": FAULTY}, UNITTEST, {**BASE, "tests/__init__.py": ""})
    text = (
        "import unittest\n\nimport calc\n\n\nclass Above(unittest.TestCase):\n    def test_above(self):\n"
        "        self.assertEqual(calc.clamp(9, 0, 5), 5)\n"
    )
    made = proof.judge(text)
    assert made.outcome is REGRESSION, made.reason
    constant = text.replace("calc.clamp(9, 0, 5), 5", "1, 2")
    assert proof.judge(constant).outcome is NOT


def test_a_helper_beside_the_tests_is_found_as_discover_finds_it(tmp_path: Path) -> None:
    proof = Proof(
        tmp_path, {"calc.py": FAULTY}, f"{UNITTEST} -s tests", {**BASE, "tests/helpers.py": "WANTED = 5\n"}
    )
    text = (
        "import unittest\n\nimport calc\nfrom helpers import WANTED\n\n\nclass Above(unittest.TestCase):\n"
        "    def test_above(self):\n        self.assertEqual(calc.clamp(9, 0, 5), WANTED)\n"
    )
    assert proof.judge(text).outcome is REGRESSION


def test_what_was_asked_for_and_is_not_there_fails_on_both(proof: Proof) -> None:
    text = (
        "import calc\n\n\ndef test_empty():\n    assert calc.clamp(3, 5, 1) == 5 and calc.total([]) is None\n"
    )
    made = proof.judge(text)
    assert made.outcome is UNMET, made.reason


def test_a_name_that_the_task_asks_for_may_be_missing(proof: Proof) -> None:
    text = "import calc\n\n\ndef test_mean():\n    assert calc.mean([1, 3]) == 2\n"
    missing = finding(FindingKind.MISSING)
    assert proof.judge(text, about=missing, task="Add mean() to calc.").outcome is UNMET
    made = proof.judge(text, about=missing, task="Repair clamp.")
    assert made.outcome is NOT and "the test itself is wrong" in made.reason
    assert proof.judge(text, task="Add mean() to calc.").outcome is NOT, "a `wrong` finding misses nothing"


def test_a_process_that_the_test_starts_is_followed(proof: Proof) -> None:
    text = (
        "import subprocess, sys\n\n\ndef test_above():\n"
        "    said = subprocess.run([sys.executable, '-c', 'import calc; print(calc.clamp(9, 0, 5))'],"
        " capture_output=True, text=True)\n    assert said.stdout == '5\\n'\n"
    )
    made = proof.judge(text)
    assert made.outcome is REGRESSION, made.reason


def test_a_removed_line_is_reached_on_the_base(tmp_path: Path) -> None:
    without = BASE["calc.py"].replace("    if value > high:\n        return high\n", "")
    made = Proof(tmp_path, {"calc.py": without}).judge(HONEST)
    assert made.outcome is REGRESSION, made.reason


def test_a_changed_line_within_a_string_is_reached_with_its_statement(tmp_path: Path) -> None:
    code = 'def query():\n    return """select a\nfrom t\nwhere b"""\n'
    base = {**BASE, "calc.py": code}
    made = Proof(tmp_path, {"calc.py": code.replace("from t", "from u")}, base=base).judge(
        "import calc\n\n\ndef test_it():\n    assert 'from t' in calc.query()\n"
    )
    assert made.outcome is REGRESSION, made.reason


# What does not


def test_a_finding_that_is_not_true_passes_on_the_proposal(proof: Proof) -> None:
    made = proof.judge("import calc\n\n\ndef test_below():\n    assert calc.clamp(-1, 0, 5) == 0\n")
    assert (made.outcome, made.reason) == (NOT, "the test passes on the proposal")


def suite_of(*bodies: str) -> str:
    return "import calc\nimport pytest\n" + "".join(
        f"\n\ndef test_{n}():\n{body}" for n, body in enumerate(bodies)
    )


def test_failing_without_a_condition_proves_nothing(proof: Proof) -> None:
    made = proof.judge(
        suite_of(
            "    assert False\n",
            "    calc.clamp(9, 0, 5)\n    wanted = 3\n    assert wanted == 4, calc.clamp\n",
            "    calc.clamp(9, 0, 5)\n    raise AssertionError(calc.clamp(9, 0, 5))\n",
            "    calc.clamp(9, 0, 5)\n    pytest.fail('clamp is wrong')\n",
            "    with pytest.raises(ValueError):\n        int('3')\n",
            "    calc.clamp(9, 0, 5)\n    int('x')\n",
        )
    )
    assert made.outcome is NOT, "one of them would be enough"


def test_a_test_that_reads_the_source_proves_nothing(proof: Proof) -> None:
    by_name = "import pathlib\n\n\ndef test_it():\n    assert 'return high' in pathlib.Path('calc.py').read_text()\n"
    assert "would read the source" in proof.judge(by_name).reason
    by_inspection = (
        "import calc\nimport inspect\n\n\ndef test_it():\n    assert 'high' in inspect.getsource(calc)[90:]\n"
    )
    assert "reads the source" in proof.judge(by_inspection).reason
    hidden = (
        "import glob\nimport calc\n\n\ndef test_it():\n"
        "    assert 'return high' in ''.join(open(p).read() for p in glob.glob('c*.py'))\n"
    )
    made = proof.judge(hidden)
    assert (made.outcome, made.reason) == (NOT, "the test reaches none of the changed lines")


def test_a_test_that_edits_product_code_proves_nothing(proof: Proof) -> None:
    edits = (
        "import glob\n\nfor place in glob.glob('c*c.py'):\n    text = open(place).read()\n"
        "    open(place, 'w').write('def clamp(*a): return 7')\n\nimport calc\n\n\n"
        "def test_it():\n    open(place, 'w').write(text)\n    assert calc.clamp(3, 0, 5) == 3\n"
    )
    made = proof.judge(edits)
    assert made.outcome is NOT and "edits files of the project" in made.reason, "also where it puts them back"


def test_a_test_that_replaces_what_it_tests_proves_nothing(proof: Proof) -> None:
    assigned = (
        "import calc\n\ncalc.clamp = lambda *a: 7\n\n\ndef test_it():\n    assert calc.clamp(3, 0, 5) == 3\n"
    )
    assert "replaces the code" in proof.judge(assigned).reason
    patched = (
        "import calc\n\n\ndef test_it(monkeypatch):\n    monkeypatch.setattr('calc.clamp', lambda *a: 7)\n"
        "    assert calc.clamp(3, 0, 5) == 3\n"
    )
    assert "replaces the code" in proof.judge(patched).reason


def test_a_test_that_depends_on_the_order_proves_nothing(proof: Proof) -> None:
    text = (
        "import calc\n\nseen = []\n\n\ndef test_one():\n    seen.append(calc.clamp(1, 0, 5))\n\n\n"
        "def test_two():\n    assert calc.clamp(2, 0, 5) == 2 + len(seen)\n"
    )
    made = proof.judge(text)
    assert made.outcome is NOT and "depends on order or chance" in made.reason


def test_a_test_that_depends_on_the_hash_seed_proves_nothing(proof: Proof) -> None:
    seeds = [
        proof.run("def test_it():\n    assert not hash('a') % 2 + 2\n", proof.tree, v).failed
        for v in (AGAIN,)
    ]
    assert seeds[0], "a run says what failed"
    text = (
        "import calc\n\n\ndef test_it():\n    import os\n"
        "    assert calc.clamp(2, 0, 5) == (2 if os.environ['PYTHONHASHSEED'] != '0' else 3)\n"
    )
    assert proof.judge(text).outcome is NOT


def test_an_error_of_the_test_itself_proves_nothing(proof: Proof) -> None:
    made = proof.judge(
        suite_of(
            "    assert calc.clamp(9, 0, five) == 5\n",
            "    assert calc.clam(9, 0, 5) == 5\n",
            "    from calc import clamped\n    assert clamped(9, 0, 5) == 5\n",
        )
    )
    assert made.outcome is NOT and "the test itself is wrong" in made.reason


def test_a_failure_far_from_the_finding_proves_nothing(tmp_path: Path) -> None:
    base = {**BASE, "other.py": "def broken():\n    return 1\n"}
    proof = Proof(tmp_path, {"calc.py": FAULTY}, base=base)
    made = proof.judge("import other\n\n\ndef test_it():\n    assert other.broken() == 2\n")
    assert made.outcome is NOT and "runs nothing of the code" in made.reason


def test_a_test_that_interferes_with_its_report_proves_nothing(proof: Proof) -> None:
    made = proof.judge(
        "import sys, calc\nsys.settrace(None)\n\n\ndef test_it():\n    assert calc.clamp(9, 0, 5) == 5\n"
    )
    assert made.outcome is NOT and "interferes" in made.reason


# What cannot be run


def test_what_a_test_leaves_in_the_tree_and_beside_its_report_is_read_with_limits(proof: Proof) -> None:
    text = (
        "import os\nimport calc\n\n\ndef test_it():\n    here = os.getcwd()\n    for _ in range(1500):\n"
        "        os.mkdir('d')\n        os.chdir('d')\n    os.chdir(here)\n    os.mkfifo('pipe')\n"
        "    os.mkfifo('/build/lines-a.json')\n    os.symlink('/dev/zero', '/build/lines-b.json')\n"
        "    assert calc.clamp(9, 0, 5) == 5\n"
    )
    made = proof.run(text, proof.tree)
    assert (made.problem, len(made.failed), made.written) == ("", 1, ())


def test_what_does_not_parse_or_import_or_end_could_not_run(proof: Proof) -> None:
    assert proof.judge("def test_it(:\n    pass\n").outcome is COULD_NOT
    made = proof.judge("import nowhere_to_be_found\n\n\ndef test_it():\n    assert nowhere_to_be_found\n")
    assert made.outcome is COULD_NOT and "nowhere_to_be_found" in made.reason
    assert proof.judge("import calc\n").outcome is COULD_NOT, "no test in it"
    left = "import os, calc\n\n\ndef test_it():\n    getattr(os, '_ex' + 'it')(0)\n"
    made = proof.judge(left)
    assert made.outcome is COULD_NOT and "without a report" in made.reason


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
