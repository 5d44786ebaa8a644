"""The reviewer's turn on one proposal: read, ground every finding, derive the verdict, say where the task goes."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from navigator.client.body import same_base
from navigator.client.errors import BadAnswer, CutByLength, ServingError
from navigator.config.settings import ServerSettings
from navigator.journey import change
from navigator.journey.calls import FAILED_CALLS_A_ROUND, call_model, is_requests_fault, is_tasks_fault
from navigator.journey.dependencies import Dependencies, Prompting
from navigator.journey.looking import look_first
from navigator.journey.reviewing.answer import RawReview, UnreadableReview, read_review, review_schema
from navigator.journey.reviewing.join import Answered, Talk, join
from navigator.journey.reviewing.prompt import Parts, Planner, Reading, ReviewPromptDependencies
from navigator.journey.subject import Change, gather_subject, held_of, leaving_messages, precedents_for
from navigator.model.models import Proposal, Reproduction, Review, Task, Usage, utc_now
from navigator.model.states import Escalation, ReproductionOutcome, Role, Verdict
from navigator.process.bounded import WorkerLost, run_bounded
from navigator.store.reads.ledger import StoredAnswer

log = logging.getLogger(__name__)

REVIEW_TOKENS = 2_000
"""max_tokens of a review: they are 500-1,000 long, and a schema bounds each string. A retry after a cut may take twice that."""

GROUNDING = 30.0
"""Seconds of processor time in which the quotes of one review are looked for."""

OWN_TOKENS = 800
"""max_tokens of a generator's reading of its own change, which decides nothing: it is not to cost what a review does."""

AGAIN = "review again"
"""What it says of the reviewer's second reading of a proposal, which the developer asked for."""

PURPOSES = {Role.REVIEWER: "review", Role.FINAL: "final", Role.GENERATOR: "review own"}
"""What the calls table says of each role's readings."""

EXAM = "exam"
"""What it says of a reading of an item of the exam."""


async def review(deps: Dependencies, task_id: str, role: Role = Role.REVIEWER) -> None:
    """Take a task from awaiting_review (or final_review) to its next state.

    The generator's reading of its own change is stored beside the proposal and moves nothing.

    Raises:
        ServingError: the reviewer did not answer; the task is back in awaiting_review.
    """
    task = deps.reader.task(task_id)
    proposal = deps.reader.open_proposal(task_id)
    if role is Role.FINAL:
        await _read_last(deps, task, proposal)
        return
    deps.move(change.start_review, task)
    again = task.escalated is Escalation.AGAIN
    try:
        if again:  # another reading, without tests: those of the first one stand
            review, _ = await _review(deps, task, proposal, role)
            _store(deps, task, proposal, review)
            return
        held = held_of(deps, task, proposal)
        talks: list[Talk] = []
        # Held after a crash between the review and its tests: what was answered is read once more while one is to be asked for.
        if not held or any(one.reproduction.outcome is ReproductionOutcome.UNASKED for one in held):
            review, talks = await _review(deps, task, proposal, role)
        if not held:
            rows = []
            if review.findings:
                from navigator.journey.reproducing import planned

                rows = await planned(deps, task, proposal, review)
            _store(deps, task, proposal, review, rows)
            held = held_of(deps, task, proposal)
        if held:
            from navigator.journey.reproducing import ask_tests

            await ask_tests(deps, task, proposal, held, talks)
    except ServingError as error:
        deps.move(change.ask_review, task, str(error))
        raise
    if held:
        deps.move(change.test_findings, task)


async def _read_last(deps: Dependencies, task: Task, proposal: Proposal) -> None:
    """The final model's reading. What was escalated goes back to the developer if there is no answer."""
    try:
        review, _ = await _review(deps, task, proposal, Role.FINAL)
    except ServingError as error:
        if task.escalated:
            deps.move(change.after_final, task, f"The final model did not answer: {error}")
        raise
    _store(deps, task, proposal, review)


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
        if task.escalated and not deps.project(task.project_id).escalate:
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
        answered.append(await _ask(deps, subject, reading, role, 2 * place, answers))
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
        server.context_tokens - answer_room(server, role)[0],
    )


def answer_room(server: ServerSettings, role: Role = Role.REVIEWER) -> tuple[int, int]:
    """max_tokens of a review and of its retry, as far as the context has room for them beside a prompt of any use."""
    if role is Role.GENERATOR:
        own = min(OWN_TOKENS, server.max_tokens, max(1, server.context_tokens // 4))
        return own, own
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
    """
    task, why = subject.task, ""
    messages = leaving_messages(deps.redact, reading) if role is Role.FINAL else reading.messages
    again = role is Role.REVIEWER and task.escalated is Escalation.AGAIN
    purpose = EXAM if subject.exam_item is not None else AGAIN if again else PURPOSES[role]
    asked_as = Role.REVIEWER if subject.exam_item is not None else role
    shows = "" if again or role is Role.FINAL or subject.exam_item is not None else _shown(subject, reading)
    first, longer = answer_room(deps.settings.server(role), asked_as)
    room = first
    if role is Role.REVIEWER:
        try:
            looked = await look_first(
                deps, subject, reading, purpose=purpose, seq=seq, max_tokens=first, shows=shows
            )
        except ServingError as error:
            if not _is_its_fault(deps, subject, error, role):
                raise
            return Answered(reading, None, error.message)
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
                schema=_schema(subject, reading),
                seq=seq + attempt,
                thinking=False if asked_as is Role.GENERATOR else None,
                shows=shows,
            )
        except (CutByLength, BadAnswer) as error:
            why = error.message
            fits = reading.tokens + longer <= deps.settings.server(role).context_tokens
            room = longer if isinstance(error, CutByLength) and fits else first
            continue
        except ServingError as error:
            if not _is_its_fault(deps, subject, error, role):
                raise
            why = error.message
            break
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


def _schema(subject: Change, reading: Reading) -> dict[str, Any]:
    again, numbers = len(subject.earlier), reading.numbers
    return review_schema(reading.labels, again=again, asked=reading.asked, precedents=numbers)


def _is_its_fault(deps: Dependencies, subject: Change, error: ServingError, role: Role) -> bool:
    """Whether asking again later would change nothing; see `is_tasks_fault`."""
    if subject.exam_item is None:
        return is_tasks_fault(deps, subject.task, error, role)
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


def _store(
    deps: Dependencies, task: Task, proposal: Proposal, review: Review, rows: Sequence[Reproduction] = ()
) -> None:
    """Store a review. With `rows`, which are to come with it, the task stays until the tests of its findings were asked for."""
    role = review.role
    if deps.strategy.one_base and role is Role.REVIEWER:
        review = review.model_copy(update={"self_review": True})
    if role is Role.REVIEWER:
        review = review.model_copy(update={"block_on": deps.settings.review.block_on})
    revise = review.verdict is Verdict.REVISE and role is Role.REVIEWER
    if revise and (advice := _why_advice(deps, review)):
        review = review.model_copy(update={"advice": advice})
    with deps.store.transaction() as tx:
        # A finding quotes what the reviewer was shown; a secret in it is not shown to anyone else.
        kept = Review.model_validate(deps.redact.data(review.model_dump()))
        number = tx.add_review(proposal.id, kept)
        if rows:
            tx.add_reproductions(proposal.id, number, kept.findings, rows)
        elif role is Role.REVIEWER:
            change.follow_verdict(tx, deps.settings, task, review)
        elif role is Role.FINAL:
            change.after_final(tx, task)


def _why_advice(deps: Dependencies, review: Review) -> str:
    """Why a REVISE sends nothing back; "" where it does.

    A later round has a prompt of its own; the reviewer is examined under that of the first.
    """
    from navigator.figures.exam import advice_words, exam_scores

    examined = review.model, deps.prompts.get("review").version
    counts = [row for row in deps.reader.exam_counts() if (row.model, row.prompt_version) == examined]
    return next((advice_words(score) for score in exam_scores(counts) if score.no_better_than_chance), "")
