"""Asks the reviewer about one item of the exam, by the very path of a normal review; only the answer is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from navigator.cascade.dependencies import Dependencies
from navigator.cascade.stages.review import read_change
from navigator.cascade.stages.subject import Subject, read_subject
from navigator.model.diff import FileDiff
from navigator.model.exam import ExamAnswer, ExamItem
from navigator.model.models import CheckResult, Finding, Project, Proposal, Review, Task
from navigator.model.states import CheckOutcome, Role
from navigator.store.reads.reader import Reader

NEAR = 3
"""Lines between a finding and the seeded place at most: the width of a diff's context."""

_GATES = ("edits apply", "files parse", "path policy")


async def ask_item(deps: Dependencies, item_id: int, *, turn: int) -> None:
    """Have the loaded reviewer read one item, and keep its answer: the first one (`turn` 0) or the second (1).

    Raises:
        ServingError: it did not answer; the item is asked again.
    """
    item = deps.reader.exam_item(item_id)
    subject = await exam_subject(deps, item)
    review = await read_change(deps, subject, Role.REVIEWER)
    answer = _answer(item, review, subject.files).model_copy(update={"turn": turn})
    with deps.store.transaction() as tx:
        tx.add_exam_answer(ExamAnswer.model_validate(deps.redact.data(answer.model_dump())))


async def exam_subject(deps: Dependencies, item: ExamItem) -> Subject:
    """The item as a review sees a proposal: a task and a proposal that are in no table, and the diff from git."""
    project = deps.project(item.project_id)
    private = await asyncio.to_thread(deps.private, project)
    task = Task(
        id="",
        project_id=project.id,
        project=project.name,
        text=item.text,
        kind=item.kind,
        complexity=item.complexity,
        created=item.created,
        updated=item.created,
    )
    proposal = Proposal(
        id="",
        task_id="",
        project_id=project.id,
        project=project.name,
        attempt=0,
        round=0,
        base_commit=item.base_commit,
        tree=item.tree,
        title=item.title,
        summary=item.summary,
        checks=usual_checks(deps.reader, project),
    )
    async with deps.project_lock(project.id):
        return await asyncio.to_thread(read_subject, private, project, task, proposal, exam_item=item.id)


def usual_checks(reader: Reader, project: Project) -> tuple[CheckResult, ...]:
    """What the checks say of a proposal of this project in which nothing failed: the same for every item.

    Those of the newest reviewed proposal, word for word; before there is one, what it would say.
    """
    if found := reader.usual_checks(project.id):
        return found
    tests = CheckResult(name="tests", outcome=CheckOutcome.UNTESTED, detail="no test command")
    if project.check.strip():
        passed = reader.passed_baseline(project.id)
        tests = CheckResult(name="tests", outcome=CheckOutcome.PASSED, detail=passed)
    return (*(CheckResult(name=name, outcome=CheckOutcome.PASSED) for name in _GATES), tests)


def _answer(item: ExamItem, review: Review, files: Sequence[FileDiff]) -> ExamAnswer:
    return ExamAnswer(
        item_id=item.id,
        verdict=review.verdict,
        stated_verdict=review.stated_verdict,
        findings=review.findings,
        named=names_place(item, review.findings, files),
        parts=review.parts,
        prompt_version=review.prompt_version,
        model=review.model,
        usage=review.usage,
        at=review.at,
    )


def names_place(item: ExamItem, findings: Iterable[Finding], files: Sequence[FileDiff]) -> bool:
    """Whether an anchored finding is within `NEAR` lines of the seeded fault."""
    # A fix that was taken back may have been in several places.
    places = item.evidence.get("places") or [(item.path, item.line, max(item.line, item.end_line))]
    return any(
        finding.path == path and begin <= last + NEAR and end >= first - NEAR
        for finding in findings
        if finding.anchored and finding.line
        for begin, end in [_place(finding, files)]
        for path, first, last in places
        if path and first
    )


def _place(finding: Finding, files: Sequence[FileDiff]) -> tuple[int, int]:
    """The lines of the new file that a finding is about: of a removed line, those of its hunk's new side."""
    line = finding.line or 0
    if finding.side != "old":
        return line, line
    for file in files:
        for hunk in file.hunks if file.path == finding.path else ():
            if hunk.old_start <= line < hunk.old_start + hunk.old_count:
                at = hunk.new_start + line - hunk.old_start
                end = hunk.new_start + max(0, hunk.new_count - 1)
                return min(at, end), min(at, end)
    return line, line
