"""Objections a strict reader raises against changes that are right: plausible, about the content, and wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator

from navigator.rehearsal.chance import fraction, pick
from navigator.rehearsal.reviewer.diff import ReadFile
from navigator.rehearsal.reviewer.remarks import Remark

_OBJECTIONS: tuple[tuple[str, str, float, str, str], ...] = (
    (
        "broad",
        r"\bexcept Exception\b",
        0.25,
        "A programming error inside the block, such as a misspelt attribute.",
        "Catching Exception still hides errors that nobody expects here; the handler should name what it handles.",
    ),
    (
        "signature",
        r"\bdef [a-z]\w*\(.*=\s*None(?!.*-> None:)",
        0.12,
        "A caller that passes None on purpose.",
        "The signature of a public function changes: None used to be passed through and now means the default.",
    ),
    (
        "encoding",
        r'encoding="utf-8"',
        0.09,
        "A file that an older version wrote in the machine's own encoding.",
        "Files that exist already and are not UTF-8 can no longer be read.",
    ),
    (
        "subclass",
        r"\bisinstance\(",
        0.16,
        "True is given where a number is expected.",
        "isinstance accepts subclasses, which the exact comparison turned away.",
    ),
    (
        "timeout",
        r"\btimeout=10\b",
        0.16,
        "A slow but healthy server that needs more than ten seconds.",
        "The call now fails where it used to succeed; the limit is not configurable.",
    ),
    (
        "caught",
        r"\bNotImplementedError\b",
        0.1,
        "A caller that catches TypeError.",
        "The type of the error changes, and code that caught the old one no longer does.",
    ),
    (
        "operator",
        r"\bis (not )?None\b",
        0.05,
        "An object that defines its own equality with None.",
        "Identity no longer asks the object; a proxy that equals None is treated differently.",
    ),
    (
        "nothing",
        r"\) -> None:",
        0.07,
        "A subclass that returns a value from this method.",
        "The annotation forbids overriding methods to return anything.",
    ),
    (
        "claim",
        r'^\s+"""[A-Z]',
        0.07,
        "A reader who relies on the docstring.",
        "The docstring claims more than the body guarantees.",
    ),
    (
        "mutation",
        r"\bfor \w+ in [\w.]+:$",
        0.1,
        "The loop's body adds a key.",
        "Walking the mapping itself fails when the body changes its size.",
    ),
    (
        "interface",
        r"\bsubject\b.*\bname\b",
        0.1,
        "A parameter is renamed on purpose.",
        "The test pins names that the project never promised.",
    ),
    (
        "safe",
        r"\bsafe_load\b",
        0.1,
        "A file that uses a tag of its own.",
        "Files with custom tags loaded before and are refused now.",
    ),
    (
        "markup",
        r"<https?://",
        0.07,
        "The page is rendered by a tool that takes angle brackets for HTML.",
        "The address disappears where angle brackets are not understood as a link.",
    ),
    (
        "language",
        r"^(```|~~~)text$",
        0.1,
        "A reader who copies the block.",
        "The block holds commands, and `text` says that it does not.",
    ),
    (
        "anchor",
        r"^#{1,6} \S",
        0.05,
        "Another page links to this heading.",
        "The heading's anchor may change, and links to it break.",
    ),
)

_GRAVE = frozenset({"timeout", "safe"})
"""Objections that their reader takes for the gravest sort: something that used to work is refused."""

_SHORT_OF = 0.3
"""Share of changes that get an aside besides; none of them asks for a revision."""

_ASIDES: tuple[tuple[str, str, str, str, str, str], ...] = (
    (
        "line",
        "wrong",
        "minor",
        "correctness",
        "A second caller appears later.",
        "Nothing tests this line; a later change can break it unnoticed.",
    ),
    (
        "line",
        "wrong",
        "nit",
        "correctness",
        "The function is called very often.",
        "The line is on a path that may run often; whether that matters was not measured.",
    ),
    (
        "gone",
        "wrong",
        "minor",
        "correctness",
        "Somebody looks for the old form, in a log or by search.",
        "What this line said is said nowhere any more; who relied on it is not told.",
    ),
    (
        "task",
        "missing",
        "minor",
        "completeness",
        "The same thing is written anew next week.",
        "No test of the project holds the code to this sentence of the task.",
    ),
    (
        "retold",
        "wrong",
        "minor",
        "correctness",
        "Two versions of this run side by side.",
        "An older caller does not know about the change.",
    ),
)
"""What is quoted (the added line, a removed one, the task, or the line in words of its own, which stands nowhere), kind,
severity, criterion, trigger and message."""


def objections(files: list[ReadFile], seed: int, task: str = "") -> Iterator[Remark]:
    """At most one objection that asks for a revision, and at most one minor aside; both depend on the content alone."""
    raised = False
    for file in files:
        for name, pattern, rate, trigger, message in _OBJECTIONS:
            if raised:
                break
            place = next(
                ((h, line) for h in file.hunks for line in h.of("+") if re.search(pattern, line.text)), None
            )
            if place is None or fraction("objection", seed, name, file.path, place[1].text) >= rate:
                continue
            raised = True
            yield Remark(
                f"objection-{name}",
                "wrong",
                file.path,
                place[0].label,
                place[1].text,
                place[1].number,
                "blocker" if name in _GRAVE else "major",
                "correctness",
                trigger,
                message,
                0.0,
            )
        if file is files[0]:
            yield from _aside(file, task, seed)


def _aside(file: ReadFile, task: str, seed: int) -> Iterator[Remark]:
    """At most one remark that asks for nothing, of one of several sorts."""
    added = [(hunk, line) for hunk in file.hunks for line in hunk.of("+") if line.text.strip()]
    if not added or fraction("aside", seed, file.path, added[0][1].text) >= _SHORT_OF:
        return
    place, kind, severity, criterion, trigger, message = pick(
        _ASIDES, seed, file.path, added[0][1].text, task
    )
    hunk, line = added[-1]
    quote, number = line.text, line.number
    removed = [(each, line) for each in file.hunks for line in each.of("-") if line.text.strip()]
    if place == "gone" and removed:
        hunk, line = removed[0]
        quote, number = line.text, line.number
    elif place == "task":
        quote, number = task.strip().splitlines()[0][:300], 0
    elif place == "retold":
        quote, number = f"the line with {line.text.strip()[:40].split(' ')[0]} was changed", 0
    yield Remark(
        "aside", kind, file.path, hunk.label, quote, number, severity, criterion, trigger, message, 0.0
    )
