"""The account of a night: what was done, what waits, what went wrong and what to do, what it cost.

`account` assembles it once; `table` words it, for the terminal, the page, the screen and `[on]`.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from unicodedata import east_asian_width

from navigator.figures.cost import Cost, read_costs
from navigator.figures.page import PageQuestion, Table, drawn, utc_text
from navigator.figures.pages import SUMMARY
from navigator.model.models import Event, Finding, utc_now
from navigator.model.states import REPRODUCED, RevisedOutcome, TaskState
from navigator.model.text import SIMULATED, duration, plural, safe_line
from navigator.sheet.finish import UNTIL
from navigator.sheet.marks import Kind, left_out, marks
from navigator.sheet.reviews import rendered
from navigator.sheet.waiting import about, card_seconds, row_head, waiting, waiting_document, what_to_do
from navigator.store.reads.cards import Card
from navigator.store.reads.reader import Reader

WIDTH, HEIGHT = 80, 22
"""What an account takes of a screen at most: cells, and lines, so that the prompt and the command have room."""

_FIRST = 12
"""Projects and troubles that are tried first."""

_NAMED = 16
"""Cells of a line's name and of what is kept free after it."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that went wrong: from when on and until when (UTC; "" where it is not over), and what to do about it.

    `tasks`: how many it stopped, where it is about them.
    """

    at: str
    what: str
    to_do: str = ""
    over: str = ""
    tasks: int = 0


@dataclass(frozen=True, slots=True)
class Work:
    """What became of a project's tasks: how many are what, and their titles, those for the developer first."""

    project: str
    became: dict[str, int]
    titles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Account:
    """What happened from `since` to `until`, UTC times; what waits does so now.

    Attributes:
        projects: those that were worked on, the ones with most for the developer first.
        waits: how many things wait, by their first words; `seconds` to read them; one batch approval covers
            `batch` of them, once they were looked at.
        troubles: what is over last, and before it what stopped tasks.
        prevented: findings that a test reproduced and a revision repaired.
    """

    since: str
    until: str
    projects: tuple[Work, ...]
    waits: dict[str, int]
    seconds: float
    batch: int
    troubles: tuple[Trouble, ...]
    prevented: tuple[str, ...]
    cost: Cost

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self) | {"cost": self.cost.document()}


def newest_night(reader: Reader, now: datetime | None = None) -> str:
    """The UTC time 24 hours before the newest run ended, or before now while one runs."""
    ended = reader.events_of(("conductor_ended",), 0)
    runs = not ended or reader.meta(UNTIL, str) is not None
    last = now or datetime.now(UTC) if runs else datetime.fromisoformat(ended[-1].at)
    return utc_text(last - timedelta(days=1))


def account(reader: Reader, since: str = "") -> Account:
    """Everything that happened from `since` on, a UTC time; "": in the newest night."""
    since = since or newest_night(reader)
    cards = [one for one in reader.cards(since) if one.since >= since and one.state is not TaskState.QUEUED]
    waits = waiting(reader)
    events = [event for event in reader.events_of((*_FAULTS, "reproduction_revised"), 0) if event.at >= since]
    troubles = [*_merged(_faults(events)), *_stopped(cards)]
    return Account(
        since=since,
        until=utc_now(),
        projects=_projects(cards),
        waits=dict(Counter(row_head(one).word for one in waits)),
        seconds=sum(map(card_seconds, waits)),
        batch=sum(bool(one.proposal) and not left_out(one, unseen=True) for one in waits),
        troubles=tuple(sorted(troubles, key=lambda one: (one.over != "", one.tasks > 0, one.at))),
        prevented=tuple(_prevented(reader, events)),
        cost=read_costs(reader, since),
    )


# What was done


def _projects(cards: Iterable[Card]) -> tuple[Work, ...]:
    held: dict[str, list[Card]] = {}
    for card in sorted(cards, key=lambda card: not card.for_you):
        held.setdefault(card.project, []).append(card)
    made = [
        Work(name, dict(Counter(map(_became, of))), tuple(card.title for card in of))
        for name, of in held.items()
    ]
    return tuple(sorted(made, key=lambda one: (-one.became.get("for you", 0), one.project)))


def _became(card: Card) -> str:
    if card.state is TaskState.AWAITING_APPROVAL:
        return "need no change" if card.no_change else "for you"
    return card.state.value.replace("_", " ")


# What went wrong

_FAULTS = ("server_died", "server_problem", "given_up", "disk_low", "disk_free", "resident", "swap_added")


def _faults(events: Sequence[Event]) -> Iterator[Trouble]:
    """What the conductor met, in the words in which it reported it."""
    for place, event in enumerate(events):
        said, role, later = event.data, str(event.data.get("role", "")), events[place + 1 :]
        what = to_do = over = ""
        if event.kind == "server_died" and [one.kind for one in later[:1]] != ["given_up"]:
            what, to_do = f"died: {said['failure']} {said['detail']}", f"`navigator swap to {role}` loads it"
            what, over = f"the {role}'s server {what}", _end(later, "resident", role, "both")
        elif event.kind == "server_problem" and said["problem"]:
            what, to_do = f"the {role}'s server: {said['problem']}", "`navigator doctor` looks at it"
            over = _end(later, event.kind, role)
        elif event.kind == "given_up":
            what = f"the {role} is disabled after repeated failures: {said['reason']}"
            to_do = f"its tasks stay queued; `navigator swap to {role}` tries again"
        elif event.kind == "swap_added" and said["outcome"] != "done":
            what, to_do = f"the swap to the {said['to']} failed: {said.get('reason')}", "`navigator swap log`"
        elif event.kind == "disk_low":
            what = f"disk full ({said['free_mb']} MB free): no new work is started"
            to_do, over = "`navigator doctor` says where", _end(later, "disk_free", "")
        if what:
            yield Trouble(event.at, what, to_do, over)


def _end(later: Iterable[Event], kind: str, *roles: str) -> str:
    """When the first event came that says that it is over."""
    ends = (one for one in later if one.kind == kind and one.data.get("role", "") in roles)
    return next((one.at for one in ends if not one.data.get("problem")), "")


def _merged(found: Iterable[Trouble]) -> Iterator[Trouble]:
    """Troubles that say the same as one: from the first on, until the last is over."""
    held: dict[str, list[Trouble]] = {}
    for one in found:
        held.setdefault(one.what, []).append(one)
    for what, same in held.items():
        times = f"{what} ({len(same)} times)" if len(same) > 1 else what
        yield Trouble(same[0].at, times, same[-1].to_do, same[-1].over)


_TESTS = (Kind.FAILED, Kind.LOST_TESTS, Kind.REFUSED)


def _stopped(cards: Iterable[Card]) -> Iterator[Trouble]:
    """Tasks that failed and changes whose tests do, those for the same reason together."""
    held: dict[str, list[Card]] = {}
    for card in (one for one in cards if one.for_you):
        told = [mark.words for mark in marks(card) if mark.kind in _TESTS]
        if card.state is not TaskState.AWAITING_APPROVAL:
            told = [f"{row_head(card).word.lower()}: {card.reason}"]
        if told:
            held.setdefault("; ".join(told), []).append(card)
    for reason, of in held.items():
        names = ", ".join(f"{card.id} {card.project}" for card in of[:3])
        more = f" and {len(of) - 3} more" if len(of) > 3 else ""
        yield Trouble(of[0].since, f"{names}{more}: {reason}", what_to_do(of[0]), tasks=len(of))


# What the reviewer found


def _prevented(reader: Reader, events: Iterable[Event]) -> Iterator[str]:
    repaired = {one.proposal_id: one.task_id for one in events if one.data.get("revised")}
    for task in map(reader.task, dict.fromkeys(repaired.values())):
        for held in reader.held_tests(task.id, task.attempt):
            test = held.finding.reproduction
            if test and test.outcome in REPRODUCED and test.revised is RevisedOutcome.PASSES:
                yield _remark(held.proposal_id, task.project, held.finding)


def _remark(proposal: str, project: str, finding: Finding) -> str:
    return f"{proposal} {project} {finding.path}: {finding.message}"


# In words


def table(
    found: Account, projects: int | None = None, troubles: int | None = None, width: int = WIDTH
) -> Table:
    """The account as sentences.

    Args:
        projects, troubles: name at most so many, and cut what is longer than `width` cells; None: everything, whole.
    """
    short, line = projects is not None, width - _NAMED
    told = {
        "waits": [_waiting_words(found)],
        "went wrong": _troubles(found, troubles, line),
        "done": _works(found, projects, line),
        "prevented": _remarks(found.prevented, line if short else None),
        "cost": [_cost(found.cost)],
    }
    facts = ((name if not place else "", said) for name in told for place, said in enumerate(told[name]))
    since = _local(found.since)
    title = f"WHAT HAPPENED SINCE {f'{since:%A} {since.day} {since:%B} {since:%H:%M}'.upper()}?"
    return Table(title, facts=tuple(facts))


def folded(found: Account, height: int = HEIGHT, width: int = WIDTH) -> Table:
    """The same in so many lines of so many cells: what does not fit is counted."""
    projects, troubles = min(_FIRST, len(found.projects)), min(_FIRST, len(found.troubles))
    while True:
        made = table(found, projects, troubles, width)
        if len(lines(made, width)) <= height or not projects + troubles:
            return made
        projects, troubles = (projects - 1, troubles) if projects else (0, troubles - 1)


def lines(of: Table, width: int = WIDTH) -> list[str]:
    """A table's title and facts as lines of at most `width` cells."""
    column = 2 + max((len(name) for name, _ in of.facts), default=0)
    made = [of.title]
    for name, words in of.facts:
        # A wide character counts as two: with a filler behind it while lines are broken.
        wide = "".join(char + "\0" * (east_asian_width(char) in "WF") for char in safe_line(words))
        for place, line in enumerate(textwrap.wrap(wide, width - column)):
            made.append(f"{'' if place else name:{column}}{line}".replace("\0", ""))
    return made


def _waiting_words(found: Account) -> str:
    total = sum(found.waits.values())
    if not total:
        return "Nothing waits for you."
    batch = f"; one batch approval covers {found.batch:,} of them" if found.batch else ""
    return f"{total:,}, {about(found.seconds)} to read: {_counts(found.waits)}{batch}"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{n:,} {word}" for word, n in sorted(counts.items(), key=lambda item: -item[1]))


def _works(found: Account, most: int | None, line: int) -> Iterator[str]:
    total: Counter[str] = sum((Counter(one.became) for one in found.projects), Counter())
    where = f"{plural(total.total(), 'task')} in {plural(len(found.projects), 'project')}"
    yield f"{where}: {_counts(total)}" if total else "Nothing."
    for one in found.projects[:most]:
        said = f"{one.project}: {_counts(one.became)}. {'; '.join(one.titles)}"
        yield said if most is None else _ellipsis(said, line)
    rest: Counter[str] = sum((Counter(one.became) for one in found.projects[most:]), Counter())
    if most and rest:
        yield f"and {plural(len(found.projects) - most, 'other project')}: {_counts(rest)}"


def _troubles(found: Account, most: int | None, line: int) -> Iterator[str]:
    for one in found.troubles[:most]:
        what = one.what if most is None else _ellipsis(one.what, 2 * line)
        over = f" (until {_clock(one.over)})" if one.over else f" → {one.to_do}"
        yield f"{_clock(one.at)} {what}{over}"
    if most is not None and len(found.troubles) > most:
        yield f"and {len(found.troubles) - most} more: `navigator report FILE.html` has them all"


def _remarks(of: Sequence[str], line: int | None) -> Iterator[str]:
    if of:
        yield f"{plural(len(of), 'finding')} with a failing test, repaired in time"
    for one in of[:2] if line else of:
        yield _ellipsis(one, line) if line else one


def _cost(of: Cost) -> str:
    swaps = f"{plural(of.swaps.n, 'swap')}, {duration(of.swaps.seconds)}"
    return f"{swaps}; {of.tokens:,.0f} tokens; the models worked for {duration(of.model_seconds)}"


def _ellipsis(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _local(at: str) -> datetime:
    return datetime.fromisoformat(at).astimezone()


def _clock(at: str) -> str:
    return f"{_local(at):%H:%M}"


def report(reader: Reader, since: str, redact: Callable[[str], str]) -> str:
    """The report as an HTML document.

    Args:
        since: a UTC time, from which on the account tells; "": of the newest night.
        redact: takes secrets out of a text: the page is made to be passed on.
    """
    with reader.snapshot():
        tables = (
            table(account(reader, since)),
            _waiting_table(reader),
            *drawn(SUMMARY.read(reader, PageQuestion())),
        )
    filters = {"clean": lambda value: safe_line(redact(value))}
    return rendered("report.html", filters, tables=tables, rehearsal=reader.rehearsal, simulated=SIMULATED)


def _waiting_table(reader: Reader) -> Table:
    """The list that `navigator proposals` shows."""
    facts = []
    for one in map(waiting_document, waiting(reader)):
        said = "; ".join([one["title"], *(mark["words"] for mark in one["marks"]), one["to_do"]])
        facts.append((one["id"], f"{one['says']}, {one['project']}: {said}"))
    return Table("WHAT WAITS FOR YOU?", answer="" if facts else "Nothing waits for you.", facts=tuple(facts))
