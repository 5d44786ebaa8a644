"""What becomes of true and of invented findings once their tests run.

    python benchmarks/findings_that_run.py [--tiny | --full] [--cases N] [--json FILE]

Forty small changes to Python functions, each once right and once with a planted fault, go through the product's own loop:
conductor, prompts, edit blocks, sandbox. Writer and reviewer are scripted stand-ins on the loopback: what is measured is what
Navigator makes of their findings, not a model. Of each planted fault the reviewer reports the fault, with an honest test, and
invents a second finding; of each right change it invents one. Invented findings come with tests of the sorts in `INVENTED`, in
turn. `[review] block_on = "reproduced"`: the share of verdicts that change is told, too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
import time
import tomllib
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.size import sized
from navigator.actions.registry import perform
from navigator.cli.session import locked_dependencies
from navigator.config.paths import StatePaths
from navigator.engine.conductor import Conductor, RunOptions
from navigator.figures.intervals import share
from navigator.model.models import Finding
from navigator.store.database import open_reader
from navigator.store.reads.reader import Reader
from tests.journey.scripted_models import Messages, Models, objection, speaking
from tests.journey.support import make_repository


@dataclass(frozen=True)
class Case:
    """One change; see findings_cases.toml."""

    name: str
    before: str
    after: str
    fault: tuple[str, str]
    shows: str
    value: str
    fine: str
    same: str

    @property
    def planted(self) -> str:
        """The change with the fault in it."""
        assert self.after.count(self.fault[0]) == 1, self.name
        return self.after.replace(*self.fault)


CASES = tuple(
    Case(**entry)
    for entry in tomllib.loads((Path(__file__).parent / "findings_cases.toml").read_text("utf-8"))["case"]
)

TEST = """import unittest

import {side}.{name} as subject


class Finding(unittest.TestCase):
    def test_it(self):
{body}
"""

TRUE = (
    "        self.assertEqual(subject.{shows}, {value})",
    "        found = subject.{shows}\n        assert found == {value}, found",
    "        import subprocess, sys\n"
    "        code = 'import {side}.{name} as subject; print(subject.{escaped} == {value_escaped})'\n"
    "        said = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)\n"
    "        self.assertEqual(said.stdout.strip(), 'True')",
)
"""Honest tests of a planted fault, in turn; the last one runs the code in a process of its own."""

INVENTED: dict[str, str] = {
    "an honest test of an untrue claim": "        self.assertEqual(subject.{fine}, {same})",
    "assert False": "        subject.{fine}\n        assert False, 'the value is wrong'",
    "a constant in disguise": "        subject.{fine}\n        wanted = 3\n        self.assertEqual(wanted, 4)",
    "a name that is not there": "        self.assertEqual(subject.{name}_checked({same}), {same})",
    "an error of its own": "        self.assertEqual(subject.{fine}, expected)",
    "depends on the clock": "        import datetime\n"
    "        off = datetime.date.today().year == {year}\n"
    "        self.assertEqual((subject.{fine}, off), ({same}, False))",
    "depends on the order of tests": "        self.assertEqual((subject.{fine}, len(SEEN)), ({same}, 0))\n\n"
    "    def test_a_first(self):\n        SEEN.append(1)\n\n\nSEEN = []",
    "reads the source": "        import pathlib\n"
    "        text = pathlib.Path('{side}/{name}.py').read_text()\n"
    "        self.assertNotIn('return', text)",
    "replaces the code": "        subject.{name} = lambda *a: 'wrong'\n        self.assertEqual(subject.{fine}, {same})",
    "edits the project": "",
    "does not parse": "        self.assertEqual(subject.{fine}, {same}",
    "no test": "",
    "a wrong expectation": "        self.assertEqual(subject.{fine}, ('wanted', {same}))",
}
"""Tests of invented findings by sort."""

_SIDE = re.compile(r"\[(planted|clean) (\w+)\]")
BY_NAME = {case.name: case for case in CASES}


def path_of(side: str, case: Case) -> str:
    return f"{side}/{case.name}.py"


def write(messages: Messages) -> str:
    """The writer: the change, whole."""
    side, name = _found(messages)
    case = BY_NAME[name]
    text = case.after if side == "clean" else case.planted
    return f"{path_of(side, case)}\n<<<<<<< WHOLE\n{text}>>>>>>> WHOLE\n"


def _found(messages: Messages) -> tuple[str, str]:
    match = _SIDE.search(messages[1]["content"])
    assert match is not None
    return match[1], match[2]


class Reviewer:
    """Reports the planted fault, and invents; remembers which test goes with which message."""

    def __init__(self) -> None:
        self.sorts: dict[tuple[str, str], str] = {}
        self.turn = 0
        order = list(INVENTED)
        places = [(side, case.name) for case in CASES for side in ("planted", "clean")]
        for number, place in enumerate(places):
            self.sorts[place] = order[number % len(order)]

    def read(self, messages: Messages) -> str:
        side, name = _found(messages)
        case = BY_NAME[name]
        last = messages[-1]["content"]
        if len(messages) == 2:
            return self._review(side, case)
        asked = "\n".join(message["content"] for message in messages[3:])
        invented = "INVENTED" in asked
        return self._test(side, case, invented) if "[[begin finding" in asked else f"NO_TEST: {last[:40]}"

    def _review(self, side: str, case: Case) -> str:
        source = case.planted if side == "planted" else case.after
        quote = source.rstrip().splitlines()[-1]
        found = [
            objection(quote, message="INVENTED: the value is not what callers expect.", trigger="in general")
        ]
        if side == "planted":
            true = objection(quote, message=f"{case.shows} should be {case.value}.", trigger=case.shows)
            found.insert(0, true)
        return json.dumps({"summary": "Reads the change.", "findings": found, "verdict": "REVISE"})

    def _test(self, side: str, case: Case, invented: bool) -> str:
        values = {
            "side": side,
            "name": case.name,
            "fine": case.fine,
            "same": case.same,
            "shows": case.shows,
            "value": case.value,
            "escaped": case.shows.replace("\\", "\\\\").replace("'", "\\'"),
            "value_escaped": case.value.replace("\\", "\\\\").replace("'", "\\'"),
            "year": time.gmtime().tm_year,
        }
        if not invented:
            body = TRUE[list(BY_NAME).index(case.name) % len(TRUE)]
        else:
            sort = self.sorts[side, case.name]
            if sort == "no test":
                return "NO_TEST: it takes a large installation."
            if sort == "edits the project":
                return f"{path_of(side, case)}\n<<<<<<< WHOLE\n{case.after}# edited\n>>>>>>> WHOLE\n"
            body = INVENTED[sort]
        # An expression such as `f(1) == f(2)` names the function more than once.
        filled = body.format(**values)
        filled = re.sub(rf"(?<![\w.]){case.name}\(", f"subject.{case.name}(", filled)
        kind = "invented" if invented else "true"
        text = TEST.format(side=side, name=case.name, body=filled)
        return f"tests/test_{side}_{case.name}_{kind}.py\n<<<<<<< WHOLE\n{text}>>>>>>> WHOLE\n"


def run(folder: Path, cases: tuple[Case, ...]) -> tuple[list[dict[str, Any]], float]:
    """One row for each finding, and the seconds that it all took."""
    reviewer = Reviewer()
    files = {path_of(side, case): case.before.encode() for case in cases for side in ("planted", "clean")}
    files |= {"planted/__init__.py": b"", "clean/__init__.py": b"", "tests/__init__.py": b""}
    files["tests/test_all.py"] = (
        b"import unittest\n\n\nclass All(unittest.TestCase):\n    def test_nothing(self):\n        self.assertTrue(True)\n"
    )
    repository = make_repository(folder / "code", files)
    with speaking(Models(write=write, read=reviewer.read)) as models:
        config = folder / "config.toml"
        config.write_text(
            f'{models.settings}\n[batch]\nrevisions = 0\n[review]\nblock_on = "reproduced"\n',
            encoding="utf-8",
        )
        os.environ["NAVIGATOR_CONFIG"] = str(config)
        (folder / "state").mkdir(mode=0o700)
        paths = StatePaths(folder / "state").ensure()
        began = time.monotonic()
        with locked_dependencies(paths) as deps:
            check = "python3 -m unittest discover -s tests -t ."
            asyncio.run(
                perform(deps, "project.add", {"path": str(repository), "name": "code", "check": check})
            )
            tasks = [
                {
                    "project": "code",
                    "text": f"Rework {case.name}. [{side} {case.name}]",
                    "files": [path_of(side, case)],
                }
                for case in cases
                for side in ("planted", "clean")
            ]
            asyncio.run(perform(deps, "task.add", {"tasks": tasks}))
            asyncio.run(Conductor(deps, RunOptions(until="idle")).run())
        seconds = time.monotonic() - began
        reader = Reader(open_reader(paths.database))
        return [row for proposal in reader.proposals() for row in _rows(reader, proposal, reviewer)], seconds


def _rows(reader: Reader, proposal: Any, reviewer: Reviewer) -> list[dict[str, Any]]:
    match = _SIDE.search(reader.task(proposal.task_id).text)
    assert match is not None
    assert proposal.review is not None, f"{match[0]}: not reviewed"
    side, name = match[1], match[2]
    return [
        _row(finding, side, name, reviewer, proposal.review.verdict.value)
        for finding in proposal.review.findings
    ]


def _row(finding: Finding, side: str, name: str, reviewer: Reviewer, verdict: str) -> dict[str, Any]:
    made = finding.reproduction
    invented = finding.message.startswith("INVENTED")
    return {
        "case": name,
        "side": side,
        "invented": invented,
        "sort": reviewer.sorts[side, name] if invented else "true",
        "new": not BY_NAME[name].before.count("def "),
        "outcome": made.outcome.value if made else "none",
        "reason": made.reason if made else "",
        "seconds": made.seconds if made else 0.0,
        "verdict": verdict,
    }


def told(rows: list[dict[str, Any]], seconds: float) -> str:
    """The figures, in words and tables."""
    true = [row for row in rows if not row["invented"]]
    invented = [row for row in rows if row["invented"]]
    proved = {"regression", "unmet"}
    kept = share(sum(row["outcome"] in proved for row in true), len(true))
    stopped = share(sum(row["outcome"] == "not_reproduced" for row in invented), len(invented))
    clean = [row for row in rows if row["side"] == "clean"]
    faulty = {row["case"]: row["verdict"] for row in rows if row["side"] == "planted"}
    approved = share(sum(row["verdict"] == "APPROVE" for row in clean), len(clean))
    revised = share(sum(verdict == "REVISE" for verdict in faulty.values()), len(faulty))
    runs = sum(row["seconds"] for row in rows)
    lines = [
        f"{len(rows)} findings on {len(faulty)} planted faults and {len(clean)} right changes; scripted stand-ins, no model.",
        f"true findings reproduced: {_words(kept)}",
        f"invented findings not reproduced: {_words(stopped)}",
        f"right changes approved (grounded findings alone: none): {_words(approved)}",
        f"planted faults revised: {_words(revised)}",
        f"sandbox: {runs:.0f} s for {len(rows)} findings, {runs / max(1, len(rows)):.2f} s each; all in all {seconds:.0f} s",
        "",
        "| finding's test | n | regression | unmet | not reproduced | could not run |",
        "|---|---|---|---|---|---|",
    ]
    by_sort: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        sort = (
            f"true, {'new code' if row['new'] else 'changed code'}" if row["sort"] == "true" else row["sort"]
        )
        by_sort[sort][row["outcome"]] += 1
    columns = ("regression", "unmet", "not_reproduced", "could_not_run")
    for sort in sorted(by_sort, key=lambda name: (not name.startswith("true"), name)):
        counts = by_sort[sort]
        lines.append(f"| {sort} | {sum(counts.values())} | {' | '.join(str(counts[c]) for c in columns)} |")
    lost = [
        f"{row['case']}: {row['outcome']}: {row['reason']}" for row in true if row["outcome"] not in proved
    ]
    return "\n".join([*lines, "", *(lost or ["No true finding was lost."])])


def _words(found: Any) -> str:
    return f"{found.k} of {found.n}, {100 * found.rate:.0f} % [{100 * found.low:.0f}–{100 * found.high:.0f}]"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=sized(1, 5, len(CASES)))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows, seconds = run(Path(folder).resolve(), CASES[: options.cases])
    print(told(rows, seconds))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
