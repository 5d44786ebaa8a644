"""What speaks for and against a proposal, as marks: each fact with its words, the strictest first.

Every face draws these: none words a fact itself, and none decides itself what a batch leaves out or what is confirmed by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from navigator.git.scope import fits
from navigator.model.ids import PART_BASE
from navigator.model.models import EXISTING, CheckResult, read_words, tests_outcome
from navigator.model.states import REPRODUCED, CheckOutcome, PolicyAction, ProposalState, TaskState, Verdict

if TYPE_CHECKING:
    from navigator.model.models import Proposal, Review
    from navigator.store.reads.cards import Card
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
    OWN = "own_review"
    UNTESTED = "untested"
    UNSEEN = "unseen"


@dataclass(frozen=True, slots=True)
class Mark:
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


@dataclass(frozen=True, slots=True)
class Head:
    """The first word about a row: what the strictest of its readers and checks says."""

    word: str
    tone: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What marks are made of, from a proposal or from a row of the Deck.

    Attributes:
        verdict: derived, of the reviewer's newest reading; `stated` is what it said itself, `first` what its first reading said
            where it read again, `final` and `own` what the final model and the writer said; `whole` that of a part's parent.
        read: `read 5 of 7 hunks`, where the reviewer's newest reading left some out.
        failed: names of the checks that said no; `tests` what the project's tests said; `lost_tests`: they ran on the base only.
        refused, confirm: policy items, as (rule, path, words).
        careful: paths of it that the project's settings mark.
        rivals: other variants of the task that wait too.
        lines: added and removed, in so many `files`.
        serious: blocker and major findings that are located; `reproduced` how many of all findings a test reproduced.
    """

    id: str
    verdict: Verdict | None = None
    stated: Verdict | None = None
    first: Verdict | None = None
    final: Verdict | None = None
    own: Verdict | None = None
    whole: Verdict | None = None
    self_review: bool = False
    advice: bool = False
    read: str = ""
    failed: tuple[str, ...] = ()
    tests: CheckOutcome | None = None
    lost_tests: bool = False
    refused: tuple[tuple[str, str, str], ...] = ()
    careful: tuple[str, ...] = ()
    confirm: tuple[tuple[str, str, str], ...] = ()
    overlaps: tuple[str, ...] = ()
    rivals: int = 0
    variant_of: str = ""
    moved: bool = False
    parent: str = ""
    change: str = ""
    seen: bool = True
    lines: int = 0
    files: int = 0
    serious: int = 0
    reproduced: int = 0

    @staticmethod
    def of(
        proposal: Proposal,
        *,
        overlaps: tuple[str, ...] = (),
        moved: bool = False,
        whole: Verdict | None = None,
        rivals: int = 0,
    ) -> Facts:
        """Of a proposal as the store has it, with what is known beside it."""
        review = proposal.review
        findings = review.findings if review else ()
        proofs = (one.reproduction for one in findings if one.reproduction is not None)
        items = {
            action: tuple(
                (item.rule, item.path, item.detail) for item in proposal.policy if item.action is action
            )
            for action in PolicyAction
        }
        return Facts(
            id=proposal.id,
            verdict=_verdict_of(review),
            stated=review.stated_verdict if review else None,
            first=_verdict_of(proposal.first_review),
            final=_verdict_of(proposal.final_review),
            own=_verdict_of(proposal.own_review),
            whole=whole,
            self_review=bool(review and review.self_review),
            advice=bool(review and review.advice),
            read=review.read_words if review else "",
            failed=tuple(check.name for check in proposal.failed_checks),
            tests=tests_outcome(proposal.checks),
            lost_tests=any(could_not_run(check) for check in proposal.checks),
            refused=items[PolicyAction.REFUSE],
            careful=careful_paths(proposal),
            confirm=items[PolicyAction.CONFIRM],
            overlaps=overlaps,
            rivals=rivals,
            variant_of=proposal.variant_of,
            moved=moved,
            parent=proposal.parent,
            change=EXISTING if proposal.existing else "",
            seen=proposal.seen,
            lines=proposal.added + proposal.removed,
            files=len(proposal.paths),
            serious=sum(one.anchored and one.severity in ("blocker", "major") for one in findings),
            reproduced=sum(proof.outcome in REPRODUCED for proof in proofs),
        )

    @staticmethod
    def of_card(card: Card, overlaps: tuple[str, ...] = (), *, moved: bool = False) -> Facts:
        """Of a row of the Deck that has a proposal."""
        return Facts(
            id=card.proposal,
            verdict=card.verdict,
            stated=card.stated,
            first=card.first,
            final=card.final,
            own=card.own,
            whole=card.whole,
            self_review=card.self_review,
            advice=card.advice,
            read=read_words(card.hunks, card.unread),
            failed=card.failed,
            tests=card.tests,
            lost_tests=card.lost_tests,
            refused=card.refused,
            careful=careful_paths(card),
            confirm=card.confirm,
            overlaps=overlaps,
            moved=moved,
            parent=card.parent,
            change=card.change,
            seen=card.seen,
            lines=card.added + card.removed,
            files=len(card.paths),
            serious=card.blocking,
            reproduced=card.reproduced,
        )


def careful_paths(one: Card | Proposal) -> tuple[str, ...]:
    """The paths of a proposal that the project's settings mark as careful."""
    return tuple(path for path in one.paths if fits(path, one.careful))


def _verdict_of(review: Review | None) -> Verdict | None:
    return review.verdict if review else None


def could_not_run(check: CheckResult) -> bool:
    """Whether the base could be tested, and the change could not."""
    return check.outcome is CheckOutcome.UNTESTED and check.before in (
        CheckOutcome.PASSED,
        CheckOutcome.FAILED,
    )


def marks(of: Facts) -> tuple[Mark, ...]:
    """Every mark of a proposal, the strictest first."""
    return (*_gates(of), *_readings(of), *_items(of), *_other_marks(of))


def _gates(of: Facts) -> Iterator[Mark]:
    for _, path, words in of.refused:
        yield Mark(Kind.REFUSED, f"refused by policy: {path}: {words}", "refused", "refused", "bad")
    for name in of.failed:
        yield Mark(
            Kind.FAILED, f"failed check: {name}", f"{name} failed", f"{name} failed", "bad", f"failed:{name}"
        )


def _readings(of: Facts) -> Iterator[Mark]:
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
    if of.read:
        yield Mark(Kind.UNREAD, f"the reviewer {of.read}", of.read, of.read.removesuffix(" hunks"))
    if of.first not in (None, Verdict.APPROVE, of.verdict):
        yield Mark(Kind.FIRST, f"the first reading said {of.first.value}", f"first {of.first.value}", "first")


def _items(of: Facts) -> Iterator[Mark]:
    if of.careful:
        more = f" and {len(of.careful) - 3} more" if len(of.careful) > 3 else ""
        words = f"careful: it touches {', '.join(of.careful[:3])}{more}; never in a batch"
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


def _other_marks(of: Facts) -> Iterator[Mark]:
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
    if of.own is Verdict.REVISE:
        words = "the writer itself says REVISE"
        yield Mark(Kind.OWN, words, "own REVISE", "own", "muted", leaves_out=False)
    if not of.seen:
        yield Mark(Kind.UNSEEN, "not seen: you have not looked at it", key="unseen")


def head(of: Facts) -> Head:
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


def labels(of: Facts, *, short: bool = False) -> list[tuple[str, str]]:
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


def to_confirm(of: Facts, *, unasked: bool = False) -> list[Mark]:
    """The marks that an approval confirms by name; where nobody is asked, also that it was not seen."""
    return [mark for mark in marks(of) if mark.key and (unasked or mark.kind is not Kind.UNSEEN)]


def shared_items(known: Iterable[Facts]) -> frozenset[str]:
    """`RULE:PATH` of each item that more than one proposal has: a name without the proposal says too little."""
    counts = Counter(mark.key for one in known for mark in to_confirm(one, unasked=True))
    return frozenset(key for key, count in counts.items() if count > 1)


def unconfirmed(
    of: Facts, confirm: Collection[str], shared: frozenset[str] = frozenset(), *, unasked: bool = False
) -> list[Mark]:
    """The items of a proposal that `confirm` does not name, as `RULE:PATH` or `P7:RULE:PATH`."""
    given = set(confirm)
    return [
        mark
        for mark in to_confirm(of, unasked=unasked)
        if f"{of.id}:{mark.key}" not in given and (mark.key not in given or mark.key in shared)
    ]


def left_out(
    of: Facts, confirm: Collection[str] = (), shared: frozenset[str] = frozenset(), *, unseen: bool = False
) -> Mark | None:
    """The first mark for which a batch approval leaves a proposal out; None where it covers it.

    Args:
        unseen: what was not looked at is covered too.
    """
    missing = unconfirmed(of, confirm, shared, unasked=not unseen)
    return next(
        (mark for mark in marks(of) if mark.leaves_out and (not mark.key or mark in missing)),
        None,
    )


@dataclass(frozen=True)
class BatchChoice:
    """What one batch approval covers, and what it leaves out, each with the mark that says why."""

    taken: tuple[Proposal, ...]
    left_out: tuple[tuple[Proposal, Mark], ...]


def batch_choice(reader: Reader, confirmed: Collection[str] = (), *, unseen: bool = False) -> BatchChoice:
    """Split what waits for a decision into what a batch approval covers and the rest.

    Args:
        confirmed: items that the developer has looked at, `RULE:PATH` or `P7:RULE:PATH`.
        unseen: cover what was not looked at too.
    """
    proposals = waiting_proposals(reader)
    known = facts_of(reader, proposals)
    shared = shared_items(known)
    found = [
        (one, left_out(of, confirmed, shared, unseen=unseen))
        for one, of in zip(proposals, known, strict=True)
    ]
    return BatchChoice(
        tuple(one for one, mark in found if mark is None),
        tuple((one, mark) for one, mark in found if mark is not None),
    )


# What is known beside a proposal: the others, and where its project's base is now


def waiting_proposals(reader: Reader, project: str | None = None) -> list[Proposal]:
    """Open proposals whose tasks wait for the developer, careful ones first, else the oldest."""
    waiting = {task.id for task in reader.tasks({TaskState.AWAITING_APPROVAL}, project=project)}
    found = reader.proposals({ProposalState.OPEN}, project=project)
    return sorted((one for one in found if one.task_id in waiting), key=lambda one: not careful_paths(one))


def facts_of(
    reader: Reader, proposals: Sequence[Proposal], tips: Mapping[tuple[int, str], str] | None = None
) -> list[Facts]:
    """What is known of each proposal, with the others that wait held against it.

    Args:
        tips: `sheet.base.tips`; None does not look at the repositories.
    """
    waiting = waiting_proposals(reader)
    overlaps = overlapping(_overlap_places(waiting))
    variants = Counter(one.variant_of for one in waiting)
    wholes = {one.parent: reader.proposal(one.parent).review for one in proposals if one.parent}
    return [
        Facts.of(
            one,
            overlaps=overlaps.get(one.id, ()),
            whole=_verdict_of(wholes.get(one.parent)),
            rivals=max(0, variants[one.variant_of] - 1) if one.variant_of else 0,
            moved=tips is not None
            and reader.meta(PART_BASE + one.base_commit, dict) is None
            and has_moved(one.base_commit, tips.get((one.project_id, reader.task(one.task_id).base), "")),
        )
        for one in proposals
    ]


def has_moved(base: str, tip: str) -> bool:
    """Whether a project's base is at another commit than the one that a proposal was made on; "" where that is not known."""
    return bool(tip and base) and base != tip


Place = tuple[int, str, str, str, tuple[str, ...]]
"""Of a proposal that may land: its project, id, task, the first of its task's variants, and the paths it touches."""


def _overlap_places(proposals: Iterable[Proposal]) -> Iterator[Place]:
    for one in proposals:
        if not one.existing:
            yield one.project_id, one.id, one.task_id, one.variant_of, one.paths


def places_of(cards: Iterable[Card]) -> Iterator[Place]:
    """The same of rows of the Deck."""
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
