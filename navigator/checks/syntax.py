"""Gates on the text of a file that need nothing but the standard library: does it parse, does it leave code out.

Nothing here runs what it reads.
"""

from __future__ import annotations

import ast
import configparser
import json
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import PurePosixPath
from xml.parsers import expat

from navigator.model import patterns
from navigator.model.json_text import TooDeep, read_json, read_toml
from navigator.process.bounded.run import WorkerLost, run_bounded

_MAX_BYTES = 5_000_000
_BYTES_A_SECOND = 500_000

_LONGEST_INI_LINE = 1_000
"""Characters of a line that `configparser`, whose patterns are quadratic in it, is given."""

_MOST_DOTS = 200
"""Dots in a line of TOML: the time for a key is quadratic in its parts."""

_LONGEST_FAULTY_LINE = 1_000
"""Characters of a line that does not parse in which newer syntax is looked for."""

# The filter of warnings belongs to the whole process: one parse at a time may change it.
_QUIET = threading.Lock()

# Grammar of newer Pythons, which the Python that runs this may not know: PEP 695 (type statements and parameters),
# PEP 701 (the same quotes inside an f-string), PEP 750 (t-strings), PEP 758 (except without parentheses).
_NEWER_PYTHON = patterns.compile(
    r"^\s*type\s+\w+\s*(?:\[.*\]\s*)?=|^\s*(?:async\s+)?(?:def|class)\s+\w+\s*\[|^\s*except\*?\s+[\w.]+\s*,|\bt[\"']"
    r"|\b[fF][rR]?\"[^\"]*\{[^\"}]*\"[^\"]*\"[^\"]*\}|\b[fF][rR]?'[^']*\{[^'}]*'[^']*'[^']*\}"
)
# JSON that its tools allow comments and trailing commas in.
_LENIENT_JSON = patterns.compile(
    r"(?:[tj]sconfig[^/]*|\.?devcontainer|\.eslintrc|\.swcrc|\.babelrc|deno|api-extractor[^/]*)\.json"
)
_TOML_PLACE = patterns.compile(r"\(at line (\d+), column (\d+)\)")


def syntax_check(path: str, content: bytes) -> str | None:
    """Whether a file parses, judged by its name: Python, JSON, notebooks, TOML, XML, SVG, setup.cfg and tox.ini.

    Args:
        path: decides the language; files of other languages pass.
        content: the file's bytes.

    Returns:
        None where it parses or cannot be judged, else `line:column: what is wrong`, both from 1.
    """
    parse = _parser_for(path)
    if parse is None or len(content) > _MAX_BYTES:
        return None
    try:
        return run_bounded(parse, content, size=len(content), seconds=2.0 + len(content) / _BYTES_A_SECOND)
    except WorkerLost:
        # Nested deeper than the parser follows, or made to take for ever: no verdict on the text.
        return None


def _parser_for(path: str) -> Callable[[bytes], str | None] | None:
    name = PurePosixPath(path).name.lower()
    suffix = PurePosixPath(name).suffix
    if suffix in {".py", ".pyi", ".pyw"}:
        return _python
    if suffix == ".json":
        return None if _LENIENT_JSON.fullmatch(name) or "/.vscode/" in f"/{path}" else _json
    if suffix == ".toml":
        return _toml
    if suffix in {".xml", ".svg", ".xsd", ".xsl", ".xslt", ".plist"}:
        return _xml
    if suffix == ".ipynb":
        return _json
    return _ini if name in {"setup.cfg", "tox.ini"} else None


def parse_python(content: bytes | str) -> ast.Module:
    """Python's syntax tree, without a word on standard error. Raises what `ast.parse` does."""
    with _QUIET, warnings.catch_warnings():
        # A warning about an escape sequence is no error, and must not be printed over a screen.
        warnings.simplefilter("ignore")
        return ast.parse(content)


def _python(content: bytes) -> str | None:
    try:
        parse_python(content)
    except SyntaxError as error:
        if error.text and _NEWER_PYTHON.search(error.text[:_LONGEST_FAULTY_LINE]):
            return None
        return f"{error.lineno or 1}:{max(error.offset or 1, 1)}: {error.msg}"
    except ValueError as error:
        return f"1:1: {error}"
    return None


def _json(content: bytes) -> str | None:
    text = _utf8(content)
    if text is None:
        return "1:1: not UTF-8"
    if not text.strip():
        return None
    try:
        read_json(text, deepest=900)
    except TooDeep:
        raise RecursionError from None  # it may be right: no verdict
    except json.JSONDecodeError as error:
        return f"{error.lineno}:{error.colno}: {error.msg}"
    except ValueError as error:
        # Python limits the digits of an integer (CVE-2020-10735).
        return f"1:1: {error}"
    return None


def _toml(content: bytes) -> str | None:
    text = _utf8(content)
    if text is None:
        return "1:1: not UTF-8"
    if any(line.count(".") > _MOST_DOTS for line in text.split("\n")):
        return None
    try:
        read_toml(text)
    except TooDeep:
        return None
    except ValueError as error:
        place = _TOML_PLACE.search(str(error))
        if place is None:
            lines = text.split("\n")
            return f"{len(lines)}:{len(lines[-1]) + 1}: {str(error).removesuffix(' (at end of document)')}"
        return f"{place[1]}:{place[2]}: {str(error)[: place.start()].strip()}"
    return None


class _Undecided(Exception):
    """The document declares entities: it is left unread, since expanding them can take any amount of memory."""


def _xml(content: bytes) -> str | None:
    if not content.strip():
        return None
    parser = expat.ParserCreate()

    def stop(*_: object) -> None:
        raise _Undecided

    parser.EntityDeclHandler = stop
    try:
        parser.Parse(content, True)
    except _Undecided:
        return None
    except expat.ExpatError as error:
        return f"{error.lineno}:{error.offset + 1}: {expat.ErrorString(error.code)}"
    return None


def _ini(content: bytes) -> str | None:
    text = _utf8(content)
    if text is None:
        return "1:1: not UTF-8"
    if any(len(line) > _LONGEST_INI_LINE for line in text.split("\n")):
        return None
    try:
        configparser.RawConfigParser().read_string(text)
    except configparser.MissingSectionHeaderError as error:
        return f"{error.lineno}:1: no section header above this line"
    except configparser.ParsingError as error:
        line = error.errors[0][0] if error.errors else 1
        return f"{line}:1: neither a section, a key nor a continuation"
    except configparser.Error as error:
        return f"{getattr(error, 'lineno', None) or 1}:1: {error.message.splitlines()[0]}"
    return None


def _utf8(content: bytes) -> str | None:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


_LEADER = r"(?:#+|//+!?|/\*+|\*|<!--|--|;+|%+|\{/\*|\{#|\(\*|\"\"\"|'''|REM\b)"
_DOTS = r"(?:\.{3,}|\u2026)"
_CODE = (
    r"(?:code|file|files|functions?|methods?|class(?:es)?|implementations?|contents?|imports?|logic|lines?|tests?|body"
    r"|module|script|definitions?|fields?|props?|properties|routes|handlers?|cases|styles|rules|config(?:uration)?"
    r"|sections?|document|stuff)"
)
_WHICH = r"(?:rest|remainder|remaining|existing|previous|original|other|unchanged|same)"
_STANDS = (
    r"(?:(?:remains?|stays?|is|are|continues?)\s+(?:\w+\s+)?"
    r"(?:unchanged|the same|same|here|omitted|elided|as (?:is|before|above))"
    r"|unchanged|remains?|stays?|omitted|elided|goes here|go here|here|as before|as is|as above|same as before|for brevity"
    r"|not shown|continues?(?: here)?)"
)
_WITH_DOTS = patterns.compile(
    rf"\b{_WHICH}\b(?:\s+\w+){{0,3}}?\s+{_CODE}\b|\b(?:rest|remainder)\s+of\b|\b{_CODE}\s+{_STANDS}\b"
    rf"|\b(?:same as before|as before|unchanged|no changes?|omitted|for brevity|remains? the same)\b|^\W*{_WHICH}\W*$",
    patterns.IGNORECASE,
)
_WITHOUT_DOTS = patterns.compile(
    rf"(?:keep\s+)?(?:the\s+|all\s+|your\s+)*"
    rf"(?:(?:rest|remainder)\s+of\s+(?:(?:the|this|your|that)\s+)?(?:\w+\s+)?{_CODE}(?:\s+{_STANDS})?"
    rf"|(?:rest|remainder)\s+{_STANDS}"
    rf"|{_WHICH}\s+(?:\w+\s+)?{_CODE}\s+{_STANDS}"
    rf"|{_CODE}\s+(?:omitted|elided|unchanged|remains? (?:unchanged|the same))"
    rf"|no\s+changes?\s+(?:here|below|above|needed here|to the rest.*)"
    rf"|same\s+as\s+before|(?:everything|all) else\s+{_STANDS})[\s.)\]]*",
    patterns.IGNORECASE,
)
_COMMENT = patterns.compile(_LEADER, patterns.IGNORECASE)
_CLOSERS = ("*/}", "*/", "-->", "#}", "*)", '"""', "'''")
_BARE = patterns.compile(rf"{_DOTS}|[\[(<]")
_HAS_DOTS = patterns.compile(_DOTS)
# JavaScript spreads (`...rest,`): dots that touch a word, in code, unless dots follow the words too.
_SPREAD, _DOTS_LAST = patterns.compile(rf"{_DOTS}\w"), patterns.compile(rf"{_DOTS}[\s)\]>]*$")
_ONLY_DOTS = patterns.compile(
    rf"(?:{_LEADER}\s*)?{_DOTS}(?:\s*(?:\*/\}}?|-->|#\}}|\*\)))?", patterns.IGNORECASE
)


def omission_in(old: str, new: str) -> str | None:
    """The first line of `new` that replaces omitted lines ("# ... rest of code unchanged") and is not in `old`.

    A comment, or a bare line, that is nothing but dots counts only where `new` has fewer lines than `old`: elsewhere it
    may be meant.

    Args:
        old: the text that is replaced; "" for a new file.
        new: the text that replaces it.

    Returns:
        The line, stripped, or None.
    """
    shorter = _filled_lines(new) < _filled_lines(old)
    suspects = [line for line in new.split("\n") if _is_placeholder(line, shorter=shorter)]
    if not suspects:
        return None
    known = Counter(line.strip() for line in old.split("\n"))
    for line in suspects:
        if known[line.strip()] == 0:
            return line.strip()
        known[line.strip()] -= 1
    return None


def _filled_lines(text: str) -> int:
    return sum(1 for line in text.split("\n") if line.strip())


def _is_placeholder(line: str, *, shorter: bool) -> bool:
    if len(line) > 300 or not line.strip():
        return False
    if _ONLY_DOTS.fullmatch(line.strip()):
        return shorter and (line.strip() not in {"...", "\u2026"} or not line[0].isspace())
    said = line.strip()
    if comment := _COMMENT.match(said):
        said = said[comment.end() :]
        closer = next((closer for closer in _CLOSERS if said.endswith(closer)), "")
        said = said.removesuffix(closer).strip()
    elif _BARE.match(said) is None or (_SPREAD.search(line) and not _DOTS_LAST.search(line)):
        return False
    if _HAS_DOTS.search(said):
        return _WITH_DOTS.search(_HAS_DOTS.sub(" ", said).strip(" ()[]<>.")) is not None
    return _WITHOUT_DOTS.fullmatch(said.strip(" ()[]<>.")) is not None
