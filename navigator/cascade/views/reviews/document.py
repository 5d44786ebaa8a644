"""A review of existing work as plain data that may leave this machine: what a model or an author wrote is redacted.

Every other form is made of these documents, so nothing else has to be redacted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from navigator.model.models import Finding, Proposal, Task
from navigator.model.secrets import Redactor
from navigator.model.states import Severity, TaskState, Verdict
from navigator.store.reads.reader import Reader

_BY_WEIGHT = tuple(Severity)


def review_document(reader: Reader, task: Task, proposal: Proposal, redact: Redactor) -> dict[str, Any]:
    """One review. `verdict` is None where there is none, and `reason` then says why.

    Args:
        redact: knows the values of the project's withheld files; tokens of a known form are taken out besides.
    """
    review = proposal.review
    ended = review is None and task.state in (TaskState.FAILED, TaskState.CANCELLED)
    return {
        "ref": redact(task.ref),
        "project": task.project,
        "task": task.id,
        "proposal": proposal.id,
        "title": redact.outgoing(proposal.title),
        "base_commit": proposal.base_commit,
        "head": task.head,
        "added": proposal.added,
        "removed": proposal.removed,
        "state": task.state.value,
        "verdict": review.verdict.value if review else None,
        "stated_verdict": review.stated_verdict.value if review and review.stated_verdict else None,
        "summary": redact.outgoing(review.summary) if review else "",
        "reason": redact.outgoing(task.reason) if ended else "",
        "findings": [_finding(one, redact) for one in review.findings] if review else [],
        "model": review.model if review else "",
        "self_review": bool(review and review.self_review),
        "prompt_version": review.prompt_version if review else "",
        "rehearsal": reader.rehearsal,
        "at": review.at if review else "",
    }


def _finding(finding: Finding, redact: Redactor) -> dict[str, Any]:
    told = finding.reproduction
    return {
        "kind": finding.kind.value,
        "hunk": finding.hunk,
        "path": redact(finding.path),
        "line": finding.line,
        "side": finding.side,
        "quote": redact.outgoing(finding.quote),
        "severity": finding.severity.value,
        "criterion": finding.criterion.value,
        "trigger": redact.outgoing(finding.trigger),
        "message": redact.outgoing(finding.message),
        "anchored": finding.anchored,
        "unanchored": finding.why_unanchored,
        "reproduction": told.outcome.value if told else None,
    }


def overruled(documents: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those whose verdict is APPROVE although the reviewer said REVISE."""
    said = (Verdict.REVISE.value, Verdict.APPROVE.value)
    return [one for one in documents if (one["stated_verdict"], one["verdict"]) == said]


def standing(documents: Iterable[dict[str, Any]], at_least: str) -> int:
    """How many findings count and are at least that severe: those whose quotes were found."""
    limit = _BY_WEIGHT.index(Severity(at_least))
    return sum(
        finding["anchored"] and _BY_WEIGHT.index(Severity(finding["severity"])) <= limit
        for one in documents
        for finding in one["findings"]
    )


def unread(documents: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The reviews without a verdict: nobody may take them for an approval."""
    return [one for one in documents if one["verdict"] in (None, Verdict.UNREVIEWED.value)]
