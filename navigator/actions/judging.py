"""Say of a finding that it is right, wrong, or not worth a change: the reviewer's record. It decides nothing.

A finding that is wrong for a reason that was given becomes a precedent of its project, which later reviews are shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from navigator.actions.base import NoteField, Question, Told, Verb
from navigator.model.errors import NavigatorError, NotFound
from navigator.model.models import Finding, Judged, Model
from navigator.model.states import Judgement, Role
from navigator.model.text import plural
from navigator.store.reads.exam import MOST_TEXT, Precedent

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies
    from navigator.store.reads.reader import Reader

WORDS = {Judgement.RIGHT: "right", Judgement.WRONG: "wrong", Judgement.NOT_WORTH_IT: "not worth it"}


class JudgeArgs(Model):
    """A finding by its number (from 1) among those of a proposal; `judgement` None takes an earlier word back.

    Without a proposal: `precedent` is dropped.
    """

    proposal: str = ""
    number: int = 0
    judgement: Judgement | None = None
    note: str = ""
    precedent: int = 0


class JudgeFinding(Verb[JudgeArgs, JudgeArgs]):
    """Allowed at any time, of every proposal: it blocks nothing and changes no verdict."""

    name = "finding.judge"
    args = JudgeArgs
    result = JudgeArgs
    small = True

    def refuse(self, reader: Reader, args: JudgeArgs) -> NavigatorError | None:
        try:
            if not args.precedent:
                _find_finding(reader, args)
        except NavigatorError as error:
            return error
        return None

    def question(self, reader: Reader, args: JudgeArgs) -> Question | None:
        if args.judgement is None:
            return None
        _, _, finding = _find_finding(reader, args)
        title = f"Finding {args.number} of {args.proposal} is {WORDS[args.judgement]}."
        why = (
            "why (optional); later reviews are shown it"
            if args.judgement is Judgement.WRONG
            else "why (optional)"
        )
        return Question(title, (finding.message,), "keep", note=NoteField(why))

    async def perform(self, deps: Dependencies, args: JudgeArgs) -> JudgeArgs:
        self.require(deps.reader, args)
        note = deps.redact(args.note.strip())
        with deps.store.transaction() as tx:
            if args.precedent:
                tx.end_precedent(args.precedent)
                return args
            about = _find_finding(tx.read, args)
            judged = Judged(judgement=args.judgement, note=note) if args.judgement else None
            leaves = note and args.judgement is Judgement.WRONG
            project = tx.read.proposal(args.proposal).project_id
            tx.judge_finding(
                args.proposal, about, judged, _precedent(about[2], note, project) if leaves else None
            )
        return args

    def tell(self, result: JudgeArgs) -> list[Told]:
        if result.precedent:
            return [Told(f"Precedent {result.precedent}", "is dropped")]
        said = WORDS[result.judgement] if result.judgement else "not judged any more"
        if result.judgement is Judgement.WRONG and result.note.strip():
            said += "; later reviews near to it are shown why"
        return [Told(result.proposal, f"finding {result.number}: {said}")]


def _precedent(finding: Finding, note: str, project_id: int) -> Precedent:
    texts = {
        "path": finding.path,
        "quote": finding.quote,
        "message": finding.message or "(no message)",
        "note": note,
    }
    cut = {name: text[:MOST_TEXT] for name, text in texts.items()}
    return Precedent(project_id=project_id, criterion=finding.criterion, **cut)


def _find_finding(reader: Reader, args: JudgeArgs) -> tuple[Role, int, Finding]:
    proposal = reader.proposal(args.proposal)
    held = proposal.findings
    if not 1 <= args.number <= len(held):
        raise NotFound(
            f"{proposal.id} has no finding {args.number}; it has {plural(len(held), 'finding')}.",
            hint=f"`navigator diff {proposal.id}` numbers them.",
        )
    return held[args.number - 1]
