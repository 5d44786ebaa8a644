"""The store's records as the plain rows that the evidence room counts."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from navigator.domain.models import Proposal
from navigator.domain.states import Complexity, EditCode, Role, TaskKind, Verdict
from navigator.evidence.rates import moment
from navigator.evidence.readings import ReadingRow
from navigator.evidence.rows import CallRow, DecidedRow, EditRound, FirstVerdict, TaskRow
from navigator.evidence.self_review import OwnRow
from navigator.evidence.swaps import median_swap
from navigator.evidence.throughput import throughput
from navigator.scheduling.forecast import PUBLISHED, Figures

if TYPE_CHECKING:
    from navigator.store.reads.reader import Reader


def first_verdicts(reader: Reader) -> list[FirstVerdict]:
    """First reviews of first proposals; model and prompt version are the reviewer's."""
    return [
        FirstVerdict(
            project=row["project"],
            kind=TaskKind(row["kind"]),
            complexity=Complexity(row["complexity"]),
            model=row["review_model"],
            prompt_version=row["review_prompt_version"],
            verdict=Verdict(row["verdict"]),
            stated_verdict=Verdict(row["stated_verdict"]) if row["stated_verdict"] else None,
            self_review=row["self_review"],
            rehearsal=row["rehearsal"],
            at=row["at"],
        )
        for row in reader.first_verdicts()
    ]


def own_rows(reader: Reader) -> list[OwnRow]:
    """What writers and reviewers said of the same first proposals."""
    return [
        OwnRow(own=Verdict(row["own"]), reviewer=Verdict(row["reviewer"]), rehearsal=row["rehearsal"])
        for row in reader.own_verdicts()
    ]


def call_rows(reader: Reader) -> list[CallRow]:
    """Model calls that ended. One whose answer did not apply, or broke tests, was answered all the same."""
    return [
        CallRow(
            role=call.role,
            model=call.model,
            purpose=call.purpose,
            ok=call.outcome in ("ok", "refused", "tests_failed"),
            prompt_tokens=call.usage.prompt_tokens,
            completion_tokens=call.usage.completion_tokens,
            cached_tokens=call.usage.cached_tokens,
            seconds=call.usage.seconds,
            at=call.ended or call.started,
            rehearsal=call.rehearsal,
        )
        for call in reader.calls()
        if call.outcome not in ("started", "lost")
    ]


def task_rows(reader: Reader, since: str | None = None) -> list[TaskRow]:
    """Every task with its state; a rehearsal's if a rehearsal ever answered for it, or made what it is a part of.

    One that came from a rehearsal's task, and that no model was asked about yet, is in no table: nothing real happened to it.

    Args:
        since: only those that moved at or after this moment (UTC, ISO 8601).
    """
    calls = reader.calls()
    asked = {call.task_id for call in calls}
    # A part was made without a call: its proposal has the mark of the one that it was taken from.
    rehearsed = {call.task_id for call in calls if call.rehearsal}
    parts = [proposal for proposal in reader.proposals() if proposal.parent]
    asked |= {part.task_id for part in parts}
    rehearsed |= {part.task_id for part in parts if part.rehearsal}
    return [
        TaskRow(state=task.state, rehearsal=task.id in rehearsed)
        for task in reader.tasks()
        if _is_within(task.updated, since) and (task.id in asked or task.origin not in rehearsed)
    ]


def _is_within(at: str, since: str | None) -> bool:
    return since is None or moment(at) >= moment(since)


def decided_rows(reader: Reader, since: str | None = None) -> list[DecidedRow]:
    """Every proposal that was decided, with what the reviewer had said.

    One that was taken in part and whose rest was dropped is none: it was neither approved nor rejected.

    Args:
        since: only decisions at or after this moment (UTC, ISO 8601).
    """
    proposals = reader.proposals()
    taken_in_part = {proposal.parent for proposal in proposals if proposal.parent}
    return [
        DecidedRow(
            verdict=proposal.review.verdict if proposal.review else None,
            decision=proposal.decision.kind,
            self_review=proposal.review.self_review if proposal.review else False,
            rehearsal=proposal.rehearsal,
        )
        for proposal in proposals
        if proposal.decision is not None
        and proposal.id not in taken_in_part
        and _is_within(proposal.decision.at, since)
    ]


def readings(reader: Reader) -> list[ReadingRow]:
    """The reviewer's reading of every proposal that was read and not planted."""
    return [
        ReadingRow(review=proposal.review, round=proposal.round)
        for proposal in reader.proposals()
        if proposal.review is not None and not proposal.parent
    ]


def edit_rounds(reader: Reader, since: str | None = None) -> list[EditRound]:
    """One row a round that asked for edits: the rungs of what applied, the codes of what did not. A part asked for none.

    Args:
        since: only rounds whose proposal was made, or whose last edits failed, at or after this moment (UTC, ISO 8601).
    """
    made: dict[tuple[str, int, int], Proposal] = {
        (proposal.task_id, proposal.attempt, proposal.round): proposal
        for proposal in reader.proposals()
        if not proposal.parent
    }
    codes: defaultdict[tuple[str, int, int], list[EditCode]] = defaultdict(list)
    rehearsed: dict[tuple[str, int, int], bool] = {}
    ended = {key: proposal.created for key, proposal in made.items()}
    for row in reader.edit_failures():
        key = (row.task_id, row.attempt, row.round)
        codes[key].append(row.code)
        rehearsed[key] = row.rehearsal
        if key not in made:
            ended[key] = row.at
    return [
        EditRound(
            rungs=tuple(edit.rung for edit in made[key].edits) if key in made else (),
            codes=tuple(codes.get(key, ())),
            rehearsal=made[key].rehearsal if key in made else rehearsed[key],
        )
        for key in sorted(made.keys() | codes.keys())
        if _is_within(ended[key], since)
    ]


def measured_figures(reader: Reader, *, with_rehearsal: bool) -> tuple[Figures, tuple[str, ...]]:
    """Figures of a forecast from this machine's own swaps and calls, the published ones for what is not measured yet.

    Args:
        with_rehearsal: where the newest swap was a rehearsal's, take the rehearsal's figures: they are what its developer
            sees. They say nothing about a real model.

    Returns:
        The figures, and the names of those that were measured.
    """
    swaps = reader.swaps()
    rehearsal = bool(with_rehearsal and swaps and swaps[0].rehearsal)
    swaps = [swap for swap in swaps if swap.rehearsal is rehearsal]
    found: dict[str, Any] = {}
    for name, role in (("swap_in", Role.REVIEWER), ("swap_back", Role.GENERATOR)):
        strategy = swaps[0].strategy if swaps else ""
        seconds = median_swap(swaps, role, strategy=strategy, rehearsal=rehearsal)
        if seconds is not None:
            found[name] = seconds
    calls = [
        call for call in call_rows(reader) if call.rehearsal is rehearsal and call.role is not Role.FINAL
    ]
    for row in throughput(calls):
        if row.tokens_per_second:
            generator = row.role is Role.GENERATOR
            found["generator_speed" if generator else "reviewer_speed"] = row.tokens_per_second
    for row in throughput(call for call in calls if _is_its_part(call)):
        generator = row.role is Role.GENERATOR
        if row.calls > row.failed:
            each = row.completion_tokens / (row.calls - row.failed)
            found["proposal_tokens" if generator else "review_tokens"] = each
    figures = replace(PUBLISHED, **found, source="measured") if found else PUBLISHED
    return figures, tuple(sorted(found))


def _is_its_part(call: CallRow) -> bool:
    """Whether a call is what a batch is made of: the generator writes a change, the reviewer reads one."""
    if call.role is Role.REVIEWER:
        return call.purpose.startswith("review")
    return not call.purpose.startswith("review") and call.purpose not in ("scan", "report")
