"""Does a file parse, and does new text leave lines out."""

from __future__ import annotations

import pytest

from navigator.checks.syntax import omission_in, syntax_check

PARSES = [
    ("a.py", "x = 1\n"),
    ("a.py", ""),
    ("a.py", "# coding: latin-1\nx = '\u00e9'\n"),
    ("a.py", "\ufeffx = 1\n"),
    ("a.py", "x = '\\d'\n"),
    ("a.py", "type Pair[T] = tuple[T, T]\n"),
    ("a.py", "def first[T](xs: list[T]) -> T:\n    return xs[0]\n"),
    ("a.py", 'x = f"{d["k"]}"\n'),
    ("a.py", "try:\n    f()\nexcept A, B:\n    pass\n"),
    ("a.py", "x = " + "-" * 100_000 + "1\n"),
    ("a.py", "x = " + "1 + " * 50_000 + "1\n"),
    ("a.pyi", "def f(x: int) -> str: ...\n"),
    ("a.json", '{"a": [1, 2]}'),
    ("a.json", "\ufeff{}"),
    ("a.json", ""),
    ("a.json", "[" * 50_000),
    ("tsconfig.json", "{ // comment\n}"),
    (".vscode/settings.json", "{ // comment\n}"),
    ("a.ipynb", '{"cells": []}'),
    ("a.toml", 'a = 1\n[b]\nc = "d"\n'),
    ("a.xml", "<a><b/></a>"),
    ("a.svg", '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>\n'),
    ("bomb.xml", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;'),
    ("a.js", "function ("),
    ("Makefile", "all:\n\techo"),
]
FAILS = [
    ("a.py", "x = (\n", "1:5: '(' was never closed"),
    ("a.py", "def f():\nreturn 1\n", "2:1:"),
    ("a.py", "print 'a'\n", "1:1:"),
    ("a.py", 'x = f"{a!"\n', "1:"),
    ("a.py", "x = '\u00e9'\n".encode("latin-1"), "utf-8"),
    ("a.py", "# coding: no-such\n", "no-such"),
    ("a.py", b"x = 1\0", "null"),
    ("a.json", '{"a": 1,}', "1:9:"),
    ("a.json", "{\n  'a': 1\n}", "2:3:"),
    ("a.json", b'"\xe9"', "1:1: not UTF-8"),
    ("package.json", "{ // comment\n}", "1:3:"),
    ("a.toml", "a = 1\nb = \n", "2:5:"),
    ("a.toml", "a = [1, 2", "1:"),
    ("a.xml", "<a>\n<b></a>", "2:6: mismatched tag"),
]


@pytest.mark.parametrize(("path", "content"), PARSES)
def test_what_parses_or_cannot_be_judged_passes(path: str, content: str) -> None:
    assert syntax_check(path, content.encode("latin-1" if "latin-1" in content else "utf-8")) is None


@pytest.mark.parametrize(("path", "content", "said"), FAILS)
def test_what_does_not_parse_is_told_with_its_place(path: str, content: str | bytes, said: str) -> None:
    result = syntax_check(path, content if isinstance(content, bytes) else content.encode())
    assert result is not None
    assert said in result
    line, column, _ = result.split(":", 2)
    assert int(line) >= 1
    assert int(column) >= 1


PLACEHOLDERS = [
    "# ... rest of code unchanged",
    "# rest of the code remains the same",
    "# ... existing code ...",
    "// ... existing code ...",
    "// ... (rest of the implementation)",
    "// rest of the file stays unchanged",
    "// ... same as before",
    "// [rest of the function]",
    "/* ... rest of styles ... */",
    "<!-- rest of file -->",
    "{/* ... existing props ... */}",
    "-- ... remaining columns unchanged code",
    "# ... (remaining code unchanged) ...",
    "# \u2026 rest of the class \u2026",
    "... (rest of the code)",
    "... rest of the file unchanged ...",
    "[... existing code ...]",
    "(rest of the code unchanged)",
    "# keep the rest of the file unchanged",
    "# code omitted for brevity ...",
    "# The rest of the function is unchanged.",
]
HONEST = [
    "x = 1",
    "# rest of the arguments are passed on to the parser",
    "# use the existing code path for old clients",
    "# Existing files are kept; see the manual",
    "# unchanged since 1.0, so callers rely on it",
    "    ...",
    "def f(*args, **rest): ...",
    "print('... rest of the code')",
    'x = "// ... existing code ..."',
    "# loading ...",
    "const { a, ...rest } = props;",
    "[...existing]",
    "(...rest)",
    "# TODO: handle other cases",
    "The rest of the file is unchanged.",
    "/* same origin */",
]


@pytest.mark.parametrize("line", PLACEHOLDERS)
def test_placeholders_are_found(line: str) -> None:
    assert omission_in("a = 1\nb = 2\n", f"a = 1\n{line}\nb = 3\nc = 4\n") == line.strip()


@pytest.mark.parametrize("line", HONEST)
def test_honest_lines_pass(line: str) -> None:
    assert omission_in("a = 1\n", f"a = 1\n{line}\nb = 2\n") is None


@pytest.mark.parametrize("line", ["# ...", "    // ...", "/* ... */", "...", "<!-- ... -->", "\u2026"])
def test_bare_dots_count_where_lines_went(line: str) -> None:
    assert omission_in("a\nb\nc\nd\n", f"a\n{line}\n") == line.strip()
    assert omission_in("a\n", f"a\n{line}\nb\n") is None


def test_a_placeholder_that_stood_there_counts_once() -> None:
    line = "// ... existing code ..."
    assert omission_in(f"{line}\na\n", f"b\n  {line}\n") is None
    assert omission_in(f"{line}\na\n", f"{line}\n{line}\n") == line
