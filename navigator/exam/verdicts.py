"""The backtest's result beyond its three figures: by size, by chance, case by case, and as JSON."""

from __future__ import annotations

from typing import Any

from navigator.figures.backtest import Backtest, Case, caught_of
from navigator.figures.exam import size_words
from navigator.figures.intervals import Share
from navigator.sheet.exam_worth import backtest_words

_SIZES = (0, 10, 50, 150)

FAILING = "failing"
"""The proof of a fix without which a test of today fails."""


def by_size(found: Backtest) -> list[tuple[str, Share]]:
    """The share caught by changed lines of the commit; sizes that none has are left out."""
    sized: dict[int, list[Case]] = {}
    for case in found.bugs:
        sized.setdefault(max(one for one in _SIZES if one <= case.item.changed_lines), []).append(case)
    return [(size_words(least), caught_of(sized[least])) for least in sorted(sized)]


def by_chance(found: Backtest) -> float:
    """How many bugs would be caught if each commit's findings were at random lines of its change."""
    return sum(
        1
        - (1 - min(1.0, len(case.item.evidence["places"]) / max(1, case.item.changed_lines)))
        ** case.asked_for
        for case in found.bugs
    )


def proved(case: Case) -> bool:
    """Whether a test of today fails without the fix."""
    return bool(case.item.evidence.get("proof") == FAILING)


def how_sure(found: Backtest) -> str:
    """How sure it is that these were the bugs, and what is not seen, in words."""
    alone = sum(case.item.evidence["share"] == 1 for case in found.bugs)
    unread = f"{found.unread} answers could not be read. " if found.unread else ""
    return (
        f"{unread}As many findings at random lines would catch {by_chance(found):.1f}. Without {sum(map(proved, found.bugs))} of "
        f"these {len(found.bugs)} fixes a test of today fails; {alone} lead to one commit alone. About one in four commits is "
        "not where the bug came from, so more may have been caught; bugs whose fixes only add lines are not seen."
    )


def worth_reading(found: Backtest, most: int = 3) -> tuple[list[Case], list[Case]]:
    """The best cases, caught in the largest changes, and the worst: missed, the surest bugs and the smallest changes first."""
    best = sorted(
        (case for case in found.bugs if case.answer.named), key=lambda case: -case.item.changed_lines
    )
    worst = sorted(
        (case for case in found.bugs if not case.answer.named),
        key=lambda case: (not proved(case), -case.item.evidence["share"], case.item.changed_lines),
    )
    return best[:most], worst[:most]


def document(found: Backtest, reviewer: str) -> dict[str, Any]:
    """The result as JSON."""
    each = found.alarms_each
    return {
        "reviewer": reviewer,
        "sentence": backtest_words(found),
        "caught": _share_json(found.caught),
        "flagged": _share_json(found.flagged),
        "false_alarms_each": {"value": each.value, "low": each.low, "high": each.high} if each else None,
        "by_chance": round(by_chance(found), 2),
        "unreviewed": found.unread,
        "by_size": [{"changed_lines": name, **_share_json(one)} for name, one in by_size(found)],
        "bugs": [_case(case) for case in found.bugs],
    }


def _share_json(found: Share) -> dict[str, Any]:
    return {"value": found.rate, "low": found.low, "high": found.high, "n": found.n}


def _case(case: Case) -> dict[str, Any]:
    """One bug: its commit, its fix, and whether it was caught."""
    known = ("fix", "fix_subject", "days", "share", "lines", "places", "proof")
    return {
        "commit": case.item.origin.rpartition(":")[2],
        "title": case.item.title,
        "changed_lines": case.item.changed_lines,
        "caught": case.answer.named,
        "verdict": case.answer.verdict,
        "findings": case.asked_for,
    } | {name: case.item.evidence[name] for name in known}
