"""The ways of working that are compared, as chains of turns. Pure.

A turn is an actor's letter; a path such as "grg" says that the generator wrote, the reviewer read and the generator revised. Arms
that begin alike share those turns: the same draft is reviewed by its writer and by the reviewer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from navigator.model.states import Role


@dataclass(frozen=True, slots=True)
class Actor:
    """Who takes a turn: the role whose residency it needs, and another model of that server, "" for the role's own."""

    letter: str
    role: Role
    model: str = ""


@dataclass(frozen=True, slots=True)
class Arm:
    """One way of working: who writes, and who reads what was written; None where nobody does."""

    name: str
    writer: str
    reader: str | None = None


ARMS = {
    arm.name: arm
    for arm in (
        Arm("generator", "g"),
        Arm("self-review", "g", "g"),
        Arm("cascade", "g", "r"),
        Arm("reviewer", "r"),
        Arm("adapters", "a", "b"),
    )
}
USUAL = ("generator", "self-review", "cascade", "reviewer")


def next_turn(arm: Arm, revise: Mapping[str, bool], rounds: int) -> str | None:
    """The path of the arm's next turn; None when it is at its end.

    Args:
        revise: of the turns that were taken, whether they asked for a revision; writing turns ask for none.
        rounds: revisions at most.
    """
    path = arm.writer
    if path not in revise or arm.reader is None:
        return None if path in revise else path
    for _ in range(rounds):
        for letter in (arm.reader, arm.writer):
            path += letter
            if path not in revise:
                return path
            if letter == arm.reader and len(path) % 2 == 0 and not revise[path]:
                return None
    return None


def turns_taken(arm: Arm, revise: Mapping[str, bool], rounds: int) -> list[str]:
    """The paths of an arm that is at its end, in order."""
    longest = arm.writer + (arm.reader + arm.writer) * rounds if arm.reader else arm.writer
    return [longest[:end] for end in range(1, len(longest) + 1) if longest[:end] in revise]


def swaps_expected(arms: Sequence[Arm], actors: Mapping[str, Actor], rounds: int, loaded: Role | None) -> int:
    """The most swaps that all arms together can take, every turn that a model can take being taken while it is loaded."""
    chains = [arm.writer + (arm.reader + arm.writer) * rounds if arm.reader else arm.writer for arm in arms]
    left = [[actors[letter].role for letter in chain] for chain in chains]
    swaps, here = 0, loaded or Role.GENERATOR
    while any(left):
        for chain in left:
            while chain and chain[0] is here:
                chain.pop(0)
        if any(left):
            here = next(chain[0] for chain in left if chain)
            swaps += 1
    return swaps
