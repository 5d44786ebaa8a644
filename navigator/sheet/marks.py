"""What speaks for and against a proposal, as marks: each fact with its words, the strictest first.

Every face draws these: none words a fact itself, and none decides itself what a batch leaves out or what is confirmed by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from navigator.context.scope import fits
from navigator.model.states import CheckOutcome, ProposalState, Verdict

if TYPE_CHECKING:
    from navigator.model.models import Proposal
    from navigator.store.reads.cards import Card, CardReads
    from navigator.store.reads.reader import Reader


class Kind(StrEnum):
    """What a mark is about."""

    REFUSED = "refused"
    FAILED = "failed"
    UNREVIEWED = "unreviewed"
    REVISE = "revise"
    FINAL = "final"
    OVERRULED = "overruled"
    FIRST = "first"
    UNREAD = "unread"
    CAREFUL = "careful"
    CONFIRM = "confirm"
    LOST_TESTS = "lost_tests"
    OVERLAP = "overlap"
    VARIANT = "variant"
    MOVED = "base_moved"
    PART = "part"
    EXISTING = "existing"
    SELF = "self_review"
    ADVICE = "advice"
    UNTESTED = "untested"
    UNSEEN = "unseen"


class Mark(NamedTuple):
    """One fact that bears on a decision.

    Attributes:
        words: the fact, in words that need no context.
        label: the same in a row of a list, "" where the row says it otherwise; `short` where there is little room.
        tone: "bad", "warn", "accent" or "muted".
        key: `RULE:PATH`, by which it is confirmed before an approval; "" where it need not be.
        leaves_out: a batch approval leaves the proposal out.
    """

    kind: Kind
    words: str
    label: str = ""
    short: str = ""
    tone: str = "warn"
    key: str = ""
    leaves_out: bool = True


class Head(NamedTuple):
    """The first word about a row: what the strictest of its readers and checks says."""

    word: str
    tone: str


def careful_paths(one: Card | Proposal) -> tuple[str, ...]:
    """The paths of a proposal that the project's settings mark as careful."""
    return tuple(path for path in one.paths if fits(path, one.careful)) if one.careful else ()


def marks(of: Card) -> tuple[Mark, ...]:
    """Every mark of a proposal, the strictest first; none where there is no proposal."""
    if not of.proposal:
        return ()
    return (*_gates(of), *_readings(of), *_items(of), *_other_marks(of))


def _gates(of: Card) -> Iterator[Mark]:
    for _, path, words in of.refused:
        yield Mark(Kind.REFUSED, f"refused by policy: {path}: {words}", "refused", "refused", "bad")
    for name in of.failed:
        yield Mark(
            Kind.FAILED, f"failed check: {name}", f"{name} failed", f"{name} failed", "bad", f"failed:{name}"
        )


def read_words(hunks: int, unread: int) -> str:
    """`read 5 of 7 hunks` where a reading left some out, else ""."""
    return f"read {hunks - unread} of {hunks} hunks" if unread else ""


def _readings(of: Card) -> Iterator[Mark]:
    revise = Verdict.REVISE
    if of.parent:
        there = f"{of.whole.value} there" if of.whole else "not reviewed there"
        words = f"part of {of.parent}, reviewed as a whole ({there})"
        yield Mark(Kind.PART, words, f"part of {of.parent}", f"part of {of.parent}", "muted")
    if of.verdict in (None, Verdict.UNREVIEWED):
        if not of.parent:
            yield Mark(Kind.UNREVIEWED, "not reviewed", key="unreviewed:review")
    elif of.verdict is revise:
        yield Mark(Kind.REVISE, "the reviewer says REVISE")
    approved = of.verdict is Verdict.APPROVE
    if of.final is revise:
        yield Mark(
            Kind.FINAL,
            "the final model said REVISE: read its findings",
            "final REVISE",
            "final",
            key="final:review" if approved else "",
        )
    if approved and of.stated is revise:
        yield Mark(
            Kind.OVERRULED,
            "the reviewer said REVISE, overruled: no blocker or major finding of it counts; read its findings",
            "overruled",
            "overruled",
            key="overruled:review",
        )
    if said := read_words(of.hunks, of.unread):
        yield Mark(Kind.UNREAD, f"the reviewer {said}", said, said.removesuffix(" hunks"))
    if of.first not in (None, Verdict.APPROVE, of.verdict):
        yield Mark(Kind.FIRST, f"the first reading said {of.first.value}", f"first {of.first.value}", "first")


def _items(of: Card) -> Iterator[Mark]:
    if paths := careful_paths(of):
        more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
        words = f"careful: it touches {', '.join(paths[:3])}{more}; never in a batch"
        yield Mark(Kind.CAREFUL, words, "careful", "careful", key="careful:paths")
    for rule, path, detail in of.confirm:
        words = f"to confirm: {path}: {detail or rule.replace('_', ' ')}"
        yield Mark(Kind.CONFIRM, words, key=f"{rule}:{path}")
    if of.lost_tests:
        words = "the tests run on the base, but could not run with this change"
        yield Mark(Kind.LOST_TESTS, words, "tests could not run", "no tests")
    elif of.tests in _UNTOLD:
        label = "" if of.tests is CheckOutcome.UNTESTED else "tests fail as before"
        short = label and "tests fail"
        yield Mark(Kind.UNTESTED, _UNTOLD[of.tests], label, short, "muted", leaves_out=False)


_UNTOLD = {CheckOutcome.UNTESTED: "untested", CheckOutcome.FAILED_BEFORE: "the tests also fail on the base"}
"""Outcomes of tests that show nothing good and fail nothing."""


def _other_marks(of: Card) -> Iterator[Mark]:
    if of.overlaps:
        more = f" +{len(of.overlaps) - 1}" if len(of.overlaps) > 1 else ""
        label = f"{of.overlaps[0]}{more}"
        yield Mark(
            Kind.OVERLAP, f"overlaps {', '.join(of.overlaps)}", f"overlaps {label}", f"overlaps {label}"
        )
    if of.rivals:
        words = f"one of {of.rivals + 1} variants of {of.variant_of}: approve one separately"
        yield Mark(Kind.VARIANT, words)
    if of.moved:
        words = "the base has moved: the tests run on the result before it lands"
        yield Mark(Kind.MOVED, words, "base moved", "moved", "muted", leaves_out=False)
    if of.change:
        yield Mark(Kind.EXISTING, "existing change: nothing to land", "existing", "existing", "muted")
    if of.self_review:
        words = "self-reviewed: the model that wrote it reviewed it"
        yield Mark(Kind.SELF, words, "self-reviewed", "self", "muted")
    if of.advice:
        yield Mark(Kind.ADVICE, "the REVISE is advice only", "advice only", "advice", leaves_out=False)
    if not of.seen:
        yield Mark(Kind.UNSEEN, "not seen: you have not looked at it", key="unseen")


def head(of: Card) -> Head:
    """What the strictest of the readers and checks says, in a word."""
    if of.failed and of.verdict is not Verdict.UNREVIEWED:
        return Head("CHECKS", "bad")
    if of.final is Verdict.REVISE and of.verdict is Verdict.APPROVE:
        return Head("final REVISE", "warn")
    if of.verdict is Verdict.APPROVE and of.stated is Verdict.REVISE:
        return Head("said REVISE", "warn")
    if of.verdict is None:
        return PART if of.parent else HEADS[Verdict.UNREVIEWED]
    return HEADS[of.verdict]


HEADS = {
    Verdict.APPROVE: Head("APPROVE", "good"),
    Verdict.REVISE: Head("REVISE", "warn"),
    Verdict.UNREVIEWED: Head("UNREVIEWED", "warn"),
}
PART = Head("PART", "accent")


def labels(of: Card, *, short: bool = False) -> list[tuple[str, str]]:
    """The marks as a row of a list shows them, beside the first word: (words, tone)."""
    said: list[tuple[str, str]] = []
    found = marks(of)
    asked = sum(mark.kind is Kind.CONFIRM for mark in found)
    for mark in found:
        if mark.kind is Kind.CONFIRM and asked:
            said.append((f"{asked} to confirm", "warn"))
            asked = 0
        elif text := mark.short if short else mark.label:
            said.append((text, mark.tone))
    return said


# What a batch approval covers, and what is confirmed by name


def to_confirm(of: Card, *, unasked: bool = False) -> list[Mark]:
    """The marks that an approval confirms by name; where nobody is asked, also that it was not seen."""
    return [mark for mark in marks(of) if mark.key and (unasked or mark.kind is not Kind.UNSEEN)]


def named_once(known: Iterable[Card], confirm: Collection[str]) -> tuple[str, ...]:
    """`confirm` without each `RULE:PATH` that more than one proposal has: without the proposal it says too little."""
    counts = Counter(key for one in known for key in {mark.key for mark in to_confirm(one, unasked=True)})
    return tuple(key for key in confirm if counts[key] <= 1)


def unconfirmed(of: Card, confirm: Collection[str], *, unasked: bool = False) -> list[Mark]:
    """The items of a proposal that `confirm` does not name, as `RULE:PATH` or `P7:RULE:PATH`."""
    return [
        mark
        for mark in to_confirm(of, unasked=unasked)
        if mark.key not in confirm and f"{of.proposal}:{mark.key}" not in confirm
    ]


def left_out(of: Card, confirm: Collection[str] = (), *, unseen: bool = False) -> Mark | None:
    """The first mark for which a batch approval leaves a proposal out; None where it covers it.

    Args:
        unseen: what was not looked at is covered too.
    """
    missing = unconfirmed(of, confirm, unasked=not unseen)
    return next(
        (mark for mark in marks(of) if mark.leaves_out and (not mark.key or mark in missing)),
        None,
    )


class BatchChoice(NamedTuple):
    """What one batch approval covers, and what it leaves out, each with the mark that says why."""

    taken: tuple[Card, ...]
    left_out: tuple[tuple[Card, Mark], ...]


def batch_choice(reader: Reader, confirmed: Collection[str] = (), *, unseen: bool = False) -> BatchChoice:
    """Split what waits for a decision into what a batch approval covers and the rest.

    Args:
        confirmed: items that the developer has looked at, `RULE:PATH` or `P7:RULE:PATH`.
        unseen: cover what was not looked at too.
    """
    waiting = [card for card in reader.cards(NEVER) if card.with_you]
    waiting.sort(key=lambda one: (not careful_paths(one), int(one.proposal[1:])))
    known = with_others(waiting, waiting)
    confirm = named_once(known, confirmed)
    found = [(of, left_out(of, confirm, unseen=unseen)) for of in known]
    return BatchChoice(
        tuple(of for of, mark in found if mark is None),
        tuple((of, mark) for of, mark in found if mark is not None),
    )


# What is known beside a proposal: the others, and where its project's base is now


NEVER = "9999"
"""A time after which nothing has ended yet."""

Tips = Mapping[tuple[int, str], str]
"""Where the bases are now (`sheet.waiting.tips`)."""


def facts_of(reader: CardReads, proposals: Iterable[str], tips: Tips | None = None) -> list[Card]:
    """What is known of each proposal, held against the others that wait; see `with_others`."""
    return with_others(reader.cards_about(proposals), reader.cards(NEVER), tips)


def with_others(cards: Iterable[Card], live: Iterable[Card], tips: Tips | None = None) -> list[Card]:
    """The same with what overlaps them, how many other variants wait, and whether their projects' bases have moved.

    Args:
        live: among which are all that wait for a decision.
        tips: None does not look at the repositories.
    """
    waiting = [card for card in live if card.with_you]
    overlaps = overlapping(places_of(waiting))
    variants = Counter(card.variant_of for card in waiting if card.variant_of)
    return [
        beside(card, overlaps, tips or {})._replace(rivals=max(0, variants[card.variant_of] - 1))
        for card in cards
    ]


def beside(card: Card, overlaps: Mapping[str, tuple[str, ...]], tips: Tips) -> Card:
    """The same with the proposals that overlap it, and whether its project's base has moved."""
    tip = tips.get((card.project_id, card.base), "")
    moved = bool(tip and card.made_on) and card.made_on != tip
    return card._replace(overlaps=overlaps.get(card.proposal, ()), moved=moved)


Place = tuple[int, str, str, str, tuple[str, ...]]
"""Of a proposal that may land: its project, id, task, the first of its task's variants, and the paths it touches."""


def read_card(reader: Reader, identifier: str) -> Card:
    """The task, and its proposal if it has one, that a verb is about, with what a row of a list does not know.

    Args:
        identifier: of a proposal, or of a task, whose newest proposal it is then about if it has one.

    Raises:
        NotFound: there is no such proposal or task.
    """
    # Lists of cards are read without the models.
    from navigator.sheet.parts import waits_for
    from navigator.sheet.variants import approved_variant

    if identifier[:1] in "Tt":
        (card,) = reader.cards_of([reader.task(identifier).id], removed=True)
    else:
        (card,) = reader.cards_about([identifier])
    if not card.proposal:
        return card
    proposal = reader.proposal(card.proposal)
    if proposal.state is ProposalState.SUPERSEDED:
        return card._replace(newer=reader.replaced_by(proposal))
    if not card.open:
        return card
    part = waits_for(reader, proposal)
    return card._replace(waits_for=part.id if part else "", rival=approved_variant(reader, proposal))


def places_of(cards: Iterable[Card]) -> Iterator[Place]:
    """The proposals that may land."""
    for card in cards:
        if card.open and not card.existing:
            yield card.project_id, card.proposal, card.task, card.variant_of, card.paths


def overlapping(places: Iterable[Place]) -> dict[str, tuple[str, ...]]:
    """The ids of the proposals that touch a path which another one of the project touches too, with those others."""
    holders: dict[tuple[int, str], list[Place]] = {}
    for place in places:
        for path in place[4]:
            holders.setdefault((place[0], path), []).append(place)
    met: dict[str, set[str]] = {}
    for sharing in holders.values():
        for _, identifier, task, variant_of, _ in sharing if len(sharing) > 1 else ():
            met.setdefault(identifier, set()).update(
                other[1]
                for other in sharing
                if other[2] != task and not (variant_of and other[3] == variant_of)
            )
    return {
        name: tuple(sorted(others, key=lambda other: int(other[1:])))
        for name, others in met.items()
        if others
    }
