"""What followed from changes of prompts and models: the marks of a plot, and the monitor's sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from navigator.cascade.views.statistics.page import percent
from navigator.figures.changes import PARTS, SHOWN_FROM, Change, Watched, changes, first_uses, watch
from navigator.figures.intervals import share
from navigator.model.records import VersionCount
from navigator.model.text import safe_line
from navigator.store.reads.reader import Reader

_MODELS = ("writer_model", "model")
_LARGE = 1000


def watched(reader: Reader, counts: Sequence[VersionCount]) -> tuple[Watched, ...]:
    """The newest change of each writer, with what the verdicts since then say."""
    found = []
    for change in changes(counts):
        before = reader.verdicts_of(change.former, until=change.since)
        since = reader.verdicts_of(change.current, since=change.since)
        found.append(Watched(change, sum(before), len(before), watch(sum(before), len(before), since)))
    return tuple(found)


def marks(counts: Iterable[VersionCount]) -> tuple[tuple[str, str], ...]:
    """The first use of each further prompt version, model and way of writing: its UTC time and its name."""
    return tuple((use.at, _named(use.field, use.value)) for use in first_uses(counts))


def facts(found: Sequence[Watched]) -> Iterable[tuple[str, str]]:
    """Each change in a named sentence; the writer is named where there are several."""
    for one in found:
        writer = f"{safe_line(one.change.current.writer_model)} " if len(found) > 1 else ""
        yield "Since", f"{writer}{sentence(one)}"


def sentence(found: Watched) -> str:
    """`generate@7f3c (Nov 3): fell from 44% (n 61) to 31% (n 85), evidence 31:1`."""
    return f"{change_words(found.change)}: {rate_words(found)}"


def change_words(change: Change) -> str:
    """`generate@7f3c (Nov 3)`."""
    return f"{_what(change)} ({_day(change.since)})"


def rate_words(found: Watched) -> str:
    """`fell from 44% (n 61) to 31% (n 85), evidence 31:1`."""
    now = found.watch
    before = share(found.former_revise, found.former_n).rate
    since = share(now.revise, now.n).rate
    if now.shown_at is None:
        return (
            f"{percent(before)} (n {found.former_n:,}) before, {percent(since)} (n {now.n:,}) since; no change shown,"
            f" evidence {odds(now.evidence)} of the {SHOWN_FROM:.0f}:1 it takes"
        )
    moved = "fell" if (since or 0.0) < (before or 0.0) else "rose"
    told = f"{moved} from {percent(before)} (n {found.former_n:,}) to {percent(since)} (n {now.n:,})"
    if now.evidence >= SHOWN_FROM:
        return f"{told}, evidence {odds(now.evidence)}"
    return f"{told}, evidence {odds(now.strongest)} at its strongest, now {odds(now.evidence)}"


def document(found: Watched) -> dict[str, Any]:
    """One change as plain data."""
    change, now = found.change, found.watch
    return {
        "since": change.since,
        "changed": {name: getattr(change.current, name) for name in change.differs},
        "from": {name: getattr(change.former, name) for name in change.differs},
        "back": change.back,
        "versions": {name: getattr(change.current, name) for name in PARTS},
        "before": asdict(share(found.former_revise, found.former_n)),
        "after": asdict(share(now.revise, now.n)),
        "evidence": now.evidence,
        "strongest": now.strongest,
        "shown": now.shown_at is not None,
        "shown_at": now.shown_at,
    }


def _what(change: Change) -> str:
    names = " and ".join(_named(name, getattr(change.current, name)) for name in change.differs)
    return f"the return to {names}" if change.back else names


def _named(field: str, value: str) -> str:
    """Prompt versions bear the name of what they are for; a model's name does not say what it does."""
    if field in _MODELS:
        value = f"{PARTS[field]} {value}"
    elif field == "block_on":
        value = f"block_on = {value}"
    return safe_line(value) or "–"


def odds(evidence: float) -> str:
    """Evidence in words."""
    if evidence >= _LARGE:
        return f"over {_LARGE:,}:1"
    return f"{evidence:.0f}:1" if evidence >= 10 else f"{evidence:.1f}:1"


def _day(at: str) -> str:
    day = datetime.fromisoformat(at)
    return f"{day.strftime('%b')} {day.day}"
