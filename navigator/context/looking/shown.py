"""Which lines of which files a model has in front of it, so that nothing is shown twice."""

from __future__ import annotations

from collections.abc import Iterator

Lines = tuple[int, int]
"""First and last line, 1-based and inclusive."""


class Shown:
    """Grows with everything that is shown."""

    def __init__(self) -> None:
        self._lines: dict[str, list[Lines]] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._lines

    def items(self) -> Iterator[tuple[str, list[Lines]]]:
        """Each path with its ranges, in order and apart from one another."""
        yield from self._lines.items()

    def add(self, path: str, first: int, last: int) -> None:
        """These lines of a file were shown."""
        joined: list[Lines] = []
        for a, b in sorted([*self._lines.get(path, ()), (first, last)]):
            if joined and a <= joined[-1][1] + 1:
                joined[-1] = (joined[-1][0], max(b, joined[-1][1]))
            else:
                joined.append((a, b))
        self._lines[path] = joined

    def has(self, path: str, first: int, last: int) -> bool:
        """Whether all of these lines were shown."""
        return not self.missing(path, first, last)

    def missing(self, path: str, first: int, last: int) -> list[Lines]:
        """The parts of these lines that were not shown."""
        found: list[Lines] = []
        at = first
        for a, b in self._lines.get(path, ()):
            if b < at:
                continue
            if a > last:
                break
            if a > at:
                found.append((at, a - 1))
            at = b + 1
        if at <= last:
            found.append((at, last))
        return found
