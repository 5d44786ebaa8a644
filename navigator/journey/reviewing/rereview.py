"""The rules of a later round, kept by code and not by the model's good will.

A rereview asks two things: are the findings of the review before met, and is there a new blocker. Whatever else it
notices is kept as a remark and cannot cause REVISE; without that rule rounds go on finding new things for ever. A finding
that is not met counts once more: where the model quotes the revision, or where the old quote is still in the diff.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from navigator.journey.reviewing.answer import RawFinding, RawReview
from navigator.journey.reviewing.grounding import BLOCKING, Shown, ground_one
from navigator.journey.reviewing.quotes import fold, fold_unicode
from navigator.model.models import Finding
from navigator.model.states import FindingKind, Severity


def second_findings(
    raw: RawReview, findings: Sequence[Finding], earlier: Sequence[Finding], shown: Shown
) -> tuple[Finding, ...]:
    """The findings of a rereview, each with the weight it may have; what is not met and not quoted is carried over.

    Args:
        raw: the answer.
        findings: its findings, grounded, in the same order.
        earlier: the findings that the revision had to answer; number 1 is the first.
        shown: the diff of the revision and what stood beside it.
    """
    met = {entry.finding for entry in raw.addressed if entry.met}
    unmet = {entry.finding for entry in raw.addressed if not entry.met} - met
    weighed: list[Finding] = []
    repeated: set[int] = set()
    for written, finding in zip(raw.findings, findings, strict=True):
        number = repeats(written, finding, earlier)
        if number and number not in met:
            if not finding.anchored:
                finding = _still_there(earlier[number - 1], shown) or finding
            if finding.anchored:
                repeated.add(number)
        weighed.append(_weighed(finding, number, met, earlier))
    for number in sorted(unmet - repeated):
        carried = _still_there(earlier[number - 1], shown) if 1 <= number <= len(earlier) else None
        if carried is not None:
            weighed.append(_weighed(carried, number, met, earlier))
    return tuple(weighed)


def repeats(written: RawFinding, finding: Finding, earlier: Sequence[Finding]) -> int:
    """The number of the earlier finding that this one is again, 0 for a new one: as the model says, else by the same quote or
    the same words."""
    if written.earlier and written.earlier <= len(earlier):
        return written.earlier
    for number, before in enumerate(earlier, 1):
        same_words = fold(finding.message) == fold(before.message) != ""
        same_quote = fold_unicode(finding.quote) == fold_unicode(before.quote) != ""
        if finding.path in ("", before.path) and (same_words or (same_quote and finding.kind is before.kind)):
            return number
    return 0


def without_weight(finding: Finding, wrong: Sequence[Finding]) -> Finding:
    """A finding as it is; one that says again what the developer judged wrong carries that judgement and decides nothing."""
    judged = next((before.judged for before in wrong if is_again(finding, before)), None)
    return finding if judged is None else finding.model_copy(update={"remark": True, "judged": judged})


def _weighed(finding: Finding, number: int, met: set[int], earlier: Sequence[Finding]) -> Finding:
    """A blocker counts; so does what was asked for and is not met. All else is a remark."""
    if finding.severity is Severity.BLOCKER:
        return finding
    asked = number and number not in met
    grown = asked and finding.severity in BLOCKING and earlier[number - 1].severity not in BLOCKING
    return finding if asked and not grown else finding.model_copy(update={"remark": True})


def _still_there(before: Finding, shown: Shown) -> Finding | None:
    """An earlier finding in the diff of the revision, where its quote is still found; None where it is not."""
    own = [file for file in shown.files if before.path in (file.new_path, file.old_path)]
    if not own and before.kind is FindingKind.MISSING:
        own = list(shown.files)
    found = ground_one(
        RawFinding(
            kind=before.kind,
            hunk="",
            quote=before.quote,
            line=before.line or 0,
            severity=before.severity,
            criterion=before.criterion,
            trigger=before.trigger,
            message=before.message,
        ),
        replace(shown, files=own),
    )
    return found if own and found.anchored else None


def stands(before: Finding, shown: Shown) -> bool:
    """Whether the code that a finding called wrong is in the revision as it was: who calls it met has withdrawn it."""
    return before.kind is FindingKind.WRONG and _still_there(before, shown) is not None


def is_again(finding: Finding, before: Finding) -> bool:
    """Whether a finding says once more what an earlier one said: of the same file, with the same words or the same quote."""
    same_quote = (
        finding.kind is before.kind and finding.side == before.side and _same(finding.quote, before.quote)
    )
    return finding.path == before.path and (fold(finding.message) == fold(before.message) or same_quote)


def _same(one: str, other: str) -> bool:
    return fold_unicode(one) == fold_unicode(other)
