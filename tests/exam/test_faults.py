"""Planted faults: the text differs from the named line on, Python still parses, the same seed gives the same fault."""

from __future__ import annotations

import ast

import pytest
import tree_sitter_go
import tree_sitter_javascript
import tree_sitter_typescript
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_sitter import Language, Parser

from navigator.exam.faults import OPERATORS, Fault, lines_of, mutants
from navigator.rehearsal.samples import sample_projects

GO = """package main

import "fmt"

// if a == b, see below
func pick(rows []int, limit int) (int, error) {
	if limit == 0 {
		return 0, nil
	}
	count := 0
	for _, row := range rows {
		if row < limit && !skip(row, limit) {
			count++
		}
	}
	fmt.Println("a == b", count)
	done = true
	return count + 1, nil
}
"""

JAVASCRIPT = """import { a } from "./a";

/* x === y
   x < y */
export function pick(rows, limit) {
  if (!rows) return [];
  const pattern = /a === b"/g;
  const kept = rows.filter((row) => row.size <= limit && row.name !== `n < ${limit}`);
  let half = kept.length / 2 / 1;
  console.log("limit === 3", kept);
  half = half + 10;
  if (half > 3) {
    throw new Error("too < many");
  }
  return join(kept, limit);
}
"""

TYPESCRIPT = """export type Size = "a" | "b";

export class Store<T> {
  private open = true;

  put(key: string, value: Array<number>): boolean {
    if (!this.open) {
      return false;
    }
    this.count += 1;
    return this.write(key, value) && value.length >= 2;
  }
}
"""

SOURCES = {"a.go": GO, "a.js": JAVASCRIPT, "a.ts": TYPESCRIPT}
SOURCES |= {
    f"{project.name}/{path}": text.decode()
    for project in sample_projects()[:6]
    for path, text in project.files.items()
    if path.endswith(".py") and b"latin-1" not in text and b"\r" not in text and text
}

PARSERS = {
    "a.go": Parser(Language(tree_sitter_go.language())),
    "a.js": Parser(Language(tree_sitter_javascript.language())),
    "a.ts": Parser(Language(tree_sitter_typescript.language_typescript())),
}


def every(path: str) -> list[Fault]:
    text = SOURCES[path]
    return list(mutants(path, text, range(len(lines_of(text)))))


def is_named_rightly(fault: Fault, sound: str) -> None:
    before, after = lines_of(sound), lines_of(fault.text)
    assert fault.text != sound
    assert after[: fault.line - 1] == before[: fault.line - 1]
    assert after[fault.line - 1 : fault.line] != before[fault.line - 1 : fault.line]


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(sorted(SOURCES)), st.integers(0, 99))
def test_a_fault_differs_from_its_line_on_and_parses(path: str, seed: int) -> None:
    text = SOURCES[path]
    where = range(len(lines_of(text)))
    found = list(mutants(path, text, where, seed))
    assert list(mutants(path, text, where, seed)) == found
    for fault in found[:12]:
        is_named_rightly(fault, text)
        assert fault.path == path
        if path.endswith(".py"):
            assert ast.dump(ast.parse(fault.text)) != ast.dump(ast.parse(text))


@pytest.mark.parametrize("path", sorted(PARSERS))
def test_a_fault_in_another_language_parses(path: str) -> None:
    assert not PARSERS[path].parse(SOURCES[path].encode()).root_node.has_error
    found = every(path)
    assert len({fault.kind for fault in found}) >= 6
    for fault in found:
        is_named_rightly(fault, SOURCES[path])
        assert not PARSERS[path].parse(fault.text.encode()).root_node.has_error, fault


def test_every_operator_finds_work_somewhere() -> None:
    kinds = {fault.kind for path in SOURCES for fault in every(path)}
    assert {kind for operators in OPERATORS.values() for kind in operators} - kinds <= {"narrowed"}


@pytest.mark.parametrize(
    ("text", "line", "kind", "wanted"),
    [
        ("if a == b {", 1, "inverted", "if a != b {"),
        ("if (!ready(a)) {", 1, "inverted", "if (ready(a)) {"),
        ("x = a <= b;", 1, "boundary", "x = a < b;"),
        ("return copy(to, from)", 1, "swapped", "return copy(from, to)"),
        ("x = a && b", 1, "connective", "x = a || b"),
        ("wait(250)", 1, "off-by-one", "wait(251)"),
        ("{\n  save(a, b);\n}", 2, "statement-lost", "{\n}"),
        ("{\n  if err != nil {\n    return err\n  }\n}", 2, "guard-lost", "{\n}"),
        ("{\n  if (!a) return;\n}", 2, "guard-lost", "{\n}"),
        ("def f(a):\n    if a is None:\n        a = []\n    g(a)", 2, "guard-lost", "def f(a):\n    g(a)"),
        (
            "try:\n    a()\nexcept Exception:\n    b()",
            3,
            "narrowed",
            "try:\n    a()\nexcept ImportError:\n    b()",
        ),
        (
            "def f():\n    a(b, c)  # a == 1\n    d()",
            2,
            "swapped",
            "def f():\n    a(c, b)  # a == 1\n    d()",
        ),
    ],
)
def test_what_an_operator_does(text: str, line: int, kind: str, wanted: str) -> None:
    found = {fault.kind: fault for fault in mutants("a.py" if ":\n" in text else "a.ts", text, [line - 1])}
    assert (found[kind].text, found[kind].line) == (wanted, line)


@pytest.mark.parametrize(
    "text",
    [
        "// a == b, 12 && true", '"a == b 12"', "/* true && b */", "const x = `a == 2`;",
        'import { a, b } from "./a == 12"', "if (a)\n  save(b);",
    ],
)  # fmt: skip
def test_strings_comments_and_governed_statements_are_left_alone(text: str) -> None:
    assert list(mutants("a.js", text, range(1, 9)[: text.count("\n")] or [0])) == []


def test_the_only_statement_of_a_block_stays_in_python() -> None:
    text = "def f(x):\n    g(x)\n\n\nh(1)\nif x:\n    i(x)\nelse:\n    pass\n"
    assert [fault.line for fault in mutants("a.py", text, range(9)) if fault.kind == "statement-lost"] == [5]


def test_a_language_without_operators_has_no_faults() -> None:
    assert list(mutants("a.rs", GO, range(20))) == []
