"""Seeded choices: each is a hash of what it is given, so that the same input gives the same choice on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def fraction(*parts: object) -> float:
    """A number in [0, 1) that depends on `parts` alone."""
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(str(part).encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return int.from_bytes(digest.digest(), "big") / 2**64


def pick(options: Sequence[T], *parts: object) -> T:
    """One of `options`, which must not be empty."""
    return options[int(fraction("pick", *parts) * len(options))]


def shuffled(options: Sequence[T], *parts: object) -> list[T]:
    """`options` in an order that depends on `parts` alone."""
    order = sorted(range(len(options)), key=lambda at: fraction("order", at, *parts))
    return [options[at] for at in order]
