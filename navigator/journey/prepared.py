"""What was made before it is needed, until it is."""

from __future__ import annotations

from collections.abc import Hashable


class Prepared:
    """What was made ahead, by everything that it was made of; each is taken once."""

    def __init__(self) -> None:
        self._held: dict[Hashable, object] = {}

    def keep(self, key: Hashable, made: object) -> None:
        """Keep something until it is taken, or the next swap begins."""
        self._held[key] = made

    def take(self, key: Hashable) -> object | None:
        """What was made of exactly this, if anything."""
        return self._held.pop(key, None)

    def clear(self) -> None:
        """Another swap begins: what was not taken by now is old."""
        self._held.clear()
