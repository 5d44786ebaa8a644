"""Mistakes that models make, planted into a right answer. What was planted never shows in the answer's words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from navigator.exam.chance import fraction, pick, shuffled
from navigator.exam.faults import Fault, lines_of, misspellings, misspelt, mutants
from navigator.model import patterns
from tests.scripted.writer.edits import Edit, apply_edits
from tests.scripted.writer.work import FileWork, Work, redo

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
class SpoiltAnswer:
    """What was planted, in which file, and all blocks of the answer with the spoilt ones among them."""

    kind: str
    path: str
    edits: tuple[Edit, ...]


def spoil(work: Work, salt: Salt) -> SpoiltAnswer | None:
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
            return SpoiltAnswer(name, file.path, tuple(every))
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
            words = patterns.findall(r"[A-Za-z_]{5,}", lines[number])
            if not words:
                continue
            word = pick(words, "word", *salt)
            lines[number] = lines[number].replace(word, misspelt(word), 1)
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
    spoilt = _first_fault(mutants, file, salt)
    return (f"subtle-{spoilt[0]}", spoilt[1]) if spoilt else None


def _wrong_name(work: Work, file: FileWork, salt: Salt) -> Spoilt:
    """One identifier in a new line, or close by, is misspelt."""
    return _first_fault(misspellings, file, salt)


def _first_fault(plant: Callable[..., Iterator[Fault]], file: FileWork, salt: Salt) -> Spoilt:
    for region in _lines_to_spoil(file):
        for fault in plant(file.path, file.new, region, *salt):
            if fault.text != file.old:
                return fault.kind, replace(file, new=fault.text).edits()
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
