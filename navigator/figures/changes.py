"""Which versions followed which: when prompts and models changed, and what is to be compared with what.

Only times and names decide, never verdicts: the choice of what is compared cannot favour a result.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from navigator.figures.monitor import Watch
from navigator.model.records import VersionCount

PARTS = {
    "writer_model": "writer",
    "writer_prompt": "writer",
    "way": "writer",
    "model": "reviewer",
    "prompt_version": "reviewer",
    "block_on": "reviewer",
}
"""The fields of `Versions`, and whose each is."""


@dataclass(frozen=True, slots=True)
class FirstUse:
    """The first verdict under another prompt or model than the first of its sort: `at` is a UTC time."""

    at: str
    field: str
    value: str


def first_uses(counts: Iterable[VersionCount]) -> tuple[FirstUse, ...]:
    """When each prompt version, model and way of writing was first used, oldest first, without the oldest of each field."""
    seen: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for row in counts:
        for name in PARTS:
            value = getattr(row, name)
            seen[name][value] = min(row.first, seen[name].get(value, row.first))
    return tuple(
        sorted(
            (
                FirstUse(at, name, value)
                for name, values in seen.items()
                for value, at in sorted(values.items(), key=lambda item: item[1])[1:]
            ),
            key=lambda use: use.at,
        )
    )


@dataclass(frozen=True, slots=True)
class Change:
    """The newest change of a prompt or a model in one line of work: the verdicts of one writer that work in one way.

    Attributes:
        current: the versions that are used now.
        former: those before.
        back: they had been used before, and are used again.
        since: UTC time of the first verdict that counts; of a return, of the last one of `former`, after which they count.
    """

    current: VersionCount
    former: VersionCount
    back: bool
    since: str

    @property
    def differs(self) -> tuple[str, ...]:
        """The fields of `Versions` that changed."""
        return tuple(name for name in PARTS if getattr(self.current, name) != getattr(self.former, name))


@dataclass(frozen=True, slots=True)
class Watched:
    """A change, and what the verdicts since say: `former_revise` of `former_n` were REVISE before it."""

    change: Change
    former_revise: int
    former_n: int
    watch: Watch


def changes(counts: Sequence[VersionCount]) -> tuple[Change, ...]:
    """The newest change of each line of work that is in use and had one.

    Routing gives several writers work at the same time, so each of them is a line of its own. A writer with a single
    combination of versions is compared with the writer it replaced: the last one that had stopped before it began.
    """
    lines: defaultdict[tuple[str, str], list[VersionCount]] = defaultdict(list)
    for row in counts:
        lines[row.writer_model, row.way].append(row)
    ends = {key: max(row.last for row in rows) for key, rows in lines.items()}
    starts = {key: min(row.first for row in rows) for key, rows in lines.items()}
    replaced: set[tuple[str, str]] = set()
    found = []
    for key in sorted(lines, key=lambda key: starts[key]):
        before = [other for other in lines if other not in replaced and ends[other] < starts[key]]
        if before:
            replaced.add(max(before, key=lambda other: ends[other]))
            earlier = lines[max(before, key=lambda other: ends[other])]
        else:
            earlier = []
        if change := _newest(lines[key], earlier):
            found.append((key, change))
    return tuple(change for key, change in found if key not in replaced)


def _newest(line: Sequence[VersionCount], earlier: Sequence[VersionCount]) -> Change | None:
    newest = max(line, key=lambda row: row.first)
    # Proposals of an older prompt may be reviewed late: only one that was also written later is a return.
    again = max(line, key=lambda row: (row.last, row.written))
    if again is not newest and again.written > newest.written:
        return Change(again, newest, back=True, since=newest.last)
    before = [row for row in line if row is not newest] or list(earlier)
    if not before:
        return None
    return Change(
        newest, max(before, key=lambda row: (row.written, row.last)), back=False, since=newest.first
    )
