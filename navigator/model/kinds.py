"""What kind of work a task's text asks for, where nobody says."""

from __future__ import annotations

from navigator.model import patterns
from navigator.model.states import TaskKind

_WORDS = patterns.compile(r"[a-z]+")
_FIRST = 8
"""Words of the first line that are looked at."""

_VERBS = {
    TaskKind.FIX: ("fix", "repair", "correct", "mend", "resolve", "prevent"),
    TaskKind.REFACTOR: (
        "refactor",
        "rename",
        "simplify",
        "extract",
        "inline",
        "deduplicate",
        "reorganise",
        "reorganize",
        "tidy",
    ),
    TaskKind.DOCS: ("document", "describe", "explain"),
    TaskKind.TEST: ("test", "cover"),
}
"""What a task of a kind begins with."""

_THINGS = {
    TaskKind.TEST: ("test", "tests", "coverage"),
    TaskKind.DOCS: (
        "docs",
        "documentation",
        "docstring",
        "docstrings",
        "readme",
        "changelog",
        "comment",
        "comments",
        "tutorial",
    ),
}
"""What a task of a kind adds, writes or updates."""

_MAKES = ("add", "write", "update", "improve", "extend", "complete", "translate")


def guess_kind(text: str) -> TaskKind:
    """The kind that the first words of a task's text name, else implement. Never one that ends without a change."""
    words = _WORDS.findall(text.strip().partition("\n")[0].lower())[:_FIRST]
    if not words:
        return TaskKind.IMPLEMENT
    for kind, verbs in _VERBS.items():
        if words[0] in verbs:
            return kind
    if words[0] in _MAKES:
        named = [
            (words.index(thing), kind)
            for kind, things in _THINGS.items()
            for thing in things
            if thing in words
        ]
        if named:
            return min(named)[1]
    return TaskKind.IMPLEMENT
