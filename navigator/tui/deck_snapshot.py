"""What the screens show of the store and of the conductor, as immutable pictures. No Textual here, and no I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from navigator.model.states import ENDED_TASK_STATES, Needs, Role, TaskState
from navigator.model.text import plural
from navigator.sheet.marks import Tips, beside, overlapping, places_of
from navigator.sheet.waiting import by_effort, risk_order

if TYPE_CHECKING:
    from navigator.model.models import Swap
    from navigator.store.reads.cards import Card


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """A project and how many of its tasks are where."""

    name: str
    path: str
    queued: int = 0
    work: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class DeckSnapshot:
    """The store at one moment.

    Attributes:
        seq: the newest event that is in it; 0 before the first look.
        loaded: False only for the empty snapshot before the first look.
        projects: by name.
        inbox: what waits for the developer, oldest first; `quickest` the same, what is decided soonest first.
        seconds: what reading the inbox is expected to take.
        work: what the loop is working on or has queued: active first, then in the order it was given.
        ended: what ended today, newest first.
        awaiting_review: how many proposals wait for the reviewer.
        overlaps: proposal id -> ids of other open proposals that touch one of its paths.
        swaps: newest first.
        rehearsal: everything in it is simulated.
        tips: where the bases are now, looked at rarely.
        problem: why the store could not be read when it was last looked at, or "".
    """

    seq: int = 0
    loaded: bool = False
    projects: tuple[ProjectRow, ...] = ()
    inbox: tuple[Card, ...] = ()
    quickest: Sequence[Card] = ()
    seconds: float = 0.0
    work: tuple[Card, ...] = ()
    ended: tuple[Card, ...] = ()
    awaiting_review: int = 0
    overlaps: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    swaps: tuple[Swap, ...] = ()
    rehearsal: bool = False
    problem: str = ""
    tips: Tips = field(default_factory=dict)

    def known(self, card: Card) -> Card:
        """A row with what is known of it beside the others."""
        return beside(card, self.overlaps, self.tips)

    def card(self, identifier: str) -> Card | None:
        """The card of a task or a proposal, if it is in the picture."""
        place = "proposal" if identifier.startswith("P") else "task"
        for cards in (self.inbox, self.work, self.ended):
            for card in cards:
                if getattr(card, place) == identifier:
                    return card
        return None


@dataclass(frozen=True, slots=True)
class SwapProgress:
    """A swap under way. Times are monotonic seconds; `done` holds the phases that ended, with their seconds."""

    origin: str
    to: str
    begun: float
    phase: str = ""
    phase_begun: float = 0.0
    done: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class LiveStatus:
    """What the conductor tells while it works. `conductor` is "absent", "starting" or "here".

    `streams` are the requests under way, `chars_per_second` those of all of them together.
    """

    conductor: str = "absent"
    problem: str = ""
    streams: int = 0
    chars_per_second: float = 0.0
    swap: SwapProgress | None = None
    status: Mapping[str, Any] = field(default_factory=dict)

    def section(self, name: str) -> Mapping[str, Any]:
        """A nested mapping of the conductor's status; empty if absent."""
        return self.status.get(name) or {}


def make_snapshot(
    projects: Iterable[tuple[int, str, str]], cards: Iterable[Card], rehearsal: bool
) -> DeckSnapshot:
    """One picture from the rows that were read; `projects` are as `GlanceReads.places` gives them."""
    counts: Counter[tuple[int, str]] = Counter()
    inbox: list[Card] = []
    work: list[Card] = []
    ended: list[Card] = []
    for card in cards:
        if card.for_you:
            inbox.append(card)
            counts[card.project_id, "waiting"] += 1
        elif card.state in ENDED_TASK_STATES:
            ended.append(card)
        else:
            work.append(card)
            counts[card.project_id, "queued" if card.state is TaskState.QUEUED else "work"] += 1
    inbox.sort(key=risk_order)
    work.sort(key=lambda card: (_eagerness(card), -card.priority, card.number))
    ended.sort(key=attrgetter("since", "number"), reverse=True)
    quickest, seconds = by_effort(inbox)
    return DeckSnapshot(
        loaded=True,
        projects=tuple(
            ProjectRow(name, path, *(counts[number, where] for where in ("queued", "work", "waiting")))
            for number, name, path in projects
        ),
        inbox=tuple(inbox),
        quickest=quickest,
        seconds=seconds,
        work=tuple(work),
        ended=tuple(ended),
        awaiting_review=sum(card.standing.needs is Needs.REVIEWER for card in work),
        overlaps=overlapping(places_of(inbox)),
        rehearsal=rehearsal,
    )


def _eagerness(card: Card) -> int:
    if card.standing.running:
        return 0
    return 2 if card.state is TaskState.QUEUED else 1


# Figures about a swap under way, for the strip and the fleet screen.


@dataclass(frozen=True, slots=True)
class SwapBar:
    """How far a swap is. `expected` and `left` are seconds; `source` is "measured" or "published"."""

    seconds: float
    expected: float
    share: float
    source: str

    @property
    def left(self) -> float:
        """Seconds to go, never negative."""
        return max(0.0, self.expected - self.seconds)


def swap_bar(progress: SwapProgress, swaps: Sequence[Swap], now: float) -> SwapBar:
    """How far a swap is, by what those before took; the bar stops short of the end until the swap has ended."""
    from navigator.figures.swaps import usual_swap
    from navigator.schedule.batch_time import PUBLISHED

    expected = PUBLISHED.swap_back if progress.to == Role.GENERATOR else PUBLISHED.swap_in
    source = "published"
    measured = usual_swap(swaps, progress.origin, progress.to)
    if measured is not None and measured.seconds is not None:
        expected, source = measured.seconds.median, "measured"
    seconds = now - progress.begun
    return SwapBar(seconds, expected, min(0.95, seconds / expected) if expected else 0.95, source)


def meanwhile(snapshot: DeckSnapshot, live: LiveStatus) -> str:
    """What the CPU does while the GPU is swapped: `6 checks, 8 prompts`; "" for nothing."""
    ahead = live.section("ahead")
    checks = sum(card.state is TaskState.CHECKING for card in snapshot.work)
    counts = {"check": checks, "prompt": ahead.get("prompts", 0), "baseline": ahead.get("baselines", 0)}
    return ", ".join(plural(count, name) for name, count in counts.items() if count)
