"""Every parser of untrusted text takes time in proportion to it: twice the text, at most 2.3 times the processor time.

A text is a beginning, a piece over and over, and an end, made of the strings and patterns in the parser's own modules.
`NAVIGATOR_FUZZ_SECONDS` says for how long texts are tried in all; two of each parser's are, always the same ones.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import time
import token
import tomllib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any
from xml import sax

import pytest
from pydantic import ValidationError

from navigator.agents import acp
from navigator.checks import change, removed_tests, syntax
from navigator.edits import apply, ladder, parser
from navigator.git import diffs
from navigator.journey import agent_write, reproducing, scan
from navigator.journey.reviewing import answer as review_answer
from navigator.journey.reviewing import grounding, quotes
from navigator.model import json_text, secrets
from navigator.model.text import safe_line, safe_text
from navigator.sandbox import names, one_test, propose, suite
from navigator.tui.widgets import markdown
from tests.edits.support import tree
from tests.fuzz.growth import MOST, growth
from tests.git.differing import difference
from tests.journey.answers import answer, finding
from tests.pattern_pieces import own_pieces

SECONDS = float(os.environ.get("NAVIGATOR_FUZZ_SECONDS", "5"))


def _output(text: str) -> None:
    shown = names.plain(text)
    for read in (names.failing_tests, names.passed_count, names.none_ran):
        read(shown)
    suite.excerpt(safe_text(shown))
    safe_line(text)


def _review(text: str) -> None:
    with suppress(review_answer.UnreadableReview):
        review_answer.read_review(text)


def _field(text: str) -> None:
    with suppress(review_answer.UnreadableReview):
        review_answer.read_review(answer(finding(quote=text, message=text, hunk=text)))


def _grounded(text: str) -> None:
    shown = grounding.Shown(difference({"a.md": b"one\n"}, {"a.md": text.encode("utf-8", "replace")}), text)
    for kind in ("wrong", "missing"):
        grounding.ground(
            review_answer.read_review(answer(finding(hunk="H1", kind=kind, quote=text[:1_000]))), shown
        )


def _quoted(text: str) -> None:
    for quote in (text[: len(text) // 2], text[:9], text[:40] + " ... " + text[-40:]):
        quotes.find_quote(quote, [text.splitlines(), [text]])


def _scanned(text: str) -> None:
    with suppress(scan.UnreadableScan):
        scan.read_scan(text)


def _parsed(parse: Callable[[bytes], str | None]) -> Callable[[str], None]:
    def read(text: str) -> None:
        with suppress(RecursionError, MemoryError):
            parse(text.encode("utf-8", "replace"))

    return read


def _tests_of(name: str) -> Callable[[str], None]:
    def read(text: str) -> None:
        removed_tests.removed_tests([removed_tests.FileText(name, text, "")])

    return read


def _edited(text: str) -> None:
    body = f"a.txt\n<<<<<<< SEARCH\n{text[: len(text) // 2]}\n=======\n{text}\n>>>>>>> REPLACE\n{text}"
    for said in (text, body):
        apply.apply_answer(parser.parse_answer(said), tree({"a.txt": text.encode("utf-8", "replace")}))


def _manifest(text: str) -> None:
    files = {name: text.encode("utf-8", "replace") for name in ("Makefile", "justfile", "package.json")}
    propose.proposed_command(list(files), files.get)


def _agent(text: str) -> None:
    connection = acp.AgentConnection.__new__(acp.AgentConnection)
    connection.text, connection._on_text, connection._waiting = "", lambda length: None, {}
    words: dict[str, Any] = {"sessionUpdate": "agent_message_chunk", "content": {"text": text}}
    tools = {"sessionUpdate": "tool_call", "toolCallId": text, "kind": text, "locations": [{"path": text}]}
    for update in (words, tools):
        line = json.dumps({"method": "session/update", "params": {"update": update}})
        asyncio.run(connection._line(line.encode()))
    asyncio.run(connection._line(text.encode("utf-8", "replace")))


def _read(read: Callable[[str], object]) -> Callable[[str], None]:
    def quietly(text: str) -> None:
        with suppress(ValueError, diffs.GitError):
            read(text)

    return quietly


def _report(text: str) -> None:
    """What a test run leaves behind, which the tests may have written themselves: as they like, and in its form."""
    told = {"passed": [text], "failed": [{"id": text, "message": text}], "skipped": 0}
    for content in (text, json.dumps(told, ensure_ascii=False)):
        with TemporaryDirectory() as build:
            for name in ("tests.json", "lines-1.json"):
                Path(build, name).write_text(content, encoding="utf-8", errors="replace")
            report = one_test._read_report(Path(build))
        with suppress(KeyError, ValidationError):
            for failure in one_test._Tests.model_validate(report["tests"]).failed:
                one_test._redacted(failure, KNOWN)


def _diff(text: str) -> None:
    lines = text.split("\n")
    record = f":100644 100644 {'1' * 40} {'2' * 40} M\0a\0\0diff --git a/a b/a\n"
    head = f"{record}index {'1' * 40}..{'2' * 40} 100644\n--- a/a\n+++ b/a\n"
    body = "".join(f"+{line}\n" for line in lines)
    made = diffs.parse_comparison(f"{head}@@ -0,0 +1,{len(lines)} @@\n{body}".encode("utf-8", "replace"))
    assert len(made.files[0].hunks[0].lines) == len(lines)
    _read(lambda text: diffs.parse_comparison(text.encode("utf-8", "replace")))(text)


KNOWN = secrets.Redactor(f"PREFIX_{number:06}" for number in range(2_000))

PARSERS: dict[str, Callable[[str], None]] = {
    "messages of an agent": _agent,
    "what an agent says": lambda text: agent_write._NO_CHANGE.search(text) and None,
    "a reviewer's test": lambda text: reproducing.read_test_answer(text, 7, ()) and None,
    "JSON": _read(json_text.read_json),
    "Markdown": _read(lambda text: markdown.drawn(text, 80)),
    "diffs": _diff,
    "values of an .env file": _read(lambda text: list(secrets.values_in(text.encode("utf-8", "replace")))),
    "redactor": _read(lambda text: KNOWN.outgoing(text)),
    "test output": _output,
    "reports of a test run": _report,
    "review": _review,
    "field of a review": _field,
    "grounding": _grounded,
    "quotes": _quoted,
    "scan": _scanned,
    "edit blocks": _edited,
    "omissions": lambda text: syntax.omission_in(text, text[1:]) and None,
    "secrets": lambda text: secrets.find_secret(text.encode("utf-8", "replace")) and None,
    "added secrets": lambda text: change.added_secret("", text) and None,
    "manifests": _manifest,
    **{f"syntax of {name}": _parsed(getattr(syntax, name)) for name in ("_json", "_toml", "_xml", "_python")},
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

SOURCES: dict[str, tuple[ModuleType, ...]] = {
    "test output": (names, suite),
    "reports of a test run": (one_test, json_text),
    "review": (review_answer, json_text),
    "field of a review": (review_answer, grounding),
    "grounding": (grounding, quotes),
    "quotes": (quotes,),
    "scan": (scan, json_text),
    "edit blocks": (parser, ladder),
    "omissions": (syntax,),
    "secrets": (secrets,),
    "added secrets": (change, secrets),
    "values of an .env file": (secrets,),
    "redactor": (secrets,),
    "manifests": (propose,),
    "messages of an agent": (acp, json_text),
    "what an agent says": (agent_write,),
    "a reviewer's test": (reproducing,),
    "JSON": (json_text, json.decoder),
    "Markdown": (markdown,),
    "diffs": (diffs,),
    "syntax of _json": (json.decoder,),
    "syntax of _toml": (tomllib._parser,),  # type: ignore[attr-defined]
    "syntax of _xml": (sax,),
    "syntax of _python": (token,),
    "tests": (removed_tests,),
}
"""The modules that parse each kind of text: their strings and patterns are what texts are made of."""


@pytest.mark.slow
@pytest.mark.parametrize("name", PARSERS)
def test_time_grows_with_the_text_and_no_faster(name: str) -> None:
    until = time.monotonic() + SECONDS / len(PARSERS)
    chance = random.Random(name)
    own = own_pieces(*SOURCES["tests" if name.startswith("tests of") else name])
    for number in itertools.count():
        if number >= 2 and time.monotonic() > until:
            break
        head, tail = (chance.choice(["", *own]) for _ in range(2))
        piece = "".join(chance.choices(own, k=chance.randint(1, 4)))
        found = growth(PARSERS[name], head, piece, tail)
        assert found <= MOST, f"{found:.1f} times as long for {json.dumps([head, piece, tail])}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "head", "piece", "tail"),
    [
        ("what an agent says", "", "!\n", ""),
        ("a reviewer's test", "", "\n", ""),
        ("values of an .env file", "", "-", ""),
        ("Markdown", "", "![a](", ""),
        ("Markdown", "", "[a](**b**", ""),
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
        ("syntax of _python", 'f"', "{", "\n"),
        ("omissions", "# a", " ", "b"),
        ("tests of tests/test_a.py", "", "\n", "x"),
        ("tests of a.test.ts", "", "it.", "x"),
        ("tests of ATest.cs", "", "[Fact]", "x"),
        ("tests of package.json", "", '"jest":{', ""),
    ],
)
def test_texts_that_once_held_the_conductor_up(name: str, head: str, piece: str, tail: str) -> None:
    assert growth(PARSERS[name], head, piece, tail) <= MOST
