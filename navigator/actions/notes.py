"""What is kept without a decision: proposals that were looked at, unfinished texts, comments, and what findings were worth.

A finding that is wrong for a reason that was given becomes a precedent of its project, which later reviews are shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from navigator.actions.base import (
    Done,
    NoteField,
    Question,
    SubjectVerb,
    Told,
    Verb,
    done,
    refusal_of,
)
from navigator.model.errors import Conflict, NavigatorError, NotFound
from navigator.model.models import Finding, Judged
from navigator.model.states import Judgement, Role
from navigator.model.text import plural
from navigator.sheet.writing import numbered
from navigator.store.reads.exam import MOST_TEXT, Precedent

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies
    from navigator.store.reads.cards import Card
    from navigator.store.reads.reader import Reader


class MarkSeen(Verb):
    """Mark proposals by id as looked at, or not."""

    op = "seen"
    works_on_full_disk = True

    ids: tuple[str, ...]
    seen: bool = True

    async def perform(self, deps: Dependencies) -> Done:
        with deps.store.transaction() as tx:
            for identifier in self.ids:
                tx.set_proposal_seen(deps.reader.proposal(identifier).id, self.seen)
        said = f"marked as {'seen' if self.seen else 'not seen'}"
        return done([Told(", ".join(self.ids), said)])


class SaveDraft(Verb):
    """Keep a text that was typed and not sent, under a key; an empty one is dropped."""

    op = "draft.save"
    works_on_full_disk = True

    key: str
    text: str

    async def perform(self, deps: Dependencies) -> Done:
        with deps.store.transaction() as tx:
            tx.save_draft(self.key, self.text)
        return done([Told(self.key, "saved as a draft")])


class KeepComment(SubjectVerb):
    """A comment on `line` (from 1; 0 for the file) of `side` "new" or "old"; `quote` is the text of that line. It goes along when
    the proposal is sent back.

    `number` is one that was not sent, which it replaces; an empty `text` only removes that. Allowed while the proposal is open:
    otherwise nothing would carry the comment. One not sent can always be removed.
    """

    op = "comment"
    works_on_full_disk = True

    proposal: str
    path: str
    line: int
    text: str
    side: str = "new"
    quote: str = ""
    number: int = 0

    @property
    def subjects(self) -> Iterable[str]:
        return [self.proposal] if self.text else []

    @classmethod
    def refuse_one(cls, on: Card) -> NavigatorError | None:
        if on.open or on.newer:
            return None
        return Conflict(
            f"{on.id} is already decided; a comment on it would not be sent.",
            hint=f"To take the decision back: `navigator undo {on.id}`." if on.approved or on.landing else "",
        )

    async def perform(self, deps: Dependencies) -> Done:
        self.require(deps.reader)
        held, number = deps.reader.proposal(self.proposal), self.number
        with deps.store.transaction() as tx:
            if self.number:
                tx.drop_comment(self.number)
            if self.text:
                number = tx.add_comment(
                    held.id, path=self.path, side=self.side, line=self.line, quote=self.quote, text=self.text
                )
        became = "added; it is sent when you send the proposal back" if self.text else "removed"
        return done([Told(f"comment {number}", became)], comment=number, removed=not self.text)


# What findings were worth: the reviewer's record. It decides nothing.

WORDS = {Judgement.RIGHT: "right", Judgement.WRONG: "wrong", Judgement.NOT_WORTH_IT: "not worth it"}


class JudgeFinding(Verb):
    """A finding by its number (from 1) among those of a proposal; `judgement` None takes an earlier word back.

    Without a proposal: `precedent` is dropped. Allowed at any time: it blocks nothing and changes no verdict.
    """

    op = "finding.judge"
    works_on_full_disk = True

    proposal: str = ""
    number: int = 0
    judgement: Judgement | None = None
    note: str = ""
    precedent: int = 0

    def refuse(self, reader: Reader) -> NavigatorError | None:
        return None if self.precedent else refusal_of(lambda: self._find(reader))

    def question(self, reader: Reader) -> Question | None:
        if self.judgement is None:
            return None
        _, _, finding = self._find(reader)
        title = f"Finding {self.number} of {self.proposal} is {WORDS[self.judgement]}."
        wrong = self.judgement is Judgement.WRONG
        why = "why (optional); later reviews are shown it" if wrong else "why (optional)"
        return Question(title, (finding.message,), "keep", note=NoteField(why))

    async def perform(self, deps: Dependencies) -> Done:
        self.require(deps.reader)
        note = deps.redact(self.note.strip())
        with deps.store.transaction() as tx:
            if self.precedent:
                tx.end_precedent(self.precedent)
                return done([Told(f"Precedent {self.precedent}", "is dropped")], **dict(self))
            about = self._find(tx.read)
            judged = Judged(judgement=self.judgement, note=note) if self.judgement else None
            leaves = bool(note) and self.judgement is Judgement.WRONG
            project = tx.read.proposal(self.proposal).project_id
            kept = _precedent(about[2], note, project) if leaves else None
            tx.judge_finding(self.proposal, about, judged, kept)
        said = WORDS[self.judgement] if self.judgement else "not judged any more"
        said += "; later reviews near to it are shown why" if leaves else ""
        return done([Told(self.proposal, f"finding {self.number}: {said}")], **dict(self))

    def _find(self, reader: Reader) -> tuple[Role, int, Finding]:
        proposal = reader.proposal(self.proposal)
        held = numbered(proposal)
        if not 1 <= self.number <= len(held):
            raise NotFound(
                f"{proposal.id} has no finding {self.number}; it has {plural(len(held), 'finding')}.",
                hint=f"`navigator diff {proposal.id}` numbers them.",
            )
        return held[self.number - 1]


def _precedent(finding: Finding, note: str, project_id: int) -> Precedent:
    texts = {
        "path": finding.path,
        "quote": finding.quote,
        "message": finding.message or "(no message)",
        "note": note,
    }
    cut = {name: text[:MOST_TEXT] for name, text in texts.items()}
    return Precedent(project_id=project_id, criterion=finding.criterion, **cut)
