"""Say of a finding that it is right, wrong, or not worth a change: the reviewer's record. It decides nothing.

A finding that is wrong for a reason that was given becomes a precedent of its project, which later reviews are shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from navigator.actions.base import NoteField, Question, Told, Verb
from navigator.model.errors import NavigatorError, NotFound
from navigator.model.models import Finding, Judged, Model
from navigator.model.states import Judgement, Role
from navigator.model.text import plural
from navigator.store.reads.exam import MOST_TEXT, Precedent

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies
    from navigator.model.secrets import Redactor
    from navigator.store.reads.reader import Reader
    from navigator.store.writes.writer import Transaction

WORDS = {Judgement.RIGHT: "right", Judgement.WRONG: "wrong", Judgement.NOT_WORTH_IT: "not worth it"}
TOLD = ("criterion", "path", "quote", "message", "note")
"""What a precedent is, apart from where it is kept."""

MOST_PRECEDENTS = 200
"""That are taken from a file at once."""


class JudgeArgs(Model):
    """A finding by its number (from 1) among those of a proposal; `judgement` None takes an earlier word back.

    Without a proposal: `precedent` gets the note, and is dropped where there is none; or `project` gets `precedents`.
    """

    proposal: str = ""
    number: int = 0
    judgement: Judgement | None = None
    note: str = ""
    precedent: int = 0
    project: str = ""
    precedents: tuple[Precedent, ...] = Field(default=(), max_length=MOST_PRECEDENTS)


class JudgeFinding(Verb[JudgeArgs, JudgeArgs]):
    """Allowed at any time, of every proposal: it blocks nothing and changes no verdict."""

    name = "finding.judge"
    args = JudgeArgs
    result = JudgeArgs
    small = True

    def refuse(self, reader: Reader, args: JudgeArgs) -> NavigatorError | None:
        try:
            if args.project:
                reader.project(args.project)
            elif not args.precedent:
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
            if args.project:
                return _taken(tx, args, deps.redact)
            if args.precedent:
                ended = tx.end_precedent(args.precedent)
                if note:
                    tx.add_precedent(ended.model_copy(update={"note": note[:MOST_TEXT], "ended": ""}))
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
        if result.project:
            return [Told(result.project, f"has {plural(len(result.precedents), 'new precedent')}")]
        if result.precedent:
            said = "has another note" if result.note.strip() else "is dropped"
            return [Told(f"Precedent {result.precedent}", said)]
        said = WORDS[result.judgement] if result.judgement else "not judged any more"
        if result.judgement is Judgement.WRONG and result.note.strip():
            said += "; later reviews near to it are shown why"
        return [Told(result.proposal, f"finding {result.number}: {said}")]


def _taken(tx: Transaction, args: JudgeArgs, redact: Redactor) -> JudgeArgs:
    """Add what a project does not have yet; returns that."""
    project = tx.read.project(args.project).id
    held = {told(one) for one in tx.read.precedents(project)}
    new = []
    for one in args.precedents:
        clean = Precedent.model_validate(redact.data(one.model_dump(include=set(TOLD))))
        if told(clean) not in held:
            held.add(told(clean))
            new.append(clean.model_copy(update={"project_id": project}))
            tx.add_precedent(new[-1])
    return args.model_copy(update={"precedents": tuple(new)})


def told(one: Precedent) -> tuple[str, ...]:
    """What a precedent says, wherever it is from."""
    return tuple(str(getattr(one, name)) for name in TOLD)


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
