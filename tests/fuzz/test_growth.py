"""Every parser of untrusted text takes time in proportion to it: texts are made to grow, and their times compared.

A text is a beginning, a piece over and over, and an end. The processor time of four times as many pieces may be at most
`MOST` times that of once as many; a quadratic parser takes sixteen times, and a regular expression gone wrong far more.
`NAVIGATOR_FUZZ_SECONDS` says for how long pieces are tried in all.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from navigator.cascade.reviewing.answer import UnreadableReview, read_review
from navigator.cascade.reviewing.grounding import Shown, ground
from navigator.cascade.reviewing.quotes import find_quote
from navigator.cascade.stages.scan_answer import UnreadableScan, read_scan
from navigator.checks import syntax
from navigator.checks.change import added_secret
from navigator.checks.removed_tests import FileText, changed_settings, removed_tests
from navigator.edits import apply_answer, parse_answer
from navigator.model.secrets import find_secret
from navigator.model.text import safe_line, safe_text
from navigator.sandbox.names import failing_tests, none_ran, passed_count, plain
from navigator.sandbox.propose import proposed_command
from navigator.sandbox.suite import excerpt
from tests.cascade.answers import answer, finding
from tests.edits.support import tree
from tests.rehearsal.conversation import difference

MOST = 8.0
SECONDS = float(os.environ.get("NAVIGATOR_FUZZ_SECONDS", "20"))

_FIRST, _LAST = 4_096, 131_072
_MEASURABLE = 0.005
"""Seconds below which a time says nothing about growth: the text grows until it takes that long, or is long enough."""


def _output(text: str) -> None:
    shown = plain(text)
    failing_tests(shown)
    passed_count(shown)
    none_ran(shown)
    excerpt(safe_text(shown))
    safe_line(text)


def _review(text: str) -> None:
    with suppress(UnreadableReview):
        read_review(text)


def _field(text: str) -> None:
    with suppress(UnreadableReview):
        read_review(answer(finding(quote=text, message=text, hunk=text)))


def _grounded(text: str) -> None:
    shown = Shown(difference({"a.md": b"one\n"}, {"a.md": text.encode("utf-8", "replace")}), text)
    for kind in ("wrong", "missing"):
        ground(read_review(answer(finding(hunk="H1", kind=kind, quote=text[:1_000]))), shown)


def _quoted(text: str) -> None:
    for quote in (text[: len(text) // 2], text[:9], text[:40] + " ... " + text[-40:]):
        find_quote(quote, [text.splitlines(), [text]])


def _scanned(text: str) -> None:
    with suppress(UnreadableScan):
        read_scan(text)


def _parsed(parse: Callable[[bytes], str | None]) -> Callable[[str], None]:
    def read(text: str) -> None:
        with suppress(RecursionError, MemoryError):
            parse(text.encode("utf-8", "replace"))

    return read


def _tests_of(name: str) -> Callable[[str], None]:
    def read(text: str) -> None:
        file = FileText(name, text, "")
        removed_tests([file])
        changed_settings(file)

    return read


def _edited(text: str) -> None:
    body = f"a.txt\n<<<<<<< SEARCH\n{text[: len(text) // 2]}\n=======\n{text}\n>>>>>>> REPLACE\n{text}"
    for said in (text, body):
        apply_answer(parse_answer(said), tree({"a.txt": text.encode("utf-8", "replace")}))


def _manifest(text: str) -> None:
    files = {name: text.encode("utf-8", "replace") for name in ("Makefile", "justfile", "package.json")}
    proposed_command(list(files), files.get)


PARSERS: dict[str, Callable[[str], None]] = {
    "test output": _output,
    "review": _review,
    "field of a review": _field,
    "grounding": _grounded,
    "quotes": _quoted,
    "scan": _scanned,
    "edit blocks": _edited,
    "omissions": lambda text: syntax.omission_in(text, text[1:]) and None,
    "secrets": lambda text: find_secret(text.encode("utf-8", "replace")) and None,
    "added secrets": lambda text: added_secret("", text) and None,
    "manifests": _manifest,
    **{
        f"syntax of {name}": _parsed(getattr(syntax, name))
        for name in ("_json", "_toml", "_xml", "_ini", "_python")
    },
    **{
        f"tests of {name}": _tests_of(name)
        for name in (
            *(
                "tests/test_a.py",
                "a.test.ts",
                "ATest.java",
                "ATest.cs",
                "a_test.cc",
                "a_spec.rb",
                "a_test.go",
            ),
            *("tests/a.rs", "a_test.exs", "tests/a.php", "tests/ATest.swift", "a.bats"),
            *("pyproject.toml", "package.json", "Cargo.toml", "setup.cfg"),
        )
    },
}

_WORDS = (
    *(
        " ",
        "\t",
        "\n",
        "\r",
        "\r\n",
        "\0",
        "\x1b",
        "\x1b[",
        "\x1b]",
        "a",
        "A",
        "1",
        "_",
        ".",
        ",",
        ":",
        ";",
        "-",
        "+",
        "=",
        "#",
    ),
    *(
        "/",
        "//",
        "/*",
        "*/",
        "*",
        "|",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "<",
        ">",
        '"',
        "'",
        "`",
        "```",
        "\\",
        "\\n",
        "…",
        "...",
        "@",
    ),
    *(
        "FAILED ",
        "FAIL: ",
        "ERROR: ",
        "ok ",
        "not ok 1 ",
        "# Subtest: a",
        "--- FAIL: ",
        "● ",
        " › ",
        "✖ ",
        " > ",
        " FAILED",
        " (Failed)",
    ),
    *(
        "  1) ",
        "1 passed",
        " in 1s",
        "Ran 0 tests in ",
        "Tests: ",
        "test result: ",
        "[ERROR] ",
        "  Failed ",
        "rspec ",
        "***",
    ),
    *(
        '{"',
        '":',
        '"verdict"',
        '"findings"',
        "{}",
        "null",
        "@@ -1 +1 @@",
        "<<<<<<< SEARCH\n",
        "=======\n",
        ">>>>>>> REPLACE\n",
        "a.txt\n",
    ),
    *(
        "def test_a(",
        "class A:",
        "assert ",
        "@pytest.mark.skip",
        "it(",
        "test('",
        "expect(",
        "[Fact]",
        "@Test",
        "TEST(",
        "#[test]",
        "fn ",
    ),
    *(
        "func Test",
        "t.Run(",
        "public ",
        "@skip",
        "[tool.pytest",
        "[[test]]",
        "a = ",
        "a.b.",
        '"test": "',
        '"jest": {',
        "<a>",
        "<!--",
    ),
    *(
        "# rest of the code",
        "unchanged",
        "token = ",
        "api_key",
        "https://a:b@",
        "-----BEGIN ",
        "sk-ant-",
        "ghp_",
        "xoxb-",
        "type A",
        'f"{',
    ),
)
PIECES = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4).map("".join)


def _time(read: Callable[[str], None], text: str) -> float:
    best = float("inf")
    for _ in range(2):
        began = time.process_time()
        read(text)
        best = min(best, time.process_time() - began)
    return best


def growth(read: Callable[[str], None], head: str, piece: str, tail: str) -> float:
    """How many times as long four times as many pieces take, where a time can be told at all.

    What looks too much is measured again, twice with longer texts: limits are reached step by step, and machines are busy.
    """
    size, worst = _FIRST, float("inf")
    for again in (True, True, False):
        while True:
            short, long = (head + piece * (n // len(piece)) + tail for n in (size, 4 * size))
            took = _time(read, long)
            if took >= 4 * _MEASURABLE or size >= _LAST:
                break
            size *= 2
        found = took / max(_time(read, short), _MEASURABLE) if took >= 4 * _MEASURABLE else 1.0
        worst = min(worst, found)
        if worst < MOST or not again:
            break
        size *= 4
    return worst


@pytest.mark.parametrize("name", PARSERS)
def test_time_grows_with_the_text_and_no_faster(name: str) -> None:
    read = PARSERS[name]
    until = time.monotonic() + SECONDS / len(PARSERS)

    @given(PIECES | st.just(""), PIECES, PIECES | st.just(""))
    @settings(
        max_examples=max(20, int(SECONDS * 10)),
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    def grows(head: str, piece: str, tail: str) -> None:
        if time.monotonic() < until:
            found = growth(read, head, piece, tail)
            assert found < MOST, f"{found:.1f} times as long for {json.dumps([head, piece, tail])}"

    grows()


@pytest.mark.parametrize(
    ("name", "head", "piece", "tail"),
    [
        ("test output", "", "x", "\n"),
        ("test output", "", "\n", "0 passing"),
        ("test output", "FAILED a.b::", " ", "x"),
        ("test output", "  1 - a", " (***", "x"),
        ("test output", "a > ", " > ", "x"),
        ("review", "", '{"a":', ""),
        ("review", "", "{", ""),
        ("review", "", '{"', ""),
        ("field of a review", "", "a", ""),
        ("grounding", "", "a", ""),
        ("grounding", "", "a\n", ""),
        ("quotes", "", "a", ""),
        ("quotes", "abcd ", "...abcd ", ""),
        ("syntax of _toml", "", "a.", "a = 1"),
        ("syntax of _ini", "[a]\nkey", " ", "x"),
        ("syntax of _python", 'f"', "{", "\n"),
        ("omissions", "# a", " ", "b"),
        ("tests of tests/test_a.py", "", "\n", "x"),
        ("tests of a.test.ts", "", "it.", "x"),
        ("tests of ATest.cs", "", "[Fact]", "x"),
        ("tests of package.json", "", '"jest":{', ""),
    ],
)
def test_texts_that_once_held_the_conductor_up(name: str, head: str, piece: str, tail: str) -> None:
    assert growth(PARSERS[name], head, piece, tail) < MOST
