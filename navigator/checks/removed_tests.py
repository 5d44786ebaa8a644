"""Tests and assertions that a change removes, and tests that it disables; detected per language, without running anything.

A model that cannot make a test pass may make it go. What is found here is no proof of that: the developer confirms each file
separately, so that no batch key and no verdict includes it.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath

from navigator.checks.syntax import parse_python
from navigator.model import patterns
from navigator.model.json_text import table
from navigator.model.text import plural

MOST_BYTES = 1_000_000

_SHOWN = 6


@dataclass(frozen=True, slots=True)
class FileText:
    """One changed file: its text before and after; None where it is absent."""

    path: str
    old: str | None
    new: str | None


@dataclass
class Tests:
    """The tests of one text: name -> how many things it asserts; `bodies` tell a renamed test from a removed one."""

    tests: dict[str, int] = field(default_factory=dict)
    bodies: Counter[str] = field(default_factory=Counter)
    by_name: dict[str, str] = field(default_factory=dict)
    disabled: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, asserts: int, body: str) -> None:
        """Note one test; a second one of the same name takes the first one's place, as in a run."""
        self.tests[name] = asserts
        self.by_name[name] = body
        self.bodies[body] += 1


def is_test_file(path: str) -> bool:
    """Whether a path names a test file, by the patterns in tests.toml."""
    return _rules().files.search(path) is not None


def removed_tests(files: Sequence[FileText]) -> dict[str, str]:
    """What each file of a change removes of tests, in words, by path.

    A test that is in another file of the same change afterwards, or under another name with the same body, is not
    gone.
    """
    pairs = [(file, _find_tests(file.path, file.old), _find_tests(file.path, file.new)) for file in files]
    names = Counter(name for _, _, after in pairs for name in after.tests)
    bodies = sum((after.bodies for _, _, after in pairs), Counter[str]())
    for _, before, _ in pairs:
        names.subtract(before.tests.keys())
        bodies.subtract(before.bodies)
    said: dict[str, str] = {}
    for file, before, after in pairs:
        words = list(_compared(before, after, names, bodies))
        if words:
            gone = "removes the file: " if file.new is None else ""
            said[file.path] = gone + "; ".join(words)
    return said


def _compared(before: Tests, after: Tests, names: Counter[str], bodies: Counter[str]) -> Iterable[str]:
    gone = []
    for name in before.tests:
        if name in after.tests:
            continue
        body = before.by_name[name]
        # Elsewhere in this change the same name, or the same body, came: it was moved or renamed.
        if names[name] >= 0 or (body and bodies[body] >= 0):
            continue
        gone.append(name)
    if gone:
        yield f"removes {plural(len(gone), 'test')}: {_list(gone)}"
    fewer = [name for name, count in before.tests.items() if after.tests.get(name, count) < count]
    if fewer:
        yield f"takes assertions out of {_list(fewer)}"
    disabled = list((after.disabled - before.disabled).elements())
    if disabled:
        yield f"disables tests: {_list(sorted(set(disabled)))}"


def _list(items: Sequence[str]) -> str:
    more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return ", ".join(items[:_SHOWN]) + more


def _find_tests(path: str, text: str | None) -> Tests:
    if text is None or len(text) > MOST_BYTES:
        return Tests()
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in {".py", ".pyi"}:
        return _python_tests(text) if is_test_file(path) else Tests()
    language = _rules().languages.get(suffix)
    if language is None or not (is_test_file(path) or suffix == ".rs"):
        return Tests()
    return _by_patterns(text, language)


# Python, by its syntax

_ASSERTS = patterns.compile(
    r"assert|(?:raises|warns|deprecated_call|fail|should|expect|verify|check_call|approx)$|^(?:raises|warns)"
)


def _python_tests(text: str) -> Tests:
    python = _rules().languages[".py"]
    code = patterns.sub(r"(?m)^[ \t]*#.*$", "", text)  # strings stay, since few of them look like a call
    found = Tests(disabled=Counter(match[0].strip("( ") for match in python.disables.finditer(code)))
    try:
        tree = parse_python(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _by_patterns(text, python)
    _walk_python(tree.body, "", found)
    return found


def _walk_python(body: Sequence[ast.stmt], above: str, found: Tests) -> None:
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            _walk_python(statement.body, f"{above}{statement.name}.", found)
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            if statement.name.startswith("test"):
                reached = _reached(statement.body)
                found.add(f"{above}{statement.name}", sum(map(_asserted, reached)), _shape(statement.body))
        elif isinstance(statement, ast.If | ast.Try | ast.With):
            if (
                isinstance(statement, ast.If)
                and isinstance(statement.test, ast.Constant)
                and not statement.test.value
            ):
                continue  # `if False:`
            _walk_python(statement.body, above, found)
            _walk_python(getattr(statement, "orelse", []), above, found)


def _reached(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements before one that always ends the function."""
    reached: list[ast.stmt] = []
    for statement in body:
        reached.append(statement)
        if isinstance(statement, ast.Return | ast.Raise):
            break
    return reached


def _asserted(statement: ast.stmt) -> int:
    return sum(_is_assertion(node) for node in ast.walk(statement))


def _is_assertion(node: ast.AST) -> bool:
    """An assertion that can fail: `assert True` and the like hold nothing."""
    if isinstance(node, ast.Assert):
        return not (isinstance(node.test, ast.Constant) and bool(node.test.value))
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if not _ASSERTS.search(name):
        return False
    return not (node.args and all(isinstance(arg, ast.Constant) for arg in node.args))


def _shape(body: Sequence[ast.stmt]) -> str:
    kept = [s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    shape = "\n".join(ast.dump(statement) for statement in kept)
    # A body that says next to nothing tells no test from another.
    return shape if len(shape) > 60 else ""


# Other languages, by patterns on text without comments


def _without_c_comments(text: str) -> str:
    """A text without `/* … */` and `// …`; in one pass, whatever is left open."""
    parts: list[str] = []
    at = 0
    while (start := text.find("/*", at)) >= 0:
        end = text.find("*/", start + 2)
        parts.append(text[at:start])
        at = len(text) if end < 0 else end + 2
    return _LINE_COMMENTS.sub(" ", " ".join([*parts, text[at:]]))


_LINE_COMMENTS = patterns.compile(r"(?m)(?<![:\"'`/])//[^\n]*")
_HASH_LINES = patterns.compile(r"(?m)^[ \t]*#(?:[^\[\n][^\n]*|$)")


@dataclass(frozen=True, slots=True)
class _Language:
    test: patterns.Pattern[str]
    asserts: patterns.Pattern[str]
    disables: patterns.Pattern[str]
    c_comments: bool


@dataclass(frozen=True, slots=True)
class _Rules:
    """`tests.toml`; `languages` by suffix."""

    files: patterns.Pattern[str]
    languages: dict[str, _Language]


@cache
def _rules() -> _Rules:
    read = table(__package__, "tests.toml")
    return _Rules(
        patterns.compile(read["files"]),
        {
            suffix: _Language(
                patterns.compile(entry["test"]),
                patterns.compile(entry["asserts"]),
                patterns.compile(entry["disables"]),
                entry["comments"] == "c",
            )
            for entry in read["language"]
            for suffix in entry["suffixes"]
        },
    )


def _by_patterns(text: str, rules: _Language) -> Tests:
    code = _without_c_comments(text) if rules.c_comments else _HASH_LINES.sub("", text)
    found = Tests(
        disabled=Counter(" ".join(match[0].split()).strip("( ") for match in rules.disables.finditer(code))
    )
    places = [
        (
            match.start(),
            next(filter(None, match.groupdict().values()), "").strip("`\"' "),
        )
        for match in rules.test.finditer(code)
    ]
    ends = [*(start for start, _ in places[1:]), len(code)][: len(places)]
    for (start, name), end in zip(places, ends, strict=True):
        body = code[start:end]
        shape = " ".join(body.replace(name, "", 1).split())
        found.add(name, len(rules.asserts.findall(body)), shape if len(shape) > 60 else "")
    return found
