"""A small cache for values that never change, such as what an object id stands for."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Bounded(Generic[K, V]):
    """Keeps the entries used last, up to a total weight. Safe to use from several threads.

    Args:
        limit: the most weight that is kept.
        weigh: weight of one value; 1 each by default, so that `limit` counts entries.
    """

    def __init__(self, limit: int, weigh: Callable[[V], int] = lambda _: 1) -> None:
        self._limit = limit
        self._weigh = weigh
        self._held: OrderedDict[K, V] = OrderedDict()
        self._weight = 0
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """The value of `key`, or None."""
        with self._lock:
            value = self._held.get(key)
            if value is not None:
                self._held.move_to_end(key)
            return value

    def put(self, key: K, value: V) -> V:
        """Keep `value`, which is returned, and let go of what was used longest ago."""
        with self._lock:
            if key not in self._held:
                self._weight += self._weigh(value)
                self._held[key] = value
            self._held.move_to_end(key)
            while self._weight > self._limit and len(self._held) > 1:
                _, old = self._held.popitem(last=False)
                self._weight -= self._weigh(old)
        return value
