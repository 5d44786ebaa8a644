"""What `/` on the deck understands: words, `project:name`, `is:word`. Every part must match."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from navigator.cascade.views.effort import by_effort
from navigator.cascade.views.variants import leaders, spread
from navigator.model.states import TaskState, Verdict
from navigator.sheet.marks import Facts, Kind, marks
from navigator.tui.data.deck_snapshot import ProjectRow

if TYPE_CHECKING:
    from navigator.store.reads.cards import Card

_VERDICT_ORDER = {Verdict.APPROVE: 0, Verdict.REVISE: 1, Verdict.UNREVIEWED: 2, None: 3}

IS: dict[str, Callable[[Card, frozenset[Kind]], bool]] = {
    "approve": lambda card, _: card.verdict is Verdict.APPROVE,
    "revise": lambda card, _: card.verdict is Verdict.REVISE,
    "unreviewed": lambda card, _: card.verdict is Verdict.UNREVIEWED,
    "report": lambda card, _: card.report and not card.suggestions,
    "suggestions": lambda card, _: card.suggestions > 0,
    "policy": lambda _, kinds: Kind.CONFIRM in kinds,
    "failed": lambda card, kinds: Kind.FAILED in kinds or card.state is TaskState.FAILED,
    "overlap": lambda _, kinds: Kind.OVERLAP in kinds,
    "overruled": lambda _, kinds: bool(kinds & {Kind.OVERRULED, Kind.FINAL}),
    "moved": lambda _, kinds: Kind.MOVED in kinds,
    "unseen": lambda _, kinds: Kind.UNSEEN in kinds,
    "advice": lambda _, kinds: Kind.ADVICE in kinds,
    "existing": lambda card, _: card.existing,
    "variant": lambda card, _: card.variants > 1,
    "self": lambda _, kinds: Kind.SELF in kinds,
    "refused": lambda card, _: card.landing == "refused",
    "stale": lambda card, _: card.state is TaskState.STALE,
}
"""The words after `is:`."""


@dataclass(frozen=True, slots=True)
class Query:
    """A filter as it was typed, taken apart."""

    words: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.words or self.projects or self.properties)

    def admits(self, card: Card, facts: Facts | None) -> bool:
        """Whether a task is shown; `facts` are its proposal's."""
        name = card.project.casefold()
        if not all(project in name for project in self.projects):
            return False
        kinds = frozenset(mark.kind for mark in marks(facts)) if facts and self.properties else frozenset()
        if not all(any(test(card, kinds) for test in _tests(word)) for word in self.properties):
            return False
        if not self.words:
            return True
        text = f"{card.proposal} {card.task} {card.project} {card.title} {card.kind}".casefold()
        return all(word in text for word in self.words)

    def admits_project(self, row: ProjectRow) -> bool:
        """Whether a project is shown: by its name alone."""
        name = row.name.casefold()
        return all(project in name for project in self.projects)


def parse_query(text: str) -> Query:
    """`"retry project:aurora is:approve"` taken apart; case does not matter."""
    words: list[str] = []
    projects: list[str] = []
    properties: list[str] = []
    for part in text.casefold().split():
        if part.startswith("project:"):
            projects.append(part.removeprefix("project:"))
        elif part.startswith("is:"):
            properties.append(part.removeprefix("is:"))
        else:
            words.append(part)
    return Query(tuple(words), tuple(filter(None, projects)), tuple(filter(None, properties)))


def _tests(word: str) -> list[Callable[[Card, frozenset[Kind]], bool]]:
    """The properties that begin with `word`, so that a filter narrows while it is typed."""
    return [test for name, test in IS.items() if name.startswith(word)]


CARD_ORDERS: dict[str, Callable[[Sequence[Card]], list[Card]]] = {
    "effort": by_effort,
    "oldest": list,
    "newest": lambda cards: list(reversed(cards)),
    "verdict": lambda cards: sorted(cards, key=lambda card: _VERDICT_ORDER[card.verdict]),
    "project": lambda cards: sorted(cards, key=attrgetter("project")),
    "size": lambda cards: sorted(cards, key=lambda card: card.added + card.removed),
}
"""Orders of the inbox, the usual one first; a snapshot holds it oldest first."""

PROJECT_ORDERS: dict[str, Callable[[Sequence[ProjectRow]], list[ProjectRow]]] = {
    "name": list,
    "waiting": lambda rows: sorted(rows, key=lambda row: (-row.waiting, -row.work, -row.queued)),
    "work": lambda rows: sorted(rows, key=lambda row: (-(row.work + row.queued), -row.waiting)),
    "revise rate": lambda rows: sorted(
        rows, key=lambda row: -(row.rate.rate or 0.0) if row.rate and row.rate.rate is not None else 1.0
    ),
}
"""Orders of the projects; a snapshot holds them by name."""


def in_order(cards: Sequence[Card], order: str, groups: dict[str, list[Card]]) -> list[Card]:
    """The inbox in an order; variants of one task stay together, the best first, where the best one belongs."""
    shown = {card.task for card in cards}
    held = {name: [card for card in group if card.task in shown] for name, group in groups.items()}
    held = {name: group for name, group in held.items() if group}
    return spread(CARD_ORDERS.get(order, list)(leaders(cards, held)), held)


def following(orders: Mapping[str, object], name: str) -> str:
    """The order after `name`, round and round."""
    names = list(orders)
    return names[(names.index(name) + 1) % len(names)] if name in names else names[0]
