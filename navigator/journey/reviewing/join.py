"""From the answers of one review's prompts to one verdict: findings united, the verdict derived from the union.

A part that could not be read makes the whole UNREVIEWED: what was found in the others is kept and shown, and approves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from navigator.journey.reviewing.answer import RawFinding, RawReview, clipped
from navigator.journey.reviewing.grounding import BLOCKING, Shown, derive_verdict, ground, ground_one
from navigator.journey.reviewing.precedents import following
from navigator.journey.reviewing.prompt import Reading
from navigator.journey.reviewing.quotes import fold, fold_unicode
from navigator.model.models import Finding
from navigator.model.states import FindingKind, Severity, Verdict

_GRAVE = tuple(Severity)
"""The severities, gravest first."""


@dataclass(frozen=True)
class Answered:
    """One prompt and what came of it; `raw` is None where it could not be read, `why` says the reason."""

    reading: Reading | None
    raw: RawReview | None
    why: str = ""


@dataclass(frozen=True)
class Talk:
    """One prompt of a review and its answer: where a test for one of its findings is asked for."""

    reading: Reading
    answer: str


@dataclass(frozen=True)
class Joined:
    """What several answers come to together. `addressed` are entries as the store keeps them; `hunks` and `unread` as in
    `Review`."""

    verdict: Verdict
    stated: Verdict | None
    summary: str
    findings: tuple[Finding, ...]
    addressed: tuple[dict[str, object], ...]
    hunks: int = 0
    unread: tuple[str, ...] = ()


def unread_of(answer: Answered) -> tuple[str, ...]:
    """The labels that an answer was shown and does not say it read; none where it does not say what it read."""
    if answer.raw is None or answer.raw.read is None or answer.reading is None:
        return ()
    return tuple(label for label in answer.reading.labels if label not in answer.raw.read)


def join(
    answers: Sequence[Answered], earlier: Sequence[Finding], second: bool, wrong: Sequence[Finding] = ()
) -> Joined:
    """Unite the parts of one review. One part alone is the plain case.

    Args:
        answers: in the order of the diff.
        earlier: the findings that a revision had to answer.
        second: whether the rules of a rereview apply.
        wrong: what the developer judged wrong before; said again, it is kept and decides nothing.
    """
    findings: list[Finding] = []
    addressed: list[dict[str, object]] = []
    for answer in answers:
        if answer.raw is None or answer.reading is None:
            continue
        # A part speaks only about the earlier findings that it was asked about.
        asked = answer.reading.asked
        own = tuple(entry for entry in answer.raw.addressed if entry.finding in asked)
        raw = answer.raw.model_copy(update={"addressed": own})
        shown = answer.reading.precedents
        grounded = tuple(
            following(finding, written.precedent, shown)
            for written, finding in zip(raw.findings, ground(raw, answer.reading.shown), strict=True)
        )
        if second:
            grounded = second_findings(raw, grounded, earlier, answer.reading.shown)
        findings = _united(findings, [without_weight(finding, wrong) for finding in grounded])
        addressed += [
            {
                "finding": entry.finding,
                "met": entry.met,
                "withdrawn": entry.met and stands(earlier[entry.finding - 1], answer.reading.shown),
                "why": clipped("why", entry.why),
            }
            for entry in own
        ]
    unread = [answer for answer in answers if answer.raw is None]
    stated = [answer.raw.verdict for answer in answers if answer.raw is not None]
    if unread:
        return Joined(
            Verdict.UNREVIEWED, None, _unread(unread, len(answers)), tuple(findings), tuple(addressed)
        )
    return Joined(
        derive_verdict(findings),
        Verdict.REVISE if Verdict.REVISE in stated else Verdict.APPROVE,
        _summary(answers),
        tuple(findings),
        tuple(addressed),
        *_hunks_read(answers),
    )


def _hunks_read(answers: Sequence[Answered]) -> tuple[int, tuple[str, ...]]:
    """How many hunks were shown, and those that nobody says were read; nothing where an answer does not say."""
    if any(answer.raw is None or answer.raw.read is None for answer in answers):
        return 0, ()
    shown = sum(len(answer.reading.labels) for answer in answers if answer.reading is not None)
    return shown, tuple(label for answer in answers for label in unread_of(answer))


def _united(before: Sequence[Finding], more: Sequence[Finding]) -> list[Finding]:
    """Findings of one more part after those of the parts before; the same quote of the same hunk is kept once, at its gravest.

    Within one part, a line may be wrong in two ways: there only the very same words are the same finding.
    """
    made = list(before)
    places = {_same_place(finding): index for index, finding in enumerate(before) if finding.quote}
    said: set[tuple[object, ...]] = set()
    for finding in more:
        words = (*_same_place(finding), fold(finding.message))
        if words in said:
            continue
        said.add(words)
        known = places.get(_same_place(finding))
        if known is None:
            made.append(finding)
        elif _weight(finding) < _weight(made[known]):
            made[known] = finding
    return made


def _weight(finding: Finding) -> tuple[bool, bool, int]:
    """What counts before what does not, then by severity; less is graver."""
    return not finding.anchored, finding.remark or bool(finding.precedent), _GRAVE.index(finding.severity)


def _same_place(finding: Finding) -> tuple[object, ...]:
    return finding.kind, finding.hunk, fold_unicode(finding.quote)


def _summary(answers: Sequence[Answered]) -> str:
    said = [clipped("summary", answer.raw.summary.strip()) for answer in answers if answer.raw is not None]
    if len(said) == 1:
        return said[0]
    return "\n".join(f"Part {number} of {len(said)}: {text}" for number, text in enumerate(said, 1))


def _unread(unread: Sequence[Answered], parts: int) -> str:
    reasons = "; ".join(dict.fromkeys(answer.why for answer in unread))
    if parts == 1 and unread[0].reading is not None:
        return f"The reviewer's answer could not be read: {reasons.rstrip('.')}."
    if all(answer.reading is None for answer in unread):
        return f"Too large to be reviewed whole: {reasons}. Split the change, or raise context_tokens."
    return f"{len(unread)} of {parts} parts could not be read: {reasons.rstrip('.')}."


# The rules of a later round, kept by code and not by the model's good will.


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
    same_quote = (finding.kind, finding.side, fold_unicode(finding.quote)) == (
        before.kind,
        before.side,
        fold_unicode(before.quote),
    )
    return finding.path == before.path and (fold(finding.message) == fold(before.message) or same_quote)
