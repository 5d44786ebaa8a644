"""What a writer looked at before it wrote, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from navigator.model.states import LookKind, LookOutcome

if TYPE_CHECKING:
    from navigator.model.models import Proposal
    from navigator.model.records import Look
    from navigator.store.reads.reader import Reader

_NOT_SHOWN = frozenset({LookOutcome.NOTHING, LookOutcome.REPEATED, LookOutcome.REFUSED, LookOutcome.NO_ROOM})


def looks_of(reader: Reader, proposal: Proposal) -> list[Look]:
    """The looks that a proposal was written after: those of its attempt up to its round. A part was written with its whole."""
    whole = reader.proposal(proposal.parent) if proposal.parent else proposal
    looks = reader.looks(whole.task_id, whole.attempt)
    return [look for look in looks if look.round <= whole.round and look.role is whole.written_by]


def looks_words(looks: Sequence[Look]) -> str:
    """`read 4 files, searched 2 times in 3 looks`; "" where there was no look."""
    if not looks:
        return ""
    shown = [look for look in looks if look.outcome not in _NOT_SHOWN]
    files = {path for look in shown for path in look.paths}
    searches = sum(look.kind in (LookKind.SEARCH, LookKind.USES) for look in looks)
    done = [f"read {_counted(len(files), 'file')}"] if files else []
    done += [f"searched {_counted(searches, 'time')}"] if searches else []
    turns = _counted(len({(look.attempt, look.round, look.turn) for look in looks}), "look")
    return f"{', '.join(done)} in {turns}" if done else f"{turns}, shown nothing"


def look_lines(looks: Iterable[Look]) -> list[str]:
    """Each turn, then what was asked in it and what became of that, a line each."""
    lines = []
    for (attempt, round, turn), asked in groupby(
        looks, key=lambda look: (look.attempt, look.round, look.turn)
    ):
        mine = list(asked)
        tokens = sum(look.tokens for look in mine)
        lines.append(f"attempt {attempt} round {round} look {turn}: {tokens:,} tokens")
        lines += [f"  {look.target}  {_became(look)}".rstrip() for look in mine]
    return lines


def looks_document(looks: Iterable[Look]) -> list[dict[str, Any]]:
    """The same for scripts."""
    return [look.model_dump(mode="json", exclude={"task_id"}) for look in looks]


def _became(look: Look) -> str:
    return "" if look.outcome is LookOutcome.SHOWN else f"({look.outcome.value.replace('_', ' ')})"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
