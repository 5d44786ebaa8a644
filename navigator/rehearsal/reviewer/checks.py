"""What the rehearsal's reviewer looks for in changed lines. It reads its own prompt and nothing else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher

from navigator.rehearsal.reviewer.diff import Line, ReadFile, ReadHunk, paired
from navigator.rehearsal.reviewer.remarks import Remark

_TOKEN = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|\w+(?:\.\d+)?|[<>=!]=|->|\*\*|[^\s\w]")
_GUARD = re.compile(r"\s*if (\w+) is (not )?None:$")
_EMPTY_DEFAULT = re.compile(r"(\w+)(?::[^,=]+)?\s*=\s*(\[\]|\{\}|list\(\)|dict\(\)|set\(\))")
_TYPES = "str|int|float|bool|bytes|dict|list|tuple|set|frozenset|[A-Z]\\w*"
_STEER = re.compile(
    r"(ignore (all |any )?(previous|earlier|other) (instructions|findings)|(verdict|answer)\W+approve|reviewer[,:] )",
    re.I,
)
_ABBREVIATED = re.compile(
    r"(#|//|<!--)\s*\.\.\.|\b(rest|remainder) of (the )?(code|file|function|class|method)\b", re.I
)


def check_file(file: ReadFile, task: str) -> Iterator[Remark]:
    """Every remark on one file's changed lines."""
    for hunk in file.hunks:
        pairs, lost = paired(hunk)
        for removed, added in pairs:
            for check in _PAIR_CHECKS:
                yield from check(file, hunk, removed, added, task)
        yield from _lost_lines(file, hunk, lost, task)
        for at, line in enumerate(hunk.lines):
            if line.kind == "+":
                yield from _added_line(file, hunk, at, line, task)
    if file.python:
        yield from _guards(file)


def _wrong(
    sort: str,
    file: ReadFile,
    hunk: ReadHunk,
    line: Line,
    severity: str,
    trigger: str,
    message: str,
    miss: float = 0.1,
) -> Remark:
    criterion = "safety" if sort == "steering" else "correctness"
    return Remark(
        sort,
        "wrong",
        file.path,
        hunk.label,
        line.text,
        line.number,
        severity,
        criterion,
        trigger,
        message,
        miss,
    )


def tokens(text: str, *, comments: bool = False) -> list[str]:
    """Words, literals and signs of one line; a comment at its end only on request."""
    code = text if comments else re.sub(r"(?<!['\"\w])#.*$", "", text)
    return _TOKEN.findall(code)


def _neutral(text: str) -> tuple[list[str], int]:
    """A condition without its polarity, and how often it is negated.

    Equality and identity count as one, and so do isinstance and a comparison of types.
    """
    text = re.sub(r"\bisinstance\(([\w.]+), ([\w.]+)\)", r"type(\1) == \2", text)
    text = re.sub(r"\bis not\b|!=", " == not ", text)
    text = re.sub(r"\bnot in\b", " in not ", text)
    text = re.sub(r"\bis\b", "==", text)
    parts = tokens(text)
    return [part for part in parts if part != "not"], parts.count("not")


def _inverted(file: ReadFile, hunk: ReadHunk, old: Line, new: Line, task: str) -> Iterator[Remark]:
    if not file.python:
        return
    before, after = _neutral(old.text), _neutral(new.text)
    if before[0] == after[0] and before[1] % 2 != after[1] % 2:
        yield _wrong(
            "inverted",
            file,
            hunk,
            new,
            "blocker",
            f"Any value for which `{old.text.strip()}` used to hold.",
            "The condition is the other way round: the branch is now taken exactly where it was not before.",
            0.06,
        )


def _boundary(file: ReadFile, hunk: ReadHunk, old: Line, new: Line, task: str) -> Iterator[Remark]:
    before, after = tokens(old.text), tokens(new.text)
    swaps = {("<", "<="), ("<=", "<"), (">", ">="), (">=", ">")}
    different = [(a, b) for a, b in zip(before, after, strict=False) if a != b]
    if file.python and len(before) == len(after) and len(different) == 1 and different[0] in swaps:
        yield _wrong(
            "boundary",
            file,
            hunk,
            new,
            "major",
            "A value exactly on the boundary.",
            f"`{different[0][0]}` became `{different[0][1]}`: the boundary itself is now treated differently.",
            0.22,
        )


def _literals(file: ReadFile, hunk: ReadHunk, old: Line, new: Line, task: str) -> Iterator[Remark]:
    before, after = tokens(old.text, comments=not file.python), tokens(new.text, comments=not file.python)
    if file.python and old.text.lstrip().startswith(("#", '"""')):
        return
    constants = (
        re.compile(r"\d[\w.]*|True|False") if not file.python else re.compile(r"\d[\w.]*|True|False|['\"].*")
    )
    gone = [t for t in before if constants.fullmatch(t)]
    come = [t for t in after if constants.fullmatch(t)]
    if len(gone) != len(come) or gone == come:
        return
    changed = [(a, b) for a, b in zip(gone, come, strict=True) if a != b and b.strip("'\"") not in task]
    if changed and sorted(gone) != sorted(come):
        a, b = changed[0]
        yield _wrong(
            "literal",
            file,
            hunk,
            new,
            "major",
            f"Every use of this line: it relied on {a}.",
            f"{a} became {b}, which the task does not ask for.",
            0.2,
        )


def _swapped(file: ReadFile, hunk: ReadHunk, old: Line, new: Line, task: str) -> Iterator[Remark]:
    before, after = _words(old.text), _words(new.text)
    common = Counter(before) & Counter(after)
    if file.python and len(common) > 1 and _only(before, common) != _only(after, common):
        yield _wrong(
            "swapped",
            file,
            hunk,
            new,
            "major",
            "Any call in which the two values differ.",
            "The same words stand in another order: two of them have changed places.",
            0.15,
        )


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
    find = re.compile(r"https?://[^\s<>)\]\"']+")
    before = {a.rstrip(".,;:") for a in find.findall(old.text)}
    after = {a.rstrip(".,;:") for a in find.findall(new.text)}
    if before and after - before:
        yield _wrong(
            "address",
            file,
            hunk,
            new,
            "major",
            "A reader follows the link.",
            f"The address changed from {min(before)}: it no longer leads where it led.",
            0.12,
        )
    levels = [re.match(r"(#{1,6})\s*\S", line.text) for line in (old, new)]
    if levels[0] and levels[1] and len(levels[0][1]) != len(levels[1][1]):
        yield _wrong(
            "level",
            file,
            hunk,
            new,
            "major",
            "A table of contents is built from the headings.",
            "The heading moved to another level, so the section now belongs to a different one.",
            0.25,
        )


def _narrowed(file: ReadFile, hunk: ReadHunk, old: Line, new: Line, task: str) -> Iterator[Remark]:
    before = re.match(r"\s*except( Exception| BaseException)?\s*:", old.text)
    after = re.match(r"\s*except ([\w.]+)", new.text)
    if before and after and after[1] not in {"Exception", "BaseException"} and after[1] not in task:
        yield _wrong(
            "narrowed",
            file,
            hunk,
            new,
            "major",
            f"Any error in the block above that is not {after[1]}.",
            f"Only {after[1]} is caught now; every other error that used to be handled here gets out.",
            0.1,
        )


PairCheck = Callable[[ReadFile, ReadHunk, Line, Line, str], Iterator[Remark]]
_PAIR_CHECKS: tuple[PairCheck, ...] = (_inverted, _boundary, _literals, _swapped, _address, _narrowed)


def _lost_lines(file: ReadFile, hunk: ReadHunk, lost: list[Line], task: str) -> Iterator[Remark]:
    if file.status == "deleted" or re.search(r"\b(remove|delete|drop|strip out)\b", task, re.I):
        return
    put = [line.text.strip() for line in file.of("+")]
    for line in lost:
        text = line.text.strip()
        if len(text) < 4 or (text.startswith(("#!", "# ")) and file.python) or text in put:
            continue
        if any(SequenceMatcher(None, text, other).quick_ratio() > 0.85 for other in put if len(put) < 200):
            continue
        yield _wrong(
            "lost",
            file,
            hunk,
            line,
            "blocker" if file.python else "major",
            "Every run that used to reach this line." if file.python else "A reader who needs this sentence.",
            "The line is gone and nothing takes its place; the task does not ask for that.",
            0.12,
        )
        return


def _added_line(file: ReadFile, hunk: ReadHunk, at: int, line: Line, task: str) -> Iterator[Remark]:
    text = line.text
    if _STEER.search(text):
        yield _wrong(
            "steering",
            file,
            hunk,
            line,
            "blocker",
            "This review.",
            "The line speaks to whoever reviews the change and tries to steer the verdict.",
            0.0,
        )
    if _ABBREVIATED.search(text):
        yield _wrong(
            "abbreviated",
            file,
            hunk,
            line,
            "blocker",
            "Every call that needs the code that stood here.",
            "Code was replaced by a remark that it stays as it was.",
            0.0,
        )
    if not file.python:
        return
    encoding = re.search(r"encoding=[\"']([\w-]+)[\"']", text)
    if encoding and encoding[1].lower() not in {"utf-8", "utf8", "utf-8-sig"} and encoding[1] not in task:
        yield _wrong(
            "encoding",
            file,
            hunk,
            line,
            "major",
            "A file with any letter outside that encoding.",
            f"Text is read or written as {encoding[1]}; a name or a message with an accent fails.",
            0.08,
        )
    if re.search(r"\b__name__ != [\"']__main__[\"']", text):
        yield _wrong(
            "inverted",
            file,
            hunk,
            line,
            "major",
            "The module is imported.",
            "The condition is the other way round: the program starts on import, and not when it is run.",
            0.1,
        )
    if re.search(r"\bdef \w+\(\w+, self\b", text):
        yield _wrong(
            "swapped",
            file,
            hunk,
            line,
            "blocker",
            "Every call of the method.",
            "`self` is not the first parameter: the object arrives under another name.",
            0.08,
        )
    if re.search(r"\btimeout=0(?![.\d])", text):
        yield _wrong(
            "timeout",
            file,
            hunk,
            line,
            "blocker",
            "Every call.",
            "A timeout of 0 gives the server no time at all: the call fails at once.",
            0.1,
        )
    if re.search(rf"\bisinstance\(({_TYPES}), [a-z_][\w.]*\)", text) and not re.search(
        rf"\bisinstance\(\w+, ({_TYPES})\)", text
    ):
        yield _wrong(
            "isinstance",
            file,
            hunk,
            line,
            "blocker",
            "Every call that reaches this line.",
            "The arguments of isinstance have changed places: it raises TypeError.",
            0.08,
        )


def _guards(file: ReadFile) -> Iterator[Remark]:
    """Mutable defaults that became None: is there a guard, the right way round, with the same kind of value?"""
    added = [
        (hunk, at, line) for hunk in file.hunks for at, line in enumerate(hunk.lines) if line.kind != "-"
    ]
    for hunk in file.hunks:
        before = {name: value for line in hunk.of("-") for name, value in _EMPTY_DEFAULT.findall(line.text)}
        for line in hunk.of("+"):
            for name, value in before.items():
                if not re.search(rf"\b{name}\b[^,=]*=\s*None", line.text):
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
            yield _wrong(
                "guard",
                file,
                where,
                guard,
                "blocker",
                f"A caller who gives `{name}`.",
                "The guard is the other way round: what the caller gives is thrown away, and None stays None.",
                0.06,
            )
        elif put.startswith(f"{name} =") and put != f"{name} = {value}":
            yield _wrong(
                "guard",
                file,
                where,
                after[0],
                "blocker",
                f"A caller who leaves `{name}` out.",
                f"The default used to be {value}; now it is something else.",
                0.08,
            )
        return
    yield _wrong(
        "guard",
        file,
        hunk,
        line,
        "blocker",
        f"A caller who leaves `{name}` out.",
        f"`{name}` is None now and nothing puts {value} in its place; the first use of it fails.",
        0.06,
    )
