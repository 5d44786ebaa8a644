"""One reading of one proposal: ask, ground every finding, derive the verdict."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from navigator.client.body import same_base
from navigator.client.errors import BadAnswer, CutByLength, ServingError
from navigator.config.settings import ServerSettings, Settings
from navigator.journey.calls import FAILED_CALLS_A_ROUND, call_model, is_requests_fault, is_tasks_fault
from navigator.journey.dependencies import Dependencies, Prompting
from navigator.journey.looking import look_first
from navigator.journey.moves import proposal_of_round
from navigator.journey.reproducing import has_unasked, plan_reproductions
from navigator.journey.reviewing.answer import RawReview, UnreadableReview, read_review, review_schema
from navigator.journey.reviewing.join import Answered, Talk, join
from navigator.journey.reviewing.prompt import Parts, Planner, Reading, ReviewPromptDependencies
from navigator.journey.subject import Change, gather_subject, held_of, leaving_messages, precedents_for
from navigator.model.models import Proposal, Reproduction, Review, Task, Usage, utc_now
from navigator.model.states import Escalation, Role, Verdict
from navigator.process.bounded import WorkerLost, run_bounded
from navigator.sheet.marks import careful_paths
from navigator.store.reads.ledger import StoredAnswer

if TYPE_CHECKING:
    from navigator.store.reads.reader import Reader
    from navigator.store.writes.writer import Transaction

log = logging.getLogger(__name__)

REVIEW_TOKENS = 2_000
"""max_tokens of a review: they are 500-1,000 long, and a schema bounds each string. A retry after a cut may take twice that."""

GROUNDING = 30.0
"""Seconds of processor time in which the quotes of one review are looked for."""

AGAIN = "review again"
"""What it says of the reviewer's second reading of a proposal, which the developer asked for."""

PURPOSES = {Role.REVIEWER: "review", Role.FINAL: "final"}
"""What the calls table says of each role's readings."""

EXAM = "exam"
"""What it says of a reading of an item of the exam."""


@dataclass(frozen=True)
class Read:
    """A review, the conversations that it took, and the tests that are to prove its findings.

    Attributes:
        kept: it is in the store already, from before an interruption.
    """

    review: Review
    talks: Sequence[Talk] = ()
    tests: Sequence[Reproduction] = ()
    kept: bool = False


async def read_proposal(
    deps: Dependencies, task: Task, proposal: Proposal, role: Role = Role.REVIEWER
) -> Read:
    """One reading of a proposal by `role`'s model. Nothing but its calls is stored; the tests of an earlier reading stand.

    Raises:
        ServingError: the model did not answer.
    """
    if role is Role.FINAL or task.escalated is Escalation.AGAIN:
        return Read(*await _review(deps, task, proposal, role))
    held = held_of(deps.reader, task, proposal)
    if held and proposal.review is not None and not has_unasked(held):
        return Read(proposal.review, kept=True)
    # Where tests are still to be asked for, what was answered is read once more: they are asked for in its conversations.
    review, talks = await _review(deps, task, proposal, role)
    tests = await plan_reproductions(deps, task, review) if review.findings and not held else []
    return Read(review, talks, tests, kept=bool(held))


async def _review(
    deps: Dependencies, task: Task, proposal: Proposal, role: Role
) -> tuple[Review, list[Talk]]:
    """One reading of one proposal by `role`'s model, and the conversations that it took; nothing but its calls is stored.

    Raises:
        ServingError: the model did not answer.
    """
    kept = deps.prepared.pop(_plan_key(deps, task, proposal), None) if role is Role.REVIEWER else None
    if isinstance(kept, Planned):
        subject = replace(kept.subject, task=task, proposal=proposal)
        return await read_change(deps, subject, role, kept.plan)
    subject = await gather_subject(deps, task, proposal, role)
    if role is Role.FINAL:
        why = subject.guarded
        if task.escalated and not deps.reader.project(task.project_id).escalate:
            why = f"{task.project} does not let its proposals leave this machine"
        if why:
            return _withheld(deps, subject, why), []
    return await read_change(deps, subject, role)


@dataclass(frozen=True, slots=True)
class Planned:
    """A proposal as it was read from git, and the prompts of its review."""

    subject: Change
    plan: Parts


async def prepare_review(deps: Dependencies, task_id: str) -> tuple[Hashable, Planned]:
    """What the review of a task's proposal begins with, and the key under which it is found; nothing is asked or stored."""
    task, proposal = deps.reader.task(task_id), deps.reader.open_proposal(task_id)
    subject = await gather_subject(deps, task, proposal, Role.REVIEWER)
    plan = await asyncio.to_thread(plan_review, subject, prompt_dependencies(deps, Role.REVIEWER))
    return _plan_key(deps, task, proposal), Planned(subject, plan)


def _plan_key(deps: Dependencies, task: Task, proposal: Proposal) -> Hashable:
    """Everything that a review's prompts depend on and that may change while they are kept."""
    shown = tuple(one.id for one in precedents_for(deps.reader, task, proposal, Role.REVIEWER))
    return task.text, task.note, proposal.id, proposal.checks, shown, deps.prompts.versions


async def read_change(
    deps: Dependencies, subject: Change, role: Role, plan: Parts | None = None
) -> tuple[Review, list[Talk]]:
    """One reading of a change by `role`'s model, a proposal's or that of an item of the exam, and the conversations it took.

    Raises:
        ServingError: the model did not answer.
    """
    if plan is None:
        plan = await asyncio.to_thread(plan_review, subject, prompt_dependencies(deps, role))
    if role is Role.REVIEWER and subject.exam_item is None:
        with deps.store.transaction() as tx:
            tx.pin_precedents(subject.proposal.id, plan.precedents)
    answered: list[Answered] = []
    answers: list[StoredAnswer] = []
    talks: list[Talk] = []
    for place, reading in enumerate(plan.readings):
        before = len(answers)
        try:
            answered.append(await _ask(deps, subject, reading, role, 2 * place, answers))
        except ServingError as error:
            if not _is_its_fault(deps, subject, error, role):
                raise
            answered.append(Answered(reading, None, error.message))
        talks += [Talk(reading, answer.text) for answer in answers[before:][-1:]]
    answered += [Answered(None, None, why) for why in plan.too_large]
    model = answers[-1].model if answers else deps.settings.server(role).model
    usage = sum((answer.usage for answer in answers), Usage())
    review = await asyncio.to_thread(conclude, subject, plan, answered, usage, model=model, role=role)
    return review, talks


def read_answer(text: str, reading: Reading) -> RawReview:
    """What an answer says, read where it can be ended.

    Raises:
        UnreadableReview: it is no review. WorkerLost: reading it took too long.
    """
    return run_bounded(read_review, text, reading.asked, size=len(text))


def prompt_dependencies(deps: Prompting, role: Role) -> ReviewPromptDependencies:
    """What reviews by `role` are made of: its tokenizer, and the room that its server's context leaves."""
    server = deps.settings.server(role)
    counter = deps.counter_for(role)
    return ReviewPromptDependencies(
        deps.prompts,
        deps.keys,
        counter.count,
        counter.exact,
        server.context_tokens - answer_room(server)[0],
    )


def answer_room(server: ServerSettings) -> tuple[int, int]:
    """max_tokens of a review and of its retry, as far as the context has room for them beside a prompt of any use."""
    first = min(REVIEW_TOKENS, server.max_tokens, max(1, server.context_tokens // 4))
    return first, min(2 * first, server.max_tokens)


def _withheld(deps: Dependencies, subject: Change, why: str) -> Review:
    """The final model may be anywhere: a change that touches what is never shown is not sent to it."""
    model = deps.settings.final.model
    return Review(
        role=Role.FINAL,
        verdict=Verdict.UNREVIEWED,
        summary=f"Not sent to the final model. {why}.",
        prompt_version=prompt_dependencies(deps, Role.FINAL).prompts.get("review").version,
        model=model,
        at=utc_now(),
    )


def plan_review(subject: Change, deps: ReviewPromptDependencies) -> Parts:
    """The prompts of a review. CPU only, and not little of it: call it in a thread."""
    return Planner(
        deps,
        subject.task,
        subject.files,
        subject.around,
        subject.proposal.checks,
        subject.earlier,
        callers=subject.callers,
        precedents=subject.precedents,
    ).plan()


async def _ask(
    deps: Dependencies, subject: Change, reading: Reading, role: Role, seq: int, answers: list[StoredAnswer]
) -> Answered:
    """Ask, and once more if the answer cannot be read; then it counts as unread, never as APPROVE.

    What was answered before a crash is not asked again, unless it is another reading that the developer wants.

    Raises:
        ServingError: the server did not answer.
    """
    task, why = subject.task, ""
    messages = leaving_messages(deps.redact, reading) if role is Role.FINAL else reading.messages
    again = role is Role.REVIEWER and task.escalated is Escalation.AGAIN
    purpose = EXAM if subject.exam_item is not None else AGAIN if again else PURPOSES[role]
    shows = "" if again or role is Role.FINAL or subject.exam_item is not None else _shown(subject, reading)
    schema = review_schema(
        reading.labels, again=len(subject.earlier), asked=reading.asked, precedents=reading.numbers
    )
    first, longer = answer_room(deps.settings.server(role))
    room = first
    if role is Role.REVIEWER:
        looked = await look_first(
            deps, subject, reading, purpose=purpose, seq=seq, max_tokens=first, shows=shows
        )
        messages = tuple(looked.messages)
        answers += looked.asked
        if looked.answer is not None:
            try:
                read = Answered(reading, await asyncio.to_thread(read_answer, looked.answer.text, reading))
            except (UnreadableReview, WorkerLost):
                log.info("%s: the answer after its looks was no review; it is asked for one", task.id)
            else:
                answers.append(looked.answer)
                return read
    for attempt in range(2):
        try:
            answer = await call_model(
                deps,
                role,
                task,
                purpose=purpose,
                exam_item=subject.exam_item,
                prompt_version=reading.version,
                messages=messages,
                max_tokens=room,
                schema=schema,
                seq=seq + attempt,
                shows=shows,
            )
        except (CutByLength, BadAnswer) as error:
            why = error.message
            fits = reading.tokens + longer <= deps.settings.server(role).context_tokens
            room = longer if isinstance(error, CutByLength) and fits else first
            continue
        answers.append(answer)
        try:
            return Answered(reading, await asyncio.to_thread(read_answer, answer.text, reading))
        except (UnreadableReview, WorkerLost) as error:
            why = str(error)
            if subject.exam_item is None:
                with deps.store.transaction() as tx:
                    about = subject.proposal.id
                    tx.event("review_unreadable", task_id=task.id, proposal_id=about, data={"why": why})
    return Answered(reading, None, why)


def _shown(subject: Change, reading: Reading) -> str:
    """What one prompt of a review shows, as a digest: the tree, its hunks, and the findings that it asks about."""
    text = " ".join((subject.proposal.tree, *reading.labels, *map(str, reading.asked)))
    return hashlib.sha256(text.encode()).hexdigest()


def _is_its_fault(deps: Dependencies, subject: Change, error: ServingError, role: Role) -> bool:
    """Whether asking again later would change nothing; see `is_tasks_fault`."""
    if subject.exam_item is None:
        return is_tasks_fault(deps.reader, subject.task, error, role)
    version = deps.prompts.get("review").version
    failed = deps.reader.exam_failed_calls(subject.exam_item, version)
    return is_requests_fault(error) or failed >= FAILED_CALLS_A_ROUND


def conclude(
    subject: Change,
    plan: Parts,
    answered: Sequence[Answered],
    usage: Usage,
    *,
    model: str,
    role: Role,
) -> Review:
    """What the answers come to: one review with its derived verdict. CPU only: call it in a thread."""
    proposal = subject.proposal
    size = sum(len(line.text) for file in subject.files for hunk in file.hunks for line in hunk.lines)
    size += sum(len(finding.quote) for answer in answered if answer.raw for finding in answer.raw.findings)
    try:
        joined = run_bounded(
            join,
            answered,
            subject.earlier,
            bool(subject.earlier),
            subject.wrong,
            size=size,
            seconds=GROUNDING,
        )
    except WorkerLost as error:
        unread = [Answered(answer.reading, None, error.message) for answer in answered]
        joined = join(unread, subject.earlier, bool(subject.earlier))
    return Review(
        role=role,
        verdict=joined.verdict,
        stated_verdict=joined.stated,
        self_review=is_own(proposal, role, model),
        summary=joined.summary,
        findings=joined.findings,
        addressed=joined.addressed,
        parts=max(1, len(plan.readings)),
        hunks=joined.hunks,
        unread=joined.unread,
        prompt_version=plan.version,
        model=model,
        usage=usage,
        at=utc_now(),
    )


def is_own(proposal: Proposal, role: Role, model: str) -> bool:
    """Whether the model that reads is the one that wrote: by its role, or by its name where one model plays both."""
    named = bool(proposal.model and model)
    return proposal.written_by is role or (named and same_base(proposal.model, model))


def keep_review(tx: Transaction, deps: Dependencies, proposal: Proposal, read: Read) -> Review:
    """Store a review and the tests that are to come with it; returns it as it counts."""
    review = read.review
    if review.role is Role.REVIEWER:
        own = review.self_review or deps.servers.strategy.one_base
        review = review.model_copy(update={"self_review": own, "block_on": deps.settings.review.block_on})
        if review.verdict is Verdict.REVISE:
            review = review.model_copy(update={"advice": _why_advice(deps, review)})
    # A finding quotes what the reviewer was shown; a secret in it is not shown to anyone else.
    kept = Review.model_validate(deps.redact.data(review.model_dump()))
    number = tx.add_review(proposal.id, kept)
    if read.tests:
        tx.add_reproductions(proposal.id, number, kept.findings, read.tests)
    return review


def _why_advice(deps: Dependencies, review: Review) -> str:
    """Why a REVISE sends nothing back; "" where it does.

    A later round has a prompt of its own; the reviewer is examined under that of the first.
    """
    from navigator.figures.exam import advice_words, exam_scores
    from navigator.figures.queries import exam_counts

    examined = review.model, deps.prompts.get("review").version
    counts = [row for row in exam_counts(deps.reader) if (row.model, row.prompt_version) == examined]
    return next((advice_words(score) for score in exam_scores(counts) if score.no_better_than_chance), "")


def is_careful(reader: Reader, settings: Settings, task: Task) -> bool:
    """Whether it is escalated to the final model without being asked: it touches a careful path, and may leave this machine."""
    proposal = proposal_of_round(reader, task)
    return bool(
        settings.final.configured
        and reader.project(task.project_id).escalate
        and proposal is not None
        and careful_paths(proposal)
    )
