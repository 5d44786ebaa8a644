"""From the answers of one review's prompts to one verdict: findings united, the verdict derived from the union.

A part that could not be read makes the whole UNREVIEWED: what was found in the others is kept and shown, and approves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from navigator.journey.reviewing.answer import RawReview, clipped
from navigator.journey.reviewing.grounding import derive_verdict, ground
from navigator.journey.reviewing.precedents import following
from navigator.journey.reviewing.prompt import Reading
from navigator.journey.reviewing.quotes import fold, fold_unicode
from navigator.journey.reviewing.rereview import second_findings, stands, without_weight
from navigator.model.models import Finding
from navigator.model.states import Severity, Verdict

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
