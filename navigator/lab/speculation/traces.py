"""A trace of what drafts from past text would get accepted, from a text itself. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from navigator.domain import patterns

_WORDS = patterns.compile(r"\w+|\s+|[^\w\s]")


def words_of(text: str) -> list[str]:
    """Words, blanks and signs: coarser than a model's tokens."""
    return _WORDS.findall(text)


def ngram_trace(tokens: Sequence[str], longest: int, match: int = 3) -> tuple[int, ...]:
    """For each position, how many tokens that followed the same `match` tokens last time would be accepted, at most `longest`.

    This is prompt lookup: the draft is what came after the newest earlier place with the same last tokens. As if the model wrote
    exactly this text.
    """
    seen: dict[tuple[str, ...], int] = {}
    accepted = []
    for position in range(len(tokens)):
        key = tuple(tokens[max(0, position - match + 1) : position + 1])
        earlier, kept = seen.get(key), 0
        if earlier is not None:
            while (
                kept < longest
                and position + 1 + kept < len(tokens)
                and tokens[earlier + 1 + kept] == tokens[position + 1 + kept]
            ):
                kept += 1
        accepted.append(kept)
        seen[key] = position
    return tuple(accepted)
