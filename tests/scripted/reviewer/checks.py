"""What the rehearsal's reviewer looks for in changed lines. It reads its own prompt and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher

from navigator.model import patterns
from tests.scripted.reviewer.diff import Line, ReadFile, ReadHunk, paired
from tests.scripted.reviewer.remarks import Remark, wrong

_TOKEN = patterns.compile(r"\"[^\"\n]*\"|'[^'\n]*'|\w+(?:\.\d+)?|[<>=!]=|->|\*\*|[^\s\w]")
_GUARD = patterns.compile(r"\s*if (\w+) is (not )?None:$")
_EMPTY_DEFAULT = patterns.compile(r"(\w+)(?::[^,=]+)?\s*=\s*(\[\]|\{\}|list\(\)|dict\(\)|set\(\))")
_TYPES = "str|int|float|bool|bytes|dict|list|tuple|set|frozenset|[A-Z]\\w*"
_STEER = patterns.compile(
    r"(ignore (all |any )?(previous|earlier|other) (instructions|findings)|(verdict|answer)\W+approve|reviewer[,:] )",
    patterns.IGNORECASE,
)
_ABBREVIATED = patterns.compile(
    r"(#|//|<!--)\s*\.\.\.|\b(rest|remainder) of (the )?(code|file|function|class|method)\b",
    patterns.IGNORECASE,
)


def check_file(file: ReadFile, task: str) -> Iterator[Remark]:
    """Every remark on one file's changed lines."""
    for hunk in file.hunks:
        pairs, lost = paired(hunk)
        for removed, added in pairs:
            for check in _PAIR_CHECKS:
                yield from check(file, hunk, removed, added, task)
        yield from _lost_lines(file, hunk, lost, task)
        for line in hunk.of("+"):
            yield from _added_line(file, hunk, line, task)
    if file.python:
        yield from _guards(file)


def tokens(text: str, *, comments: bool = False) -> list[str]:
    """Words, literals and signs of one line; a comment at its end only on request."""
    code = text if comments else patterns.sub(r"(?<!['\"\w])#.*", "", text)
    return _TOKEN.findall(code)


def _neutral(text: str) -> tuple[list[str], int]:
    """A condition without its polarity, and how often it is negated.

    Equality and identity count as one, and so do isinstance and a comparison of types.
    """
    text = patterns.sub(r"\bisinstance\(([\w.]+), ([\w.]+)\)", r"type(\1) == \2", text)
    text = patterns.sub(r"\bis not\b|!=", " == not ", text)
    text = patterns.sub(r"\bnot in\b", " in not ", text)
    text = patterns.sub(r"\bis\b", "==", text)
    parts = tokens(text)
    return [part for part in parts if part != "not"], parts.count("not")


def _inverted(file: ReadFile, hunk: ReadHunk, old: Line, new: Line, task: str) -> Iterator[Remark]:
    if not file.python:
        return
    before, after = _neutral(old.text), _neutral(new.text)
    if before[0] == after[0] and before[1] % 2 != after[1] % 2:
        yield wrong("inverted", file, hunk, new, old=old.text.strip())


def _boundary(file: ReadFile, hunk: ReadHunk, old: Line, new: Line, task: str) -> Iterator[Remark]:
    before, after = tokens(old.text), tokens(new.text)
    swaps = {("<", "<="), ("<=", "<"), (">", ">="), (">=", ">")}
    different = [(a, b) for a, b in zip(before, after, strict=False) if a != b]
    if file.python and len(before) == len(after) and len(different) == 1 and different[0] in swaps:
        yield wrong("boundary", file, hunk, new, old=different[0][0], new=different[0][1])


def _literals(file: ReadFile, hunk: ReadHunk, old: Line, new: Line, task: str) -> Iterator[Remark]:
    before, after = tokens(old.text, comments=not file.python), tokens(new.text, comments=not file.python)
    if file.python and old.text.lstrip().startswith(("#", '"""')):
        return
    constants = (
        patterns.compile(r"\d[\w.]*|True|False")
        if not file.python
        else patterns.compile(r"\d[\w.]*|True|False|['\"].*")
    )
    gone = [t for t in before if constants.fullmatch(t)]
    come = [t for t in after if constants.fullmatch(t)]
    if len(gone) != len(come) or gone == come:
        return
    changed = [(a, b) for a, b in zip(gone, come, strict=True) if a != b and b.strip("'\"") not in task]
    if changed and sorted(gone) != sorted(come):
        a, b = changed[0]
        yield wrong("literal", file, hunk, new, old=a, new=b)


def _swapped(file: ReadFile, hunk: ReadHunk, old: Line, new: Line, task: str) -> Iterator[Remark]:
    before, after = _words(old.text), _words(new.text)
    common = Counter(before) & Counter(after)
    if file.python and len(common) > 1 and _only(before, common) != _only(after, common):
        yield wrong("swapped", file, hunk, new)


def _words(text: str) -> list[str]:
    """Names and keywords, without those that only turn a condition round."""
    return [
        part for part in tokens(text) if (part[0].isalpha() or part[0] == "_") and part not in {"not", "is"}
    ]


def _only(words: list[str], wanted: Counter[str]) -> list[str]:
    """`words` in their order, each at most as often as wanted."""
    left = Counter(wanted)
    kept = []
    for word in words:
        if left[word] > 0:
            left[word] -= 1
            kept.append(word)
    return kept


def _address(file: ReadFile, hunk: ReadHunk, old: Line, new: Line, task: str) -> Iterator[Remark]:
    if file.python:
        return
    find = patterns.compile(r"https?://[^\s<>)\]\"']+")
    before = {a.rstrip(".,;:") for a in find.findall(old.text)}
    after = {a.rstrip(".,;:") for a in find.findall(new.text)}
    if before and after - before:
        yield wrong("address", file, hunk, new, old=min(before))
    levels = [patterns.match(r"(#{1,6})\s*\S", line.text) for line in (old, new)]
    if levels[0] and levels[1] and len(levels[0][1]) != len(levels[1][1]):
        yield wrong("level", file, hunk, new)


def _narrowed(file: ReadFile, hunk: ReadHunk, old: Line, new: Line, task: str) -> Iterator[Remark]:
    before = patterns.match(r"\s*except( Exception| BaseException)?\s*:", old.text)
    after = patterns.match(r"\s*except ([\w.]+)", new.text)
    if before and after and after[1] not in {"Exception", "BaseException"} and after[1] not in task:
        yield wrong("narrowed", file, hunk, new, new=after[1])


PairCheck = Callable[[ReadFile, ReadHunk, Line, Line, str], Iterator[Remark]]
_PAIR_CHECKS: tuple[PairCheck, ...] = (_inverted, _boundary, _literals, _swapped, _address, _narrowed)


def _lost_lines(file: ReadFile, hunk: ReadHunk, lost: list[Line], task: str) -> Iterator[Remark]:
    if file.status == "deleted" or patterns.search(
        r"\b(remove|delete|drop|strip out)\b", task, patterns.IGNORECASE
    ):
        return
    put = [line.text.strip() for line in file.of("+")]
    for line in lost:
        text = line.text.strip()
        if len(text) < 4 or (text.startswith(("#!", "# ")) and file.python) or text in put:
            continue
        if any(SequenceMatcher(None, text, other).quick_ratio() > 0.85 for other in put if len(put) < 200):
            continue
        yield wrong("lost" if file.python else "lost.text", file, hunk, line)
        return


def _added_line(file: ReadFile, hunk: ReadHunk, line: Line, task: str) -> Iterator[Remark]:
    text = line.text
    if _STEER.search(text):
        yield wrong("steering", file, hunk, line)
    if _ABBREVIATED.search(text):
        yield wrong("abbreviated", file, hunk, line)
    if not file.python:
        return
    encoding = patterns.search(r"encoding=[\"']([\w-]+)[\"']", text)
    if encoding and encoding[1].lower() not in {"utf-8", "utf8", "utf-8-sig"} and encoding[1] not in task:
        yield wrong("encoding", file, hunk, line, new=encoding[1])
    if patterns.search(r"\b__name__ != [\"']__main__[\"']", text):
        yield wrong("inverted.main", file, hunk, line)
    if patterns.search(r"\bdef \w+\(\w+, self\b", text):
        yield wrong("swapped.self", file, hunk, line)
    if patterns.search(r"\btimeout=0(?![.\d])", text):
        yield wrong("timeout", file, hunk, line)
    if patterns.search(rf"\bisinstance\(({_TYPES}), [a-z_][\w.]*\)", text) and not patterns.search(
        rf"\bisinstance\(\w+, ({_TYPES})\)", text
    ):
        yield wrong("isinstance", file, hunk, line)


def _guards(file: ReadFile) -> Iterator[Remark]:
    """Mutable defaults that became None: is there a guard, the right way round, with the same kind of value?"""
    added = [
        (hunk, at, line) for hunk in file.hunks for at, line in enumerate(hunk.lines) if line.kind != "-"
    ]
    for hunk in file.hunks:
        before = {name: value for line in hunk.of("-") for name, value in _EMPTY_DEFAULT.findall(line.text)}
        for line in hunk.of("+"):
            for name, value in before.items():
                if not patterns.search(rf"\b{name}\b[^,=]*=\s*None", line.text):
                    continue
                yield from _guard_of(file, hunk, line, name, value, added)


def _guard_of(
    file: ReadFile, hunk: ReadHunk, line: Line, name: str, value: str, added: list[tuple[ReadHunk, int, Line]]
) -> Iterator[Remark]:
    for where, at, guard in added:
        match = _GUARD.match(guard.text)
        if match is None or match[1] != name or guard.number < line.number or guard.number > line.number + 25:
            continue
        after = [later for later in where.lines[at + 1 :] if later.kind != "-"]
        put = after[0].text.strip() if after else ""
        if match[2] and put.startswith(f"{name} ="):
            yield wrong("guard.inverted", file, where, guard, name=name)
        elif put.startswith(f"{name} =") and put != f"{name} = {value}":
            yield wrong("guard.value", file, where, after[0], name=name, old=value)
        return
    yield wrong("guard.none", file, hunk, line, name=name, old=value)
