"""Which precedents of a project a review is shown, and which of its findings may follow one. Pure, and the same each time.

A precedent is an untrusted remark of the past. All that it can do is to take the weight off a finding that names it and is of
its kind; whatever else it asks for, the verdict is derived from the other findings as if it were not there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from navigator.journey.prompts.blocks import data_block
from navigator.model import patterns
from navigator.model.diff import FileDiff
from navigator.model.models import Finding
from navigator.store.reads.exam import Precedent

TOKENS = 600
"""That precedents may take in a prompt, as far as they are no more than a twentieth of it."""

SHARE = 20
MOST = 8

_NEAR, _ALIKE, _ALIKE_THERE, _LEAST = 0.3, 0.3, 0.15, 2
"""Shares of a precedent's words: that a change must have to be near, and a finding to be of its kind (in the same file less);
and so many words at least."""

_WORD = patterns.compile(r"[^\W\d]\w{3,}")
_COMMON = frozenset(
    _WORD.findall(
        "also been cannot could does from have into must only return same self should such than that then there they this what"
        " when where which will with would"
    )
)


@dataclass(frozen=True)
class ChangeWords:
    """What nearness is told from: the paths of a change, and the words of its lines and of the paths."""

    paths: frozenset[str]
    words: frozenset[str]

    @staticmethod
    def of(files: Iterable[FileDiff]) -> ChangeWords:
        """Of a diff: added and removed lines alone."""
        held = list(files)
        paths = frozenset(path for file in held for path in (file.old_path, file.new_path) if path)
        lines = (line.text for file in held for hunk in file.hunks for line in hunk.lines if line.kind != " ")
        return ChangeWords(paths, words_of("\n".join((*paths, *lines))))


def words_of(text: str) -> frozenset[str]:
    """The telling words of a text: four letters or more, none of the commonest."""
    return frozenset(word.lower() for word in _WORD.findall(text)) - _COMMON


def _own(precedent: Precedent) -> frozenset[str]:
    return words_of(f"{precedent.quote}\n{precedent.message}")


def near(precedents: Iterable[Precedent], change: ChangeWords) -> list[Precedent]:
    """Those that are about a changed file or share enough words with the change: the nearest first, then the newest."""
    found = []
    for one in precedents:
        own = _own(one)
        share = len(own & change.words) / max(len(own), _LEAST)
        there = one.path in change.paths
        if there or share >= _NEAR:
            found.append(((there + share), one.id, one))
    return [one for _, _, one in sorted(found, key=lambda held: held[:2], reverse=True)][:MOST]


def fitting(held: Sequence[Precedent], room: int, count: Callable[[str], int]) -> tuple[Precedent, ...]:
    """As many of the nearest as fit into so many tokens."""
    kept: list[Precedent] = []
    for one in held:
        if count(_precedent_json(one)) > room:
            break
        room -= count(_precedent_json(one))
        kept.append(one)
    return tuple(kept)


def precedents_block(shown: Sequence[Precedent], key: str) -> str:
    """The precedents as a prompt shows them, one a line, under their numbers."""
    return data_block("precedents", key, "\n".join(map(_precedent_json, shown)))


def _precedent_json(one: Precedent) -> str:
    told = {name: getattr(one, name) for name in ("path", "quote", "message", "note")}
    return json.dumps({"precedent": one.id, "criterion": one.criterion.value, **told}, ensure_ascii=False)


def following(finding: Finding, named: int, shown: Sequence[Precedent]) -> Finding:
    """A finding with the precedent that it names, if it was shown and is about findings of this kind; else as it is."""
    one = next((one for one in shown if one.id == named), None)
    if one is None or one.criterion is not finding.criterion:
        return finding
    own = _own(one)
    alike = len(own & words_of(f"{finding.quote}\n{finding.trigger}\n{finding.message}"))
    needed = _ALIKE_THERE if one.path and one.path == finding.path else _ALIKE
    enough = alike >= max(_LEAST, needed * len(own))
    return finding.model_copy(update={"precedent": named}) if enough else finding
