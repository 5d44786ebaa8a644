"""Gates on the text of a file: does it parse, does a change break its syntax, does it leave code out.

Nothing here runs what it reads. Languages that Python's library cannot parse are judged by the grammars of the map, in a limited
process. Grammars are imperfect: only what a change makes worse counts, and where nothing is known nothing is said.
"""

from __future__ import annotations

import ast
import json
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import PurePosixPath
from typing import Any
from xml.parsers import expat

from navigator.context.tags import PARSE_LIMIT, call_grammar, faults, language_of
from navigator.model import patterns
from navigator.model.json_text import TooDeep, read_json, read_toml, table
from navigator.process.bounded import WorkerLost, run_bounded

_MAX_BYTES = 5_000_000
_BYTES_A_SECOND = 500_000

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
    """Whether a file parses, judged by its name: Python, JSON, notebooks, TOML, XML and SVG.

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
    if suffix in {".xml", ".svg", ".xsd", ".xsl", ".xslt", ".plist"}:
        return _xml
    return {".toml": _toml, ".ipynb": _json}.get(suffix)


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


def _utf8(content: bytes) -> str | None:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


_CLOSERS = ("*/}", "*/", "-->", "#}", "*)", '"""', "'''")


@cache
def _omissions() -> dict[str, patterns.Pattern[str]]:
    """The patterns of `omissions.toml` by name, with its words in them."""
    read = table(__package__, "omissions.toml")
    found = read["patterns"]
    for name, word in read["words"].items():
        found = {key: text.replace(f"%{name}%", word) for key, text in found.items()}
    return {key: patterns.compile(text, patterns.IGNORECASE) for key, text in found.items()}


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
    said = line.strip()
    known = _omissions()
    if known["only_dots"].fullmatch(said):
        return shorter and (said not in {"...", "\u2026"} or not line[0].isspace())
    if comment := known["comment"].match(said):
        said = said[comment.end() :]
        closer = next((closer for closer in _CLOSERS if said.endswith(closer)), "")
        said = said.removesuffix(closer).strip()
    elif known["bare"].match(said) is None or (
        known["spread"].search(line) and not known["dots_last"].search(line)
    ):
        return False
    if known["dots"].search(said):
        return known["with_dots"].search(known["dots"].sub(" ", said).strip(" ()[]<>.")) is not None
    return known["without_dots"].fullmatch(said.strip(" ()[]<>.")) is not None


# By the grammars of the map

_BY_LIBRARY = frozenset({"python"})
"""Languages that `syntax_check` parses with the real parser."""

_WHOLE = frozenset({"go", "java", "javascript", "php", "ruby"})
"""Languages whose grammars know the whole of them: a file that parsed and now does not is broken."""

_MOST_LOST = 2
"""Processes that one answer may wear out: each may take seconds. After that its files pass."""


class GrammarGate:
    """Judges changes of files, those of one answer or proposal. No process is asked before a file needs one."""

    def __init__(self) -> None:
        self._lost = 0

    def syntax_fault(self, path: str, before: bytes | None, after: bytes) -> str | None:
        """What a change breaks in one file, by its real parser where there is one, else as `new_fault`."""
        said = syntax_check(path, after)
        if said is not None and before is not None and syntax_check(path, before) is not None:
            said = None  # it did not parse before either
        return said or self.new_fault(path, before, after)

    def new_fault(self, path: str, before: bytes | None, after: bytes) -> str | None:
        """What a change breaks in one file.

        Args:
            path: decides the language; files without a grammar pass.
            before: the file at the base; None for a new one.
            after: the file as it is to be.

        Returns:
            `line:column: what is wrong`, both from 1, or None: no more faults than before, or no verdict.
        """
        language = language_of(path)
        if not language or language in _BY_LIBRARY or b"\0" in after or before == after:
            return None
        now = self._faults(language, after)
        if now is None or not now["faults"]:
            return None
        was = self._faults(language, before) if before else {"faults": [], "bracket": None}
        if was is None:
            return None
        odd = now["bracket"] is not None and was["bracket"] is None
        # One great fault can take the place of several small ones, so their count says nothing; and a grammar may have met
        # what it does not know. Then a bracket that lost its other half has to bear it out.
        broken = odd or (language in _WHOLE and not was["faults"])
        return _fault_words(was, now, _changed(before or b"", after)) if broken else None

    def _faults(self, language: str, data: bytes) -> dict[str, Any] | None:
        """None: too large, or the process did not survive it, or others before it."""
        if self._lost >= _MOST_LOST or len(data) > PARSE_LIMIT:
            return None
        try:
            return call_grammar(faults, language, data)
        except WorkerLost:
            self._lost += 1
            return None


def _fault_words(was: dict[str, Any], now: dict[str, Any], changed: tuple[int, int]) -> str:
    """The bracket that lost its other half, else the new fault that is nearest to what changed.

    Grammars often lose their way only far behind what is wrong.
    """
    known = Counter((what, text) for _, _, what, text in was["faults"])
    known.subtract((what, text) for _, _, what, text in now["faults"])
    fresh = [fault for fault in now["faults"] if known[fault[2], fault[3]] < 0] or now["faults"]
    place = min(fresh, key=lambda fault: _distance(fault[0], changed))
    if now["bracket"] and not was["bracket"]:
        place = now["bracket"]
    line, column, what = place[:3]
    return f"{line}:{column}: {what}"


def _distance(line: int, changed: tuple[int, int]) -> int:
    return max(changed[0] - line, line - changed[1], 0)


def _changed(before: bytes, after: bytes) -> tuple[int, int]:
    """The first and the last line of `after`, from 1, between which all changes lie."""
    old, new = before.split(b"\n"), after.split(b"\n")
    most = min(len(old), len(new))
    first = 0
    while first < most and old[first] == new[first]:
        first += 1
    tail = 0
    while tail < most - first and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return first + 1, max(first + 1, len(new) - tail)
