"""What kind of work a task's text asks for, where nobody says."""

from __future__ import annotations

from navigator.model.states import TaskKind

_MAKES = "add write update improve extend complete translate"
_VERBS = {
    TaskKind.FIX: "fix repair correct mend resolve prevent",
    TaskKind.REFACTOR: "refactor rename simplify extract inline deduplicate reorganise reorganize tidy",
    TaskKind.DOCS: "document describe explain",
    TaskKind.TEST: "test cover",
}
"""What a task of a kind begins with."""

_THINGS = {
    TaskKind.TEST: "test tests coverage",
    TaskKind.DOCS: "docs documentation docstring docstrings readme changelog comment comments tutorial",
}
"""What a task of a kind adds, writes or updates."""


def guess_kind(text: str) -> TaskKind:
    """The kind that the first words of a task's text name, else implement. Never one that ends without a change."""
    line = text.strip().partition("\n")[0].lower()
    first, *rest = [*(word.strip("`'\".,:;()") for word in line.split()), ""]
    made = rest if first in _MAKES.split() else []
    named = [kind for kind, verbs in _VERBS.items() if first in verbs.split()]
    named += [kind for word in made for kind, things in _THINGS.items() if word in things.split()]
    return (named or [TaskKind.IMPLEMENT])[0]
