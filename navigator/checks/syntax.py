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
from functools import cache
from pathlib import PurePosixPath
from xml.parsers import expat

from navigator.model import patterns
from navigator.model.json_text import TooDeep, read_json, read_toml, table
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
