"""The rehearsal's reviewer: reads task, context and diff of its own prompt, and answers in the schema it was given.

It catches most mistakes, overlooks some, and now and then objects to a change that is right; which, depends on the content
and the seed alone. It knows nothing of how the generator works or of what it planted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from navigator.exam.chance import fraction
from navigator.rehearsal.server.engine import Completion
from tests.scripted.instances import fitted, instance_of
from tests.scripted.reading import ReviewPrompt, read_review
from tests.scripted.reviewer.checks import check_file
from tests.scripted.reviewer.context import places_left, unknown_names
from tests.scripted.reviewer.diff import ReadFile, read_diff
from tests.scripted.reviewer.proofs import asked_for_test, write_test
from tests.scripted.reviewer.remarks import Remark, objections, worst_first, wrong

UNREADABLE_RATE = 0.025
UNREADABLE_AGAIN = 0.4
CONTRARY_RATE = 0.03
"""Share of reviews whose stated verdict does not follow from their findings, as happens with models."""

MOST_FINDINGS = 8
_GRAVE = frozenset({"blocker", "major"})
_MADE_UP = "This line does not do what the task asks for."


class Reviewer:
    """Answers review and review-again prompts, and requests for a test of a finding.

    Args:
        seed: another seed overlooks and objects to other things.
        blind: added to the chance of overlooking each mistake.
        skill: sensitivity and specificity to have, instead of overlooking and objecting by kind of mistake: of the changes
            in which it can find a mistake, and of those in which it cannot, these shares are judged rightly. Which ones
            depends on the content and the seed. A prompt that names others is followed.
    """

    def __init__(
        self, *, seed: int = 0, blind: float = 0.0, skill: tuple[float, float] | None = None
    ) -> None:
        self._seed = seed
        self._blind = blind
        self._skill = skill

    def answer(
        self, messages: Sequence[Mapping[str, str]], schema: dict[str, Any] | None = None, repeat: int = 0
    ) -> Completion:
        """The review as JSON.

        Args:
            messages: the conversation.
            schema: the JSON schema the answer has to satisfy; its bounds are kept.
            repeat: how often this very prompt came before; an unreadable answer may be readable on a retry.
        """
        if asked_for_test(messages):
            return Completion(write_test(messages, self._seed))
        prompt = read_review(messages)
        if not prompt.diff:
            return Completion(
                "OK." if schema is None else json.dumps(instance_of(schema), ensure_ascii=False)
            )
        value = self.review(prompt)
        if schema is not None:
            value = fitted(value, schema)
        text = json.dumps(value, ensure_ascii=False)
        if self._unreadable(prompt, repeat):
            return Completion(text[: max(1, len(text) * 3 // 5)], "length")
        return Completion(text)

    def review(self, prompt: ReviewPrompt) -> dict[str, Any]:
        """The review before it is cut to a schema."""
        files = read_diff(prompt.diff)
        skill = prompt.skill or self._skill
        noticed = self._noticed(prompt, files, skill)
        if prompt.earlier is None:
            if skill is None:
                remarks = [*noticed, *objections(files, self._seed, prompt.task)]
            else:
                remarks = self._with_skill(prompt, files, noticed, skill)
            remarks = worst_first(remarks)[:MOST_FINDINGS]
            return self._answered(prompt, [remark.as_finding() for remark in remarks], None)
        return self._again(prompt, files, noticed)

    def _noticed(
        self, prompt: ReviewPrompt, files: list[ReadFile], skill: tuple[float, float] | None
    ) -> list[Remark]:
        found: list[Remark] = []
        for file in files:
            found += check_file(file, prompt.task)
        found += unknown_names(files, prompt.excerpts, prompt.task)
        found += places_left(files, prompt.excerpts, prompt.task)
        once = {(remark.path, remark.quote, remark.hunk): remark for remark in reversed(found)}
        return [
            remark
            for remark in reversed(once.values())
            if skill is not None
            or fraction("overlooked", self._seed, remark.sort, remark.path, remark.quote)
            >= remark.miss + self._blind
        ]

    def _with_skill(
        self, prompt: ReviewPrompt, files: list[ReadFile], noticed: list[Remark], skill: tuple[float, float]
    ) -> list[Remark]:
        """The same remarks or none; about a right change none, or one made up about its first line."""
        drawn = fraction("skill", self._seed, prompt.diff)
        if any(remark.severity in _GRAVE for remark in noticed):
            return noticed if drawn < skill[0] else []
        added = next(
            ((file, hunk, line) for file in files for hunk in file.hunks for line in hunk.of("+")), None
        )
        if drawn < skill[1] or added is None:
            return []
        file, hunk, line = added
        made_up = wrong("lost", file, hunk, line)
        return [replace(made_up, severity="major", trigger="Whenever it runs.", message=_MADE_UP)]

    def _again(self, prompt: ReviewPrompt, files: list[ReadFile], noticed: list[Remark]) -> dict[str, Any]:
        addressed: list[dict[str, Any]] = []
        findings: list[dict[str, Any]] = []
        quotes: set[str] = set()
        for number, finding in enumerate(prompt.earlier or (), 1):
            quote = str(finding.get("quote", ""))
            quotes.add(quote.strip())
            again = self._still(finding, files, noticed)
            index = finding.get("number")
            index = index if isinstance(index, int) else number
            addressed.append(
                {
                    "finding": index,
                    "met": again is None,
                    "why": "The quoted line is no longer as it was, or the objection does not hold."
                    if again is None
                    else "The quoted line is unchanged.",
                }
            )
            if again is not None:
                findings.append({**again, "earlier": index})
        findings += [
            {**remark.as_finding(), "earlier": 0}
            for remark in worst_first(noticed)
            if remark.severity == "blocker" and remark.quote.strip() not in quotes
        ]
        return self._answered(prompt, findings[:MOST_FINDINGS], addressed)

    def _still(
        self, finding: Mapping[str, Any], files: list[ReadFile], noticed: list[Remark]
    ) -> dict[str, Any] | None:
        """The finding once more if it is not met, anchored in the diff of the revision."""
        quote = str(finding.get("quote", "")).strip()
        for remark in noticed:
            if quote and remark.quote.strip() == quote:
                return remark.as_finding()
        if finding.get("kind") != "wrong" or finding.get("severity") not in _GRAVE:
            return None
        for file in files:
            for hunk in file.hunks:
                for line in hunk.of("+"):
                    if line.text.strip() != quote or not quote:
                        continue
                    # The author kept the line. Most of such objections are given up on a second reading.
                    if fraction("given up", self._seed, file.path, quote) < 0.7:
                        return None
                    return {**_plain(finding), "hunk": hunk.label, "quote": line.text, "line": line.number}
        return None

    def _answered(
        self, prompt: ReviewPrompt, findings: list[dict[str, Any]], addressed: list[dict[str, Any]] | None
    ) -> dict[str, Any]:
        grave = sum(finding["severity"] in _GRAVE for finding in findings)
        verdict = "REVISE" if grave else "APPROVE"
        if findings and fraction("contrary", self._seed, prompt.diff) < CONTRARY_RATE:
            verdict = "APPROVE" if grave else "REVISE"
        summary = (
            f"{len(findings)} finding{'' if len(findings) == 1 else 's'}, {grave} of weight."
            if findings
            else "The change does what the task asks for; nothing was found that would matter."
        )
        read = re.findall(r"^@@ ([HF]\d+) @@", prompt.diff, re.MULTILINE)
        answer: dict[str, Any] = {"summary": summary, "read": read}
        if addressed is not None:
            answer["addressed"] = addressed
        return {**answer, "findings": findings, "verdict": verdict}

    def _unreadable(self, prompt: ReviewPrompt, repeat: int) -> bool:
        if fraction("unreadable", self._seed, prompt.diff) >= UNREADABLE_RATE:
            return False
        return repeat == 0 or fraction("unreadable", self._seed, prompt.diff, repeat) < UNREADABLE_AGAIN


def _plain(finding: Mapping[str, Any]) -> dict[str, Any]:
    """An earlier finding with the keys of the answer's schema, and words where it lacks them."""
    return {
        "kind": str(finding.get("kind", "wrong")),
        "hunk": "",
        "quote": "",
        "line": 0,
        "severity": str(finding.get("severity", "major")),
        "criterion": str(finding.get("criterion", "correctness")),
        "trigger": str(finding.get("trigger", "")) or "As before.",
        "message": str(finding.get("message", "")) or "The earlier finding still holds.",
    }
