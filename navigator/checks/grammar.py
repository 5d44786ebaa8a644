"""Whether a change breaks the syntax of a file, by the grammars of the map, for languages that Python's library cannot parse.

Grammars read what strangers and models wrote, so they run in the map's worker process, under its limits of memory and of
processor time. They are imperfect: only what a change makes worse counts, and where nothing is known nothing is said.
"""

from __future__ import annotations

from collections import Counter
from types import TracebackType
from typing import Any

from navigator.checks.syntax import syntax_check
from navigator.context.repomap.extract import language_of
from navigator.context.repomap.faults import faults
from navigator.context.repomap.files import ask
from navigator.process.bounded.run import Worker, WorkerLost

_BY_LIBRARY = frozenset({"python"})
"""Languages that `checks.syntax_check` parses with the real parser."""

_WHOLE = frozenset({"go", "java", "javascript", "php", "ruby"})
"""Languages whose grammars know the whole of them: a file that parsed and now does not is broken."""

_MOST_LOST = 2
"""Processes that one answer may wear out: each may take seconds. After that its files pass."""

_FAR = 3
"""Lines from which on a place is told together with the lines that changed."""


class GrammarGate:
    """Judges changes of files; use it in `with`. No process is started before a file needs one.

    Args:
        worker: the process that parses; one of its own where not given.
    """

    def __init__(self, worker: Worker | None = None) -> None:
        self._worker = worker or Worker()
        self._lost = 0

    def __enter__(self) -> GrammarGate:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._worker.close()

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
        if self._lost >= _MOST_LOST:
            return None
        try:
            found: dict[str, Any] = ask(self._worker, faults, language, data)
        except WorkerLost:
            self._lost += 1
            return None
        return found if found.get("judged") else None


def _fault_words(was: dict[str, Any], now: dict[str, Any], changed: tuple[int, int]) -> str:
    """The new fault, or the bracket without its other half, that is nearest to what changed; the other one beside it.

    Grammars often lose their way only far behind what is wrong.
    """
    known = Counter((what, text) for _, _, what, text in was["faults"])
    fresh = []
    for line, column, what, text in now["faults"]:
        known[what, text] -= 1
        if known[what, text] < 0:
            fresh.append((line, column, what))
    bracket = tuple(now["bracket"]) if now["bracket"] and not was["bracket"] else None
    places = ([min(fresh, key=lambda place: _distance(place[0], changed))] if fresh else []) + (
        [bracket] if bracket else []
    )
    places.sort(key=lambda place: _distance(place[0], changed))
    line, column, what = places[0] if places else now["faults"][0][:3]
    said = f"{line}:{column}: {what}"
    for other in places[1:]:
        said += f"; {other[2]} ({other[0]}:{other[1]})"
    if _distance(line, changed) > _FAR:
        said += f"; the error may be in the changed lines, {changed[0]} to {changed[1]}"
    return said


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
