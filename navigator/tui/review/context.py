"""Everything the store knows about one task's proposals, read at once, and what the diff view shows beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from navigator.model.models import Project, Proposal, Review, Task
from navigator.model.records import Comment, JudgementCount, Look
from navigator.model.states import ProposalState, Role, TaskState, Verdict
from navigator.model.text import short_model
from navigator.sheet.marks import facts_of
from navigator.sheet.variants import VariantStanding, standings
from navigator.sheet.writing import lines_below, record_words
from navigator.tui.diff.layout import FindingNote, LineComment

if TYPE_CHECKING:
    from navigator.actions.notes import KeepComment
    from navigator.store.reads.cards import Card
    from navigator.store.reads.reader import Reader

COMMENT_DRAFT = "comment:"

REMARK = "new in this round and not a blocker: shown, but does not count towards the verdict"
"""Beside a finding that a review of a later round was not asked for."""

SAID_AGAIN = "you judged this wrong before: shown, but does not count towards the verdict"
"""Beside a finding that repeats one that was judged wrong."""


@dataclass(frozen=True)
class ReviewContext:
    """A task with all its proposals, oldest first.

    Attributes:
        drafts: unfinished comments of this task by key.
        met: by (proposal id, index of the finding) what the next review said about it: met or not, and why.
        facts: by proposal, what is known of it.
        worth: by proposal whose review says REVISE, what the exam says of such a verdict.
        variants: all variants of the task, the best first; empty where it is written once.
        written: by proposal, in words, how it came about: what an agent did, what was looked at, what was repaired.
        looks: by proposal, what its writer asked to be shown before it wrote.
        judged: what the developer said of findings so far, by sort.
    """

    task: Task
    project: Project
    versions: tuple[Proposal, ...]
    comments: tuple[Comment, ...] = ()
    drafts: Mapping[str, str] = field(default_factory=dict)
    met: Mapping[tuple[str, int], tuple[bool, str]] = field(default_factory=dict)
    facts: Mapping[str, Card] = field(default_factory=dict)
    looks: Mapping[str, Sequence[Look]] = field(default_factory=dict)
    worth: Mapping[str, str] = field(default_factory=dict)
    variants: tuple[VariantStanding, ...] = ()
    written: Mapping[str, Sequence[str]] = field(default_factory=dict)
    judged: tuple[JudgementCount, ...] = ()

    def index(self, proposal: str) -> int:
        """The index of a proposal among the versions; the newest one for an id that is not among them."""
        for place, version in enumerate(self.versions):
            if version.id == proposal:
                return place
        return len(self.versions) - 1

    @property
    def current(self) -> Proposal:
        """The one that decisions are about: the open one, else the newest that was not superseded."""
        kept = [v for v in self.versions if v.state is not ProposalState.SUPERSEDED]
        opened = [v for v in kept if v.state is ProposalState.OPEN]
        return (opened or kept or list(self.versions))[-1]

    def known(self, shown: Proposal, overlaps: Sequence[str] = ()) -> Card:
        """What is known of a proposal, with what overlaps it now."""
        return self.facts[shown.id]._replace(overlaps=tuple(overlaps))

    @property
    def waiting(self) -> bool:
        """Whether the task waits for the user's decision."""
        return self.task.state is TaskState.AWAITING_APPROVAL and self.current.state is ProposalState.OPEN

    @property
    def unsent(self) -> tuple[Comment, ...]:
        """Comments that go along when the task is sent back."""
        return tuple(comment for comment in self.comments if not comment.sent)


def load_review_context(reader: Reader, proposal: str) -> ReviewContext:
    """Read it. Runs in a thread.

    Raises:
        NotFound: there is no such proposal.
    """
    from navigator.sheet.waiting import tips
    from navigator.sheet.writing import looks_of

    with reader.snapshot():
        found = reader.proposal(proposal)
        task = reader.task(found.task_id)
        project = reader.project(found.project_id)
        versions = tuple(reader.proposals(task_id=task.id))
        drafts = {
            key: text
            for version in versions
            for key, text in reader.drafts(f"{COMMENT_DRAFT}{version.id}:").items()
        }
        looks = {version.id: looks_of(reader, version) for version in versions}
        return ReviewContext(
            task,
            project,
            versions,
            tuple(reader.comments(task_id=task.id)),
            drafts,
            _met(versions),
            {
                of.proposal: of
                for of in facts_of(reader, [one.id for one in versions], tips(reader, {project.id}))
            },
            looks,
            _worth(reader, versions),
            tuple(standings(reader, task.variant_of)),
            {version.id: _written(reader, version, looks[version.id]) for version in versions},
            tuple(reader.judgement_counts()),
        )


def _written(reader: Reader, version: Proposal, looks: Sequence[Look]) -> list[str]:
    from navigator.sheet.writing import agent_words, looks_words, turns_of

    said = agent_words(turns_of(reader, version)), looks_words(looks)
    return [words for words in said if words]


def _worth(reader: Reader, versions: Sequence[Proposal]) -> dict[str, str]:
    from navigator.figures.reviewer import scores, worth_of

    revised = [
        (one.id, one.review) for one in versions if one.review and one.review.verdict is Verdict.REVISE
    ]
    found = scores(reader) if revised else ()
    return {name: words for name, review in revised if (words := worth_of(found, review))}


def comment_key(place: KeepComment) -> str:
    """The key of a comment's draft."""
    return f"{COMMENT_DRAFT}{place.proposal}:{place.side}:{place.line}:{place.number}:{place.path}"


def note_key(task: str, kind: str) -> str:
    """The key of the draft of a note that goes with a decision."""
    return f"note:{task}:{kind}"


def _met(versions: Sequence[Proposal]) -> dict[tuple[str, int], tuple[bool, str]]:
    """What each review of a revision said about the findings of the review before it."""
    from navigator.journey.prompts.material import worth_sending

    said: dict[tuple[str, int], tuple[bool, str]] = {}
    for before, after in pairwise(versions):
        if before.review is None or after.review is None or before.attempt != after.attempt:
            continue
        asked = worth_sending(before.review.findings)
        places = {id(finding): index for index, finding in enumerate(before.review.findings)}
        for entry in after.review.addressed:
            number = entry.get("finding")
            if isinstance(number, int) and 1 <= number <= len(asked):
                place = places[id(asked[number - 1])]
                as_it_was = "withdrawn, the code is as it was. " if entry.get("withdrawn") else ""
                said[before.id, place] = (bool(entry.get("met")), f"{as_it_was}{entry.get('why', '')}")
    return said


def finding_notes(context: ReviewContext, shown: Proposal, *, anchors: bool = True) -> list[FindingNote]:
    """The findings on one version, and below them those of the round before that are still not met.

    Args:
        anchors: False where the diff shown is not the one the reviewer saw, so that its hunk labels mean nothing.
    """
    notes: list[FindingNote] = []
    for review in (shown.review, shown.final_review):
        if review is None:
            continue
        who = _who(review)
        for index, finding in enumerate(review.findings):
            said = context.met.get((shown.id, index)) if review is shown.review else None
            remarks = [SAID_AGAIN if finding.judged else REMARK] if finding.remark else []
            remarks += lines_below(finding)
            remarks += [words] if (words := record_words(context.judged, shown.project, finding)) else []
            remarks += [_answer_to(said, shown.round + 1)] if said is not None else []
            key = f"f{review.role.value}{index}"
            placed = finding if anchors else finding.model_copy(update={"hunk": ""})
            notes.append(FindingNote(key, placed, by=who, round=shown.round, remarks=tuple(remarks)))
    before = _version_before(context, shown)
    if before is None or before.review is None:
        return notes
    repeated = {" ".join(note.finding.quote.split()) for note in notes if note.finding.quote}
    for index, finding in enumerate(before.review.findings):
        said = context.met.get((before.id, index))
        if said is None or said[0] or " ".join(finding.quote.split()) in repeated:
            continue
        # It is about the round before: its labels and lines do not belong to this diff.
        loose = finding.model_copy(update={"hunk": "", "line": None})
        notes.append(
            FindingNote(
                f"e{index}",
                loose,
                by=_who(before.review),
                round=before.round,
                remarks=(*lines_below(finding), _answer_to(said, shown.round)),
            )
        )
    return notes


def _version_before(context: ReviewContext, shown: Proposal) -> Proposal | None:
    place = context.index(shown.id)
    before = context.versions[place - 1] if place > 0 else None
    return before if before is not None and before.attempt == shown.attempt else None


def _answer_to(said: tuple[bool, str], round: int) -> str:
    met, why = said
    return f"round {round}: {'met' if met else 'not met'}{f' · {why}' if why else ''}"


def _who(review: Review) -> str:
    name = short_model(review.model) or "reviewer"
    if review.role is Role.FINAL:
        name += ", final review"
    return name


def carried(context: ReviewContext, shown: Proposal, *, old_is_base: bool = True) -> list[LineComment]:
    """Every comment of the task: those on the version shown at their lines, others on their files as a whole.

    Args:
        old_is_base: the old side of the diff shown is the base; where it is an earlier round, comments on removed lines
            are shown on the file as a whole.
    """
    return [
        LineComment(
            f"c{saved.id}",
            saved.path,
            saved.line if saved.proposal_id == shown.id and (saved.side == "new" or old_is_base) else None,
            saved.text,
            side="old" if saved.side == "old" else "new",
            state="sent" if saved.sent else "draft",
        )
        for saved in context.comments
    ]
