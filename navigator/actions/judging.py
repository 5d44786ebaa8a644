"""Say of a finding that it is right, wrong, or not worth a change: the reviewer's record. It decides nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from navigator.actions.base import NoteField, Question, Told, Verb
from navigator.model.errors import NavigatorError, NotFound
from navigator.model.models import Finding, Judged, Model
from navigator.model.states import Judgement, Role
from navigator.model.text import plural

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies
    from navigator.store.reads.reader import Reader

WORDS = {Judgement.RIGHT: "right", Judgement.WRONG: "wrong", Judgement.NOT_WORTH_IT: "not worth it"}


class JudgeArgs(Model):
    """A finding by its number (from 1) among those of a proposal; `judgement` None takes an earlier word back."""

    proposal: str
    number: int
    judgement: Judgement | None = None
    note: str = ""


class JudgeFinding(Verb[JudgeArgs, JudgeArgs]):
    """Allowed at any time, of every proposal: it blocks nothing and changes no verdict."""

    name = "finding.judge"
    args = JudgeArgs
    result = JudgeArgs
    small = True

    def refuse(self, reader: Reader, args: JudgeArgs) -> NavigatorError | None:
        try:
            _found(reader, args)
        except NavigatorError as error:
            return error
        return None

    def question(self, reader: Reader, args: JudgeArgs) -> Question | None:
        if args.judgement is None:
            return None
        _, _, finding = _found(reader, args)
        title = f"Finding {args.number} of {args.proposal} is {WORDS[args.judgement]}."
        return Question(title, (finding.message,), "keep", note=NoteField("why (optional)"))

    async def perform(self, deps: Dependencies, args: JudgeArgs) -> JudgeArgs:
        self.require(deps.reader, args)
        role, place, finding = _found(deps.reader, args)
        judged = Judged(judgement=args.judgement, note=args.note.strip()) if args.judgement else None
        with deps.store.transaction() as tx:
            tx.judge_finding(args.proposal, role, place, finding, judged)
        return args

    def tell(self, result: JudgeArgs) -> list[Told]:
        said = WORDS[result.judgement] if result.judgement else "not judged any more"
        return [Told(result.proposal, f"finding {result.number}: {said}")]


def _found(reader: Reader, args: JudgeArgs) -> tuple[Role, int, Finding]:
    proposal = reader.proposal(args.proposal)
    held = proposal.findings
    if not 1 <= args.number <= len(held):
        raise NotFound(
            f"{proposal.id} has no finding {args.number}; it has {plural(len(held), 'finding')}.",
            hint=f"`navigator diff {proposal.id}` numbers them.",
        )
    return held[args.number - 1]
