"""What the rehearsal's reviewer says: remarks on mistakes, objections to right changes. The texts are in remarks.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any

from navigator.exam.chance import fraction, pick
from navigator.model import patterns
from tests.scripted.reviewer.diff import Line, ReadFile, ReadHunk

SEVERITIES = ("blocker", "major", "minor", "nit")

_TEXTS: dict[str, Any] = tomllib.loads(
    (resources.files(__package__) / "remarks.toml").read_text(encoding="utf-8")
)

_GRAVE = frozenset({"timeout", "safe"})
"""Objections raised as blockers: something that used to work is refused."""

_ASIDE_RATE = 0.3
"""Share of changes that get an aside."""


@dataclass(frozen=True, slots=True)
class Remark:
    """What was noticed. `miss` is the share of cases in which a reader overlooks this sort of thing."""

    sort: str
    kind: str
    path: str
    hunk: str
    quote: str
    line: int
    severity: str
    criterion: str
    trigger: str
    message: str
    miss: float = 0.0

    def as_finding(self) -> dict[str, Any]:
        """The remark as the answer's schema names it."""
        names = ("kind", "hunk", "quote", "line", "severity", "criterion", "trigger", "message")
        return {name: getattr(self, name) for name in names}


def worst_first(remarks: list[Remark]) -> list[Remark]:
    """In the order of severity, otherwise as found."""
    return sorted(remarks, key=lambda remark: SEVERITIES.index(remark.severity))


def wrong(key: str, file: ReadFile, hunk: ReadHunk, line: Line, **values: str) -> Remark:
    """The remark `key` of remarks.toml on a line; `values` fill its text."""
    entry = _TEXTS["wrong"][key]
    return Remark(
        sort=key.partition(".")[0],
        kind="wrong",
        path=file.path,
        hunk=hunk.label,
        quote=line.text,
        line=line.number,
        severity=entry["severity"],
        criterion=entry.get("criterion", "correctness"),
        trigger=entry["trigger"].format(**values),
        message=entry["message"].format(**values),
        miss=entry["miss"],
    )


def objections(files: list[ReadFile], seed: int, task: str = "") -> Iterator[Remark]:
    """At most one objection that asks for a revision, and at most one minor aside; both depend on the content alone."""
    found = (remark for file in files for remark in _objections_to(file, seed))
    yield from (remark for remark in [next(found, None)] if remark is not None)
    if files:
        yield from _aside(files[0], task, seed)


def _objections_to(file: ReadFile, seed: int) -> Iterator[Remark]:
    for entry in _TEXTS["objections"]:
        added = ((hunk, line) for hunk in file.hunks for line in hunk.of("+"))
        place = next(
            ((hunk, line) for hunk, line in added if patterns.search(entry["pattern"], line.text)), None
        )
        if place is None:
            continue
        name, (hunk, line) = entry["name"], place
        if fraction("objection", seed, name, file.path, line.text) >= entry["rate"]:
            continue
        severity = "blocker" if name in _GRAVE else "major"
        yield Remark(
            f"objection-{name}", "wrong", file.path, hunk.label, line.text, line.number, severity, "correctness",
            entry["trigger"], entry["message"],
        )  # fmt: skip


def _aside(file: ReadFile, task: str, seed: int) -> Iterator[Remark]:
    """At most one remark that asks for nothing."""
    added = [(hunk, line) for hunk in file.hunks for line in hunk.of("+") if line.text.strip()]
    if not added or fraction("aside", seed, file.path, added[0][1].text) >= _ASIDE_RATE:
        return
    entry = pick(_TEXTS["asides"], seed, file.path, added[0][1].text, task)
    hunk, line = added[-1]
    quote, number = line.text, line.number
    removed = [(each, line) for each in file.hunks for line in each.of("-") if line.text.strip()]
    if entry["quotes"] == "gone" and removed:
        hunk, line = removed[0]
        quote, number = line.text, line.number
    elif entry["quotes"] == "task":
        quote, number = task.strip().splitlines()[0][:300], 0
    elif entry["quotes"] == "retold":
        quote, number = f"the line with {line.text.strip()[:40].split(' ')[0]} was changed", 0
    yield Remark(
        "aside", entry["kind"], file.path, hunk.label, quote, number, entry["severity"], entry["criterion"],
        entry["trigger"], entry["message"],
    )  # fmt: skip
