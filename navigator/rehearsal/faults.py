"""Mistakes that models make, planted into a right answer. What was planted never shows in the answer's words."""

from __future__ import annotations

import ast
import io
import keyword
import re
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from navigator.rehearsal.chance import fraction, pick, shuffled
from navigator.rehearsal.writer.edits import Edit, apply_edits, edits_between, lines_of
from navigator.rehearsal.writer.work import FileWork, Work, parses, redo

NEAR = 4
"""Lines around a changed line within which a model's slip still falls."""

_SHARES = (
    ("subtle", 0.42),
    ("wrong-name", 0.16),
    ("incomplete", 0.14),
    ("wrong-block", 0.18),
    ("omission", 0.10),
)

Salt = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """A spoilt answer: what kind, where, and all blocks of the answer with the spoilt ones among them."""

    kind: str
    path: str
    edits: tuple[Edit, ...]


def plant(work: Work, salt: Salt) -> Fault | None:
    """Spoil one file of `work`. Kinds that do not fit it give way to others; None when none fits."""
    roll = fraction("kind", *salt)
    kinds = [name for name, _ in _SHARES]
    for at, (_, share) in enumerate(_SHARES):
        roll -= share
        if roll < 0:
            kinds = [*kinds[at:], *kinds[:at]]
            break
    for kind in kinds:
        for file in shuffled(work.files, "file", *salt):
            spoilt = _SPOILERS[kind](work, file, salt)
            if spoilt is None:
                continue
            name, edits = spoilt
            every = [e for other in work.files for e in (edits if other is file else other.edits())]
            return Fault(name, file.path, tuple(every))
    return None


Spoilt = tuple[str, list[Edit]] | None


def _wrong_block(work: Work, file: FileWork, salt: Salt) -> Spoilt:
    """One SEARCH line is misremembered, so that the block matches nowhere."""
    if file.creates:
        return None
    edits = file.edits()
    for at in shuffled(range(len(edits)), "block", *salt):
        lines = list(edits[at].search)
        for number in shuffled(range(len(lines)), "line", *salt):
            words = re.findall(r"[A-Za-z_]{5,}", lines[number])
            if not words:
                continue
            word = pick(words, "word", *salt)
            lines[number] = lines[number].replace(word, _misspelt(word), 1)
            edits[at] = edits[at].with_search(lines)
            return ("wrong-block", edits) if apply_edits(file.old, edits) is None else None
    return None


def _omission(work: Work, file: FileWork, salt: Salt) -> Spoilt:
    """The lines after an edit are taken into the block and then only hinted at."""
    if file.creates or not file.path.endswith(".py"):
        return None
    edits = file.edits()
    last = edits[-1]
    text = lines_of(file.old)
    size = len(last.search)
    start = next((i for i in range(len(text)) if tuple(text[i : i + size]) == last.search), None)
    if start is None:
        return None
    following = []
    for line in text[start + size : start + size + 4]:
        if not line.strip() or not line.startswith((" ", "\t")):
            break
        following.append(line)
    if len(following) < 2:
        return None
    indent = following[0][: len(following[0]) - len(following[0].lstrip())]
    put = (*last.put, f"{indent}# ... rest of the function unchanged")
    edits[-1] = Edit(last.path, (*last.search, *following), put)
    return "omission", edits


def _incomplete(work: Work, file: FileWork, salt: Salt) -> Spoilt:
    """One of several places is left as it was."""
    if work.rule is None or file.creates or file.changed < 2:
        return None
    number = pick(range(file.changed), "place", *salt)
    less = redo(work.rule, file, file.skip | {number})
    if less.new in {file.old, file.new}:
        return None
    return "incomplete", less.edits()


def _subtle(work: Work, file: FileWork, salt: Salt) -> Spoilt:
    """One small change of meaning that still parses, on an added line if one lends itself to it, else close by."""
    added, near = _lines_to_spoil(file)
    lines = lines_of(file.new)
    found = _PYTHON_SLIPS if file.path.endswith((".py", ".pyi")) else _MARKDOWN_SLIPS
    for region in (added, near):
        for name, slip in shuffled(found, "slip", *salt):
            for at in shuffled(region, name, *salt):
                spoilt = slip(lines, at)
                if spoilt is not None and (edits := _as_edits(file, spoilt)) is not None:
                    return f"subtle-{name}", edits
    return None


def _wrong_name(work: Work, file: FileWork, salt: Salt) -> Spoilt:
    """One identifier in a new line, or close by, is misspelt."""
    if not file.path.endswith((".py", ".pyi")):
        return None
    added, near = _lines_to_spoil(file)
    names = _names_by_line(file.new)
    for region in (added, near):
        for at in shuffled(region, "line", *salt):
            options = [token for token in names.get(at + 1, []) if len(token.string) >= 5]
            if not options:
                continue
            token = pick(options, "name", *salt)
            lines = lines_of(file.new)
            start, end = token.start[1], token.end[1]
            lines[at] = lines[at][:start] + _misspelt(token.string) + lines[at][end:]
            edits = _as_edits(file, lines)
            if edits is not None:
                return "wrong-name", edits
    return None


_SPOILERS: dict[str, Callable[[Work, FileWork, Salt], Spoilt]] = {
    "subtle": _subtle,
    "wrong-name": _wrong_name,
    "incomplete": _incomplete,
    "wrong-block": _wrong_block,
    "omission": _omission,
}


def _lines_to_spoil(file: FileWork) -> tuple[list[int], list[int]]:
    """Indices in the new text of added lines, and of unchanged lines close to one."""
    old, new = lines_of(file.old), lines_of(file.new)
    added: list[int] = []
    for tag, _, _, j1, j2 in SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        if tag in {"insert", "replace"}:
            added += range(j1, j2)
    close = {at + step for at in added for step in range(-NEAR, NEAR + 1)}
    near = sorted(at for at in close - set(added) if 0 <= at < len(new))
    return added, near


def _as_edits(file: FileWork, lines: list[str]) -> list[Edit] | None:
    """The blocks of a spoilt text; None when it is no different, does not parse, or changes nothing at all."""
    ending = "\n" if file.new.endswith("\n") else ""
    text = "\n".join(lines) + ending
    if text in {file.new, file.old}:
        return None
    if file.path.endswith((".py", ".pyi")) and not parses(text):
        return None
    if file.creates:
        return [Edit(file.path, (), tuple(lines), form="new")]
    return edits_between(file.path, file.old, text)


def _misspelt(word: str) -> str:
    """`word` with two neighbouring letters inside it exchanged, or one doubled where all are alike."""
    for at in range(len(word) // 2, len(word) - 1):
        if word[at] != word[at + 1] and "_" not in word[at : at + 2]:
            return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word + word[-1]


def _names_by_line(text: str) -> dict[int, list[tokenize.TokenInfo]]:
    """Names by 1-based line, without keywords and without those being defined by `def` or `class`."""
    found: dict[int, list[tokenize.TokenInfo]] = {}
    before = ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if (
                token.type == tokenize.NAME
                and not keyword.iskeyword(token.string)
                and before not in {"def", "class"}
            ):
                found.setdefault(token.start[0], []).append(token)
            before = token.string
    except (tokenize.TokenError, SyntaxError):
        return {}
    return found


Slip = Callable[[list[str], int], "list[str] | None"]


def _swap(*pairs: tuple[str, str]) -> Slip:
    """A slip that replaces the first pattern found in the line."""

    def slip(lines: list[str], at: int) -> list[str] | None:
        if lines[at].lstrip().startswith(("#", '"""', "'''", "import ", "from ")):
            return None
        for pattern, put in pairs:
            changed, count = re.subn(pattern, put, lines[at], count=1)
            if count and changed != lines[at]:
                return [*lines[:at], changed, *lines[at + 1 :]]
        return None

    return slip


def _off_by_one(lines: list[str], at: int) -> list[str] | None:
    match = re.search(r"(?<![\w.\"'-])(\d{1,4})(?![\w.\"'])", lines[at])
    if match is None or lines[at].lstrip().startswith(("#", '"""')):
        return None
    put = str(int(match[1]) + 1)
    return [*lines[:at], lines[at][: match.start()] + put + lines[at][match.end() :], *lines[at + 1 :]]


def _lost_guard(lines: list[str], at: int) -> list[str] | None:
    if at + 1 >= len(lines) or not re.match(r"\s*if \w+ is None:$", lines[at]):
        return None
    if not re.match(r"\s*\w+ = (\[\]|\{\}|list\(\)|dict\(\)|set\(\))$", lines[at + 1]):
        return None
    return [*lines[:at], *lines[at + 2 :]]


def _lost_statement(lines: list[str], at: int) -> list[str] | None:
    """Drop a line that is one whole simple statement and not the only one of its block."""
    for node in _simple_statements("\n".join(lines) + "\n"):
        if node.lineno == node.end_lineno == at + 1:
            return [*lines[:at], *lines[at + 1 :]]
    return None


def _simple_statements(text: str) -> Iterator[ast.stmt]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module):
            continue
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if not isinstance(block, list) or len(block) < 2:
                continue
            for statement in block:
                if isinstance(statement, ast.Assign | ast.AugAssign | ast.Raise) or (
                    isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call | ast.Await)
                ):
                    yield statement


_WORD = r"[A-Za-z_][\w.]*"

_PYTHON_SLIPS: tuple[tuple[str, Slip], ...] = (
    (
        "inverted",
        _swap(
            (r" is not None\b", " is None"),
            (r" is None\b", " is not None"),
            (r"\bnot isinstance\(", "isinstance("),
            (r"\b(if|elif|while) isinstance\(", r"\1 not isinstance("),
            (r"\b(if|elif|while) not ", r"\1 "),
            (r" == ", " != "),
        ),
    ),
    ("guard-lost", _lost_guard),
    (
        "wrong-value",
        _swap((r"( = )\[\]$", r"\1{}"), (r"( = )\{\}$", r"\1[]"), (r"timeout=10\b", "timeout=0")),
    ),
    ("wrong-encoding", _swap((r'encoding="utf-8"', 'encoding="ascii"'))),
    (
        "swapped",
        _swap(
            (rf"\bisinstance\(({_WORD}), ({_WORD})\)", r"isinstance(\2, \1)"),
            (rf"\b(\w+)\(({_WORD}), ({_WORD})\)", r"\1(\3, \2)"),
        ),
    ),
    ("narrowed", _swap((r"except Exception:", "except ImportError:"))),
    ("boundary", _swap((r" < ", " <= "), (r" > ", " >= "), (r" <= ", " < "), (r" >= ", " > "))),
    ("off-by-one", _off_by_one),
    (
        "wrong-default",
        _swap((r"=True\b", "=False"), (r"=False\b", "=True"), (r"\breturn True\b", "return False")),
    ),
    ("statement-lost", _lost_statement),
)


def _lost_line(lines: list[str], at: int) -> list[str] | None:
    if len(lines[at].split()) < 3 or lines[at].lstrip().startswith(("#", "```", "~~~", "|")):
        return None
    return [*lines[:at], *lines[at + 1 :]]


def _wrong_address(lines: list[str], at: int) -> list[str] | None:
    match = re.search(r"https?://[\w.-]+/?([\w-]*)", lines[at])
    if match is None:
        return None
    spoilt = match[0][:-3] + match[0][-2:]
    return [*lines[:at], lines[at].replace(match[0], spoilt, 1), *lines[at + 1 :]]


def _wrong_level(lines: list[str], at: int) -> list[str] | None:
    if not re.match(r"#{1,5} \S", lines[at]):
        return None
    return [*lines[:at], "#" + lines[at], *lines[at + 1 :]]


_MARKDOWN_SLIPS: tuple[tuple[str, Slip], ...] = (
    ("wrong-address", _wrong_address),
    ("off-by-one", _off_by_one),
    ("wrong-level", _wrong_level),
    ("line-lost", _lost_line),
)
