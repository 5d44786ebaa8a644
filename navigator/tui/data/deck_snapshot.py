"""What the screens show of the store and of the conductor, as immutable pictures. No Textual here, and no I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING

from navigator.model.states import ENDED_TASK_STATES, Needs, TaskState
from navigator.sheet.marks import beside, overlapping, places_of
from navigator.sheet.waiting import risk_order

if TYPE_CHECKING:
    from navigator.model.models import Project, Swap
    from navigator.store.reads.cards import Card


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """A project and how many of its tasks are where."""

    project: Project
    queued: int = 0
    work: int = 0
    waiting: int = 0

    @property
    def name(self) -> str:
        """The project's name."""
        return self.project.name


@dataclass(frozen=True, slots=True)
class Finish:
    """When all that is queued is expected to wait for the developer: `seconds`, as counted at a monotonic second."""

    seconds: float
    counted_at: float

    def left(self, now: float) -> float:
        """Seconds to go; never negative."""
        return max(0.0, self.seconds - (now - self.counted_at))


@dataclass(frozen=True, slots=True)
class Figured:
    """What is counted rarely, because counting it reads everything: when all is done, where the bases are."""

    finish: Finish | None = None
    tips: Mapping[tuple[int, str], str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeckSnapshot:
    """The store at one moment.

    Attributes:
        seq: the newest event that is in it; 0 before the first look.
        loaded: False only for the empty snapshot before the first look.
        projects: by name.
        inbox: what waits for the developer, oldest first.
        work: what the loop is working on or has queued: active first, then in the order it was given.
        ended: what ended today, newest first.
        overlaps: proposal id -> ids of other open proposals that touch one of its paths.
        swaps: newest first.
        resident: the role last noted ("generator", "reviewer", "both"), or "".
        resident_at: when that was noted, UTC; "" if never.
        rehearsal: everything in it is simulated.
        problem: why the store could not be read when it was last looked at, or "".
    """

    seq: int = 0
    loaded: bool = False
    projects: tuple[ProjectRow, ...] = ()
    inbox: tuple[Card, ...] = ()
    work: tuple[Card, ...] = ()
    ended: tuple[Card, ...] = ()
    overlaps: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    swaps: tuple[Swap, ...] = ()
    resident: str = ""
    resident_at: str = ""
    rehearsal: bool = False
    problem: str = ""
    figured: Figured = Figured()

    @property
    def awaiting_review(self) -> int:
        """How many proposals wait for the reviewer."""
        return sum(card.standing.needs is Needs.REVIEWER for card in self.work)

    @property
    def ended_counts(self) -> dict[TaskState, int]:
        """How many ended today, by state."""
        return dict(Counter(card.state for card in self.ended))

    def known(self, card: Card) -> Card:
        """A row with what is known of it beside the others."""
        return beside(card, self.overlaps, self.figured.tips)

    def card(self, identifier: str) -> Card | None:
        """The card of a task or a proposal, if it is in the picture."""
        place = "proposal" if identifier.startswith("P") else "task"
        for cards in (self.inbox, self.work, self.ended):
            for card in cards:
                if getattr(card, place) == identifier:
                    return card
        return None


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """One request under way. `chars` so far; `rate` in characters a second, over the last few seconds."""

    role: str
    purpose: str
    chars: int
    rate: float
    since: float


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
    """What the conductor tells while it works. `conductor` is "absent", "starting" or "here"."""

    conductor: str = "absent"
    problem: str = ""
    tasks: Mapping[str, TaskProgress] = field(default_factory=dict)
    swap: SwapProgress | None = None
    status: Mapping[str, object] = field(default_factory=dict)

    @property
    def chars_per_second(self) -> float:
        """Of all streams together."""
        return sum(progress.rate for progress in self.tasks.values())

    @property
    def streams(self) -> int:
        """Requests under way."""
        return len(self.tasks)


def make_snapshot(
    projects: Iterable[Project],
    cards: Iterable[Card],
    *,
    seq: int,
    swaps: tuple[Swap, ...],
    resident: str,
    resident_at: str,
    figured: Figured,
    rehearsal: bool = False,
) -> DeckSnapshot:
    """One picture from what was read."""
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
    return DeckSnapshot(
        seq=seq,
        loaded=True,
        projects=tuple(
            ProjectRow(project, *(counts[project.id, where] for where in ("queued", "work", "waiting")))
            for project in sorted(projects, key=attrgetter("name"))
        ),
        inbox=tuple(inbox),
        work=tuple(work),
        ended=tuple(ended),
        overlaps=overlapping(places_of(inbox)),
        swaps=swaps,
        resident=resident,
        resident_at=resident_at,
        figured=figured,
        rehearsal=rehearsal,
    )


def _eagerness(card: Card) -> int:
    if card.standing.running:
        return 0
    return 2 if card.state is TaskState.QUEUED else 1


def short_model(name: str) -> str:
    """What tells models of one family apart: `Qwen/Qwen3.5-122B-A10B-GPTQ -> 122B`; else the last part of the name."""
    from navigator.model import patterns

    found = patterns.search(r"(?:^|[^0-9A-Za-z.])(\d+(?:\.\d+)?[BMbm])(?:[^A-Za-z]|$)", name)
    return found[1].upper() if found else name.rsplit("/", 1)[-1]
