"""Changes that break the syntax of a file, by real grammars in a real process; and changes that must pass."""

from __future__ import annotations

import pytest

from navigator.checks.syntax import GrammarGate
from navigator.context.tags import LANGUAGES, first_odd, language_of

SOURCES = {
    "a.js": "const a = { b: [1, 2] };\nfunction f(x) {\n  return x.map((y) => `{${y}(`) || /[({]/.test('(');\n}\n",
    "a.jsx": "export function F({ x }) {\n  return <p a={x}>Don't { x }</p>;\n}\n",
    "a.ts": "export interface A {\n  f(x: number): void;\n}\nconst a: A[] = [{ f() {} }];\n",
    "a.tsx": "export const F = ({ x }: { x: string }) => {\n  return <p>{x}</p>;\n};\n",
    "a.go": "package a\n\nfunc F(x []int) int {\n\tif len(x) > 0 { // (\n\t\treturn x[0]\n\t}\n\treturn int('{')\n}\n",
    "a.rs": "fn f<'a>(x: &'a [u8]) -> u8 {\n    let s = r#\"(\"{\"#;\n    match x { [] => b'{', _ => s.len() as u8 }\n}\n",
    "a.c": '#include <stdio.h>\n\nint main(int n, char **v) {\n    printf("{%d\\n", v[0][0]);\n    return n;\n}\n',
    "a.cpp": 'class A {\n public:\n  int f() const { return a_[0]; }\n  const char* g = R"x({)x";\n  int a_[2];\n};\n',
    "A.java": "class A {\n    int f(int[] x) {\n        return x[0] + \"(\".length() + '{';\n    }\n}\n",
    "a.rb": "class A\n  def f(x)\n    [x, { a: 1 }].map { |y| y }\n  end\nend\n",
    "a.php": "<?php\nfunction f($x) {\n    return [$x, '(']; // {\n}\n",
    "A.cs": 'class A {\n    int F(int[] x) {\n        return x[0] + @"{".Length;\n    }\n}\n',
    "a.kt": 'fun f(x: List<Int>): Int {\n    return g(x[0]) + "(".length\n}\n',
}


@pytest.fixture
def gate() -> GrammarGate:
    return GrammarGate()


def brackets(path: str) -> list[int]:
    """Where a bracket stands in the code of a sample: by its tokens, as `first_odd` finds each of them missing."""
    text = SOURCES[path]
    found = [at for at, sign in enumerate(text) if sign in "(){}[]"]
    return [at for at in found if first_odd(language_of(path), (text[:at] + text[at + 1 :]).encode())]


def test_every_grammar_but_pythons_has_a_sample() -> None:
    assert {language_of(path) for path in SOURCES} == set(LANGUAGES) - {"python"}


@pytest.mark.parametrize("path", SOURCES)
def test_a_file_that_parses_passes_as_new_and_as_changed(gate: GrammarGate, path: str) -> None:
    text = SOURCES[path].encode()
    assert gate.new_fault(path, None, text) is None
    assert gate.new_fault(path, text, text + b"\n") is None


@pytest.mark.parametrize("path", list(SOURCES))
def test_a_bracket_that_goes_is_found_wherever_it_stood(gate: GrammarGate, path: str) -> None:
    text = SOURCES[path]
    places = brackets(path)
    assert len(places) >= 6
    for at in places:
        broken = text[:at] + text[at + 1 :]
        said = gate.new_fault(path, text.encode(), broken.encode())
        assert said is not None, broken
        line, column, _ = said.split(":", 2)
        assert 1 <= int(line) <= broken.count("\n") + 1
        assert int(column) >= 1


@pytest.mark.parametrize("path", list(SOURCES))
def test_a_bracket_that_stood_wrong_before_is_not_the_changes_doing(gate: GrammarGate, path: str) -> None:
    at = brackets(path)[-1]
    before = SOURCES[path][:at] + SOURCES[path][at + 1 :]
    assert gate.new_fault(path, before.encode(), before.replace("x", "xyz").encode()) is None


@pytest.mark.parametrize(
    ("path", "old", "new", "says"),
    [
        ("a.go", "\treturn int", "\treturn := int", "7:9: no syntax at ':='"),
        ("a.js", "return x.map", "return = x.map", "3:10:"),
        ("A.java", "return x[0] +", "return x[0] + +;", "3:"),
        ("a.rb", "  end\nend\n", "  end\n", "1:1: no syntax at 'class A'"),
        ("a.php", "function f($x)", "function ($x", "2:"),
        ("a.go", "\t}\n\treturn", "\treturn", "'{' is never closed"),
        ("a.ts", "[{ f() {} }];", "[{ f() {} };", "4:16: '[' is never closed"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_the_place_and_the_reason_are_named(
    gate: GrammarGate, path: str, old: str, new: str, says: str
) -> None:
    text = SOURCES[path]
    assert old in text
    said = gate.new_fault(path, text.encode(), text.replace(old, new, 1).encode())
    assert said is not None
    assert says in said


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.c", "int a;\n", 'MY_ATTRIBUTE("x") static\nint f(void) {\n    return 1;\n}\n'),
        (
            "a.c",
            "int f(void) {\n    return 1;\n}\n",
            "#if OLD\nint f(int a) {\n    (void) a;\n#else\nint f(void) {\n#endif\n    return 1;\n}\n",
        ),
        ("a.rs", "fn f() {}\n", 'fn f() {\n    str![[r#"("#]];\n}\n'),
        (
            "a.ts",
            "let a;\n",
            "enum A { B }\ndeclare const x: { <T>(y: T): void; new (z: unique symbol): A };\n",
        ),
        ("a.js", "let a;\n", 'const A = () => <div class="x"><label for="y">b</label></div>;\n'),
        ("a.md", "a\n", "a {\n"),
        ("a.py", "a = 1\n", "a = (\n"),
        ("Makefile", "a:\n", "a: {\n"),
        ("a.go", "package a\n", "package a\0{"),
    ],
)
def test_what_a_grammar_may_not_know_and_what_is_not_its_matter_passes(
    gate: GrammarGate, path: str, before: str, after: str
) -> None:
    assert gate.new_fault(path, before.encode(), after.encode()) is None
