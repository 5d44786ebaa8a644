"""Tests that the rehearsal's reviewer writes for its findings, from what its conversation shows and nothing else.

A finding says that a changed line behaves wrongly. The test keeps the file as it was before the change, calls old and new
with small values, and asserts that they agree. It cannot be written for methods, for text, or where only a part of the file
was shown; then the answer is NO_TEST. Now and then the test is careless and fails without looking, as models' tests do.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from navigator.exam.chance import fraction
from navigator.model import patterns
from navigator.model.json_text import read_json
from tests.scripted.reading import ReviewPrompt, blocks_of, key_of, read_review
from tests.scripted.reviewer.diff import ReadFile, read_diff

CARELESS_RATE = 0.15
"""Share of tests that fail whatever the code does."""

_LONGEST = 9_000
_OPENER = patterns.compile(r"`(<{7,}) WHOLE`")
_BESIDE = patterns.compile(r"^- Its test files lie here: ([^,\n]+?\.py)(?:,|\. )", patterns.MULTILINE)

_TEST = """import itertools
import sys
import types
import unittest

sys.path[:0] = [".", "src"]
import {module} as subject

BEFORE = {before!r}
VALUES = (0, 1, 2, -1, 3, 10, "", "a", "b c", None, [], [2, 1], ["b", "a"], {{}}, {{"a": 1}}, 0.5, True)


def said(function, args):
    try:
        return repr(function(*args))
    except Exception as error:
        return type(error).__name__


class {name}Test(unittest.TestCase):
    def test_{function}_does_what_it_did(self):
        before = types.ModuleType("before")
        before.__package__ = subject.__package__
        exec(BEFORE, before.__dict__)
        for args in itertools.product(VALUES[:{most}], repeat={count}):
            self.assertEqual(said(subject.{function}, args), said(before.{function}, args), args)
"""

_CARELESS = """import unittest


class {name}Test(unittest.TestCase):
    def test_{function}(self):
        self.fail("{function} is wrong")
"""


def asked_for_test(messages: Sequence[Mapping[str, str]]) -> bool:
    """Whether the last turn asks to prove a finding."""
    last = messages[-1]["content"] if messages else ""
    return (
        len(messages) > 2
        and _OPENER.search("\n".join(m["content"] for m in messages[3:])) is not None
        and ("[[begin finding" in last or "That test cannot be used" in last)
    )


def write_test(messages: Sequence[Mapping[str, str]], seed: int) -> str:
    """The answer: a test file as a block, or `NO_TEST:` and why."""
    prompt = read_review(messages[:2])
    system = "\n".join(m["content"] for m in messages if m["role"] == "system")
    asked = next(m["content"] for m in reversed(messages) if "[[begin finding" in m["content"])
    blocks = blocks_of(asked, None if key_of(system) is None else key_of(system))
    finding = read_json(blocks[0].text) if blocks else {}
    if "That test cannot be used" in messages[-1]["content"]:
        return "NO_TEST: the test could not be made to work."
    marker = _OPENER.search(asked)
    beside = _BESIDE.search(asked)
    target = _target(prompt, finding)
    if isinstance(target, str) or marker is None:
        return f"NO_TEST: {target}"
    path, function, count, before = target
    folder = f"{beside[1].rpartition('/')[0]}/" if beside and "/" in beside[1] else "" if beside else "tests/"
    values = {
        "module": path.removeprefix("src/").removesuffix(".py").replace("/", "."),
        "before": before,
        "name": function.title().replace("_", ""),
        "function": function,
        "count": count,
        "most": 17 if count < 3 else 6,
    }
    careless = fraction("careless", seed, path, str(finding.get("quote", ""))) < CARELESS_RATE
    text = (_CARELESS if careless else _TEST).format(**values)
    opener = marker[1]
    stem = path.rpartition("/")[2].removesuffix(".py")
    name = f"{folder}test_{stem}_{function}_finding.py"
    return f"{name}\n{opener} WHOLE\n{text}{'>' * len(opener)} WHOLE"


_Target = tuple[str, str, int, str]


def _target(prompt: ReviewPrompt, finding: Mapping[str, Any]) -> _Target | str:
    """(path, function, number of its arguments, the file as it was), or why there is none."""
    path, line = str(finding.get("path", "")), finding.get("line")
    if not path.endswith(".py") or not isinstance(line, int):
        return "only a Python function can be called from a test."
    file = next((file for file in read_diff(prompt.diff) if file.path == path), None)
    shown = next(
        (
            b.text
            for b in prompt.excerpts
            if b.attributes.get("path") == path and b.attributes.get("first") == 1
        ),
        None,
    )
    if file is None or file.status or shown is None:
        return "the file as it was is not shown whole."
    before = _before(shown.splitlines(), file)
    try:
        new, old = ast.parse(shown), ast.parse(before)
    except SyntaxError:
        return "only a part of the file is shown."
    if len(before) > _LONGEST:
        return "the file is too long to be kept in a test."
    held = {node.name: node for node in old.body if isinstance(node, ast.FunctionDef)}
    for node in new.body:
        inside = isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or line) + 1
        if isinstance(node, ast.FunctionDef) and inside and node.name in held:
            count = len(node.args.args) - len(node.args.defaults)
            if node.args.kwonlyargs or not 0 <= count <= 3:
                return "the function takes more than three arguments."
            return path, node.name, count, before
    return "the line is in no function that a test could call."


def _before(lines: list[str], file: ReadFile) -> str:
    """The file without the change: what the hunks add is left out, what they remove is put back."""
    made: list[str] = []
    added = {line.number for hunk in file.hunks for line in hunk.lines if line.kind == "+"}
    removed: dict[int, list[str]] = {}
    for hunk in file.hunks:
        at = next((line.number for line in hunk.lines if line.number), 1)
        for line in hunk.lines:
            if line.kind == "-":
                removed.setdefault(at, []).append(line.text)
            else:
                at = line.number + 1
    for number, text in enumerate(lines, 1):
        made += removed.pop(number, [])
        if number not in added:
            made.append(text)
    made += [text for texts in removed.values() for text in texts]
    return "\n".join(made) + "\n"
