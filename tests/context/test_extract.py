"""What is read out of one file, in every language there is a grammar for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.context.tags import LANGUAGES, extract, language_of, parts, stem

SAMPLES = {
    "python": (
        b"import os.path\nfrom a.b import c\nX = 1\nclass A:\n    def f(self):\n        return helper('quiet')\n",
        "XAf",
    ),
    "javascript": (
        b"import x from './x'\nexport const foo = () => helper('quiet')\nclass K { m() {} }\n",
        ["foo", "K", "m"],
    ),
    "typescript": (
        b"import {A} from './a'\ninterface I { m(): void }\ntype T = string\nhelper('quiet')\n",
        ["I", "m", "T"],
    ),
    "tsx": (b"export const App = () => <helper bar={'quiet'}/>\n", ["App"]),
    "go": (
        b'package x\nimport "a/b"\nfunc F() { helper("quiet") }\nfunc (r *T) M() {}\ntype T struct{}\n',
        ["F", "M", "T"],
    ),
    "rust": (
        b'mod foo;\nfn f() { helper("quiet") }\nstruct S;\nimpl S { fn m(&self) {} }\n',
        ["f", "S", "m"],
    ),
    "c": (
        b'#include "a.h"\n#define M 1\nint *f(int a) { return helper("quiet"); }\nstruct S { int x; };\n',
        ["M", "f", "S"],
    ),
    "cpp": (
        b'#include "a.h"\nclass K { void m() { helper("quiet"); } };\nvoid K::out() {}\n',
        ["K", "m", "out"],
    ),
    "java": (b'import a.b.C;\nclass A { void m() { helper("quiet"); } }\ninterface I {}\n', ["A", "m", "I"]),
    "ruby": (b"require 'x'\nclass A\n def m\n  helper 'quiet'\n end\nend\nmodule M; end\n", ["A", "m", "M"]),
    "php": (b"<?php\nuse A\\B;\nclass K { function m() { helper('quiet'); } }\n", ["K", "m"]),
    "c_sharp": (b'class A { void M() { helper("quiet"); } int P {get;} }\n', ["A", "M", "P"]),
    "kotlin": (b"import a.b.C\nclass A { fun m() { helper() } }\nobject O {}\n", ["A", "m", "O"]),
}


def test_every_grammar_has_a_sample() -> None:
    assert SAMPLES.keys() == LANGUAGES.keys()


@pytest.mark.parametrize("language", SAMPLES)
def test_definitions_references_and_words(language: str) -> None:
    data, names = SAMPLES[language]
    tags = extract(language, data)
    assert [entry[0] for entry in tags["defs"]] == list(names)
    assert tags["refs"].get("helper") == 1
    assert "quiet" not in tags["refs"]
    assert not set(names) & {name for name in tags["refs"] if len(name) > 2}
    if b"quiet" in data:
        assert tags["terms"]["quiet"] == 1
    for _, first, last, signature in tags["defs"]:
        assert 1 <= first <= last <= len(data.splitlines())
        assert signature in data.decode()


def test_a_file_without_grammar_takes_part_by_its_words() -> None:
    tags = extract("", b"The quick HTTPServer\n")
    assert tags["terms"] == {"the": 1, "quick": 1, "http": 1, "server": 1, "httpserver": 1}
    assert tags["defs"] == [] and tags["refs"] == {}


@given(st.sampled_from(sorted(LANGUAGES)), st.binary(max_size=400))
def test_no_bytes_break_extraction(language: str, data: bytes) -> None:
    tags = extract(language, data)
    assert all(times > 0 for times in tags["refs"].values())
    assert all(1 <= first <= last for _, first, last, _ in tags["defs"])


def test_which_grammar_reads_which_path() -> None:
    assert language_of("a/b.PY") == "python" and language_of("x.tsx") == "tsx" and language_of("x.h") == "cpp"
    assert language_of("Makefile") == language_of(".py/x") == language_of("x.md") == ""


def test_words_meet_across_their_endings_and_their_writing() -> None:
    assert stem("caching") == stem("cached") == stem("caches") == stem("cache")
    assert stem("queries") == "query" and stem("running") == "run" and stem("class") == "class"
    assert parts("getUserNames") == parts("get_user_names") == ("get", "user", "nam", "getusernames")
    assert parts("HTTPServer")[:2] == ("http", "server")
