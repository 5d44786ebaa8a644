"""What the reviewer looks for with the help of the code shown around the change: names it does not know, places left."""

from __future__ import annotations

import builtins
import keyword
import sys
from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches

from navigator.model import patterns
from tests.scripted.reading import DataBlock
from tests.scripted.reviewer.checks import tokens
from tests.scripted.reviewer.diff import ReadFile, ReadHunk
from tests.scripted.reviewer.remarks import Remark, wrong

_COMMON_LIST = (
    "self cls args kwargs encoding errors timeout default strict reverse isinstance NotImplementedError "
    "Exception warning safe_load append extend items values keys update strip split join replace format "
    "startswith endswith lower upper encode decode close flush write read readline readlines read_text "
    "write_text mkdir exists parents resolve unittest TestCase assertEqual assertTrue assertFalse "
    "assertRaises assertIn inspect signature parameters logging logger getLogger message status headers "
    "params return_value indent ensure_ascii sort_keys "
)
_COMMON = frozenset(_COMMON_LIST.split())
_KNOWN = frozenset(dir(builtins)) | frozenset(keyword.kwlist) | frozenset(sys.stdlib_module_names) | _COMMON
_NAME = patterns.compile(r"[A-Za-z_]\w*")

_PLACES: tuple[tuple[str, str, str, str], ...] = (
    ("py", r"[!=]= None\b|\bNone [!=]= ", "still compares with None by equality", ""),
    ("py", r"^\s*except\s*:", "still catches everything, Ctrl+C included", ""),
    ("py", r"\bdef .*=\s*(\[\]|\{\}|list\(\)|dict\(\))", "still has a mutable default", ""),
    ("py", r"\btype\([\w.]+\) (==|!=|is) ", "still compares types", ""),
    ("py", r"\braise NotImplemented\b", "still raises a value that is no exception", ""),
    ("py", r"\blog(ger|ging)?\.warn\(", "still calls the removed name", ""),
    ("py", r"\byaml\.load\(", "still loads YAML unsafely", ""),
    ("py", r"\b(requests\.(get|post|put|delete|patch|head)|urlopen)\(", "still waits for ever", "timeout"),
    (
        "py",
        r"(?<![.\w])open\(|\.read_text\(\)",
        "still depends on the machine's encoding",
        "encoding|[\"'][rwax+]*b",
    ),
    ("py", r"\bin [\w.]+\.keys\(\)", "still goes through .keys()", ""),
    ("md", r"(?<![<(\[`\"'])https?://", "still holds a bare address", ""),
    ("md", r"^#{1,6}[A-Z]", "still lacks the space after the hashes", ""),
    ("md", r"\S[ \t]$", "still ends in spaces", ""),
)


def unknown_names(files: list[ReadFile], excerpts: tuple[DataBlock, ...], task: str) -> Iterator[Remark]:
    """Names in added lines that nothing else shown knows and that look like one that is known.

    The code around the change is the new text, so it holds the added lines too; a name counts as known only where it
    occurs more often than the added lines account for.
    """
    shown = Counter(_NAME.findall("\n".join([task, *(block.text for block in excerpts)])))
    known = set(_KNOWN)
    for file in files:
        known |= {name for line in [*file.of(" "), *file.of("-")] for name in _NAME.findall(line.text)}
        if any(block.attributes.get("path") == file.path for block in excerpts):
            shown -= Counter(name for line in file.of("+") for name in _NAME.findall(line.text))
    known |= set(shown)
    for file in files:
        if file.python:
            yield from _unknown_in(file, known)


def _unknown_in(file: ReadFile, known: set[str]) -> Iterator[Remark]:
    used = Counter(name for line in file.of("+") for name in _names(line.text))
    for hunk in file.hunks:
        quoted = False
        for line in hunk.lines:
            if line.kind == "-":
                continue
            toggles = line.text.count('"""') + line.text.count("'''")
            inside = quoted or toggles > 0
            quoted ^= toggles % 2 == 1
            if line.kind != "+" or inside:
                continue
            for name in dict.fromkeys(_names(line.text)):
                if (
                    name in known
                    or len(name) < 4
                    or used[name] > 1
                    or patterns.search(rf"\b(class|def) {name}\b", line.text)
                ):
                    continue
                near = _close_to(name, known)
                if near:
                    yield wrong("name", file, hunk, line, name=name, near=near[0])


def _close_to(name: str, known: set[str]) -> list[str]:
    """Known names that differ from `name` in a letter, or only in the order of letters."""
    letters = sorted(name)
    same_length = [other for other in known if len(other) == len(name) and other[0] == name[0]]
    exchanged = sorted(other for other in same_length if sorted(other) == letters)
    if exchanged or len(name) < 5:
        return exchanged
    about = [other for other in known if abs(len(other) - len(name)) < 2]
    return get_close_matches(name, about, n=1, cutoff=0.8)


def _names(text: str) -> list[str]:
    return [part for part in tokens(text) if _NAME.fullmatch(part)]


def places_left(files: list[ReadFile], excerpts: tuple[DataBlock, ...], task: str) -> Iterator[Remark]:
    """Lines of the code shown that need the same change as others got, and did not get it."""
    if patterns.search(r"`\w+(\(\))?`", task):
        return
    for file in files:
        suffix = "py" if file.python else "md"
        removed = {line.text for line in file.of("-")}
        lines = [*_excerpt_lines(file.path, excerpts), *((line.number, line.text) for line in file.of(" "))]
        hunk = next((h for h in file.hunks if h.of("+")), None)
        if hunk is None:
            continue
        for kind, pattern, what, unless in _PLACES:
            if kind != suffix or not any(_found(pattern, unless, text) for text in removed):
                continue
            if any(_found(pattern, unless, line.text) for line in file.of("+")):
                continue
            left = next(
                ((n, t) for n, t in lines if _found(pattern, unless, t) and _counts(t, removed)), None
            )
            if left is not None:
                yield _missing(file, hunk, left, what)
        if file.python:
            yield from _undocumented(file, hunk, excerpts)


def _found(pattern: str, unless: str, text: str) -> bool:
    return patterns.search(pattern, text) is not None and not (unless and patterns.search(unless, text))


def _counts(text: str, removed: set[str]) -> bool:
    return text not in removed and text.count("(") == text.count(")") and not text.lstrip().startswith("#")


def _missing(file: ReadFile, hunk: ReadHunk, left: tuple[int, str], what: str) -> Remark:
    trigger = "The task asks for every such place; this one is used like the others."
    message = f"This line {what}: the change did not reach it."
    number, quote = left
    return Remark(
        "missing", "missing", file.path, hunk.label, quote, number, "major", "completeness", trigger, message, 0.2
    )  # fmt: skip


def _undocumented(file: ReadFile, hunk: ReadHunk, excerpts: tuple[DataBlock, ...]) -> Iterator[Remark]:
    """A public function without a docstring, where the change documents others."""
    opened = [line for line in file.of("+") if patterns.match(r'\s+"""\S', line.text)]
    if not opened or file.status == "new file":
        return
    near = {line.text for h in file.hunks for line in h.lines}
    for block in excerpts:
        if block.attributes.get("path") != file.path:
            continue
        rows = block.text.split("\n")
        first = _first(block)
        for at, row in enumerate(rows[:-1]):
            if not patterns.match(r"( {4})?def [a-z]\w*\(.*:$", row) or row in near:
                continue
            if rows[at + 1].strip() and not rows[at + 1].lstrip().startswith(('"', "'")):
                yield _missing(file, hunk, (first + at, row), "still has no docstring")
                return


def _excerpt_lines(path: str, excerpts: tuple[DataBlock, ...]) -> Iterator[tuple[int, str]]:
    for block in excerpts:
        if block.attributes.get("path") == path:
            first = _first(block)
            yield from ((first + at, text) for at, text in enumerate(block.text.split("\n")))


def _first(block: DataBlock) -> int:
    first = block.attributes.get("first", 1)
    return first if isinstance(first, int) else 1
