"""From the bytes of a reviewer's answer to its fields, or to the reason why it is no review.

Strict about what decides (every field but hints has to be there, two answers in one are none), patient about form: a
fence or prose round the object, raw control characters inside strings, other words for the same severity. A server that
constrains decoding sends none of these; one that does not sends all of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from navigator.model import patterns
from navigator.model.states import Criterion, FindingKind, Severity, Verdict

LONGEST = {"quote": 400, "trigger": 300, "message": 500, "summary": 600, "why": 300}
"""Characters of each text that are kept; the schema asks for no more."""

_LONGEST_ANSWER = 2_000_000
"""Characters of an answer; a longer one is no review."""

_MOST_BROKEN = 2_000
"""Opening braces at which no object can be read; an answer with more of them is no review, whatever follows."""

_MOST_FINDINGS = 100
"""Findings of one answer; the schema asks for far fewer, and leaving some out could hide a blocker."""


class UnreadableReview(Exception):
    """The answer is not a review: the reason is for the log and the retry, never a verdict."""


# Other words for the same thing. A word in neither list makes the answer unreadable: dropped unknown severities
# once turned blockers into approvals elsewhere, and guessing "minor" would do the same.
_SEVERITIES = {
    **dict.fromkeys(("critical", "fatal", "severe", "showstopper", "p0", "urgent"), Severity.BLOCKER),
    **dict.fromkeys(("high", "error", "important", "serious", "p1"), Severity.MAJOR),
    **dict.fromkeys(("medium", "moderate", "warning", "p2"), Severity.MINOR),
    **dict.fromkeys(("low", "info", "trivial", "nitpick", "suggestion", "style", "p3"), Severity.NIT),
}
_VERDICTS = {
    **dict.fromkeys(("approved", "accept", "accepted", "lgtm", "pass"), Verdict.APPROVE),
    **dict.fromkeys(
        ("request_changes", "changes_requested", "needs_work", "reject", "rejected", "revised", "fail"),
        Verdict.REVISE,
    ),
}
_CRITERIA = {
    **dict.fromkeys(("security", "data_loss"), Criterion.SAFETY),
    **dict.fromkeys(("bug", "logic", "correct"), Criterion.CORRECTNESS),
    **dict.fromkeys(("complete", "incomplete"), Criterion.COMPLETENESS),
}
_LABEL = patterns.compile(r"(?:\bhunk\s*)?([HF])\s*(\d+)\b|^\W*(?:hunk\s*)?(\d+)\W*$", patterns.IGNORECASE)


def _word(value: Any, others: dict[str, Any]) -> Any:
    """A word of a closed list: case, blanks and known synonyms do not matter."""
    if not isinstance(value, str):
        return value
    plain = patterns.sub(r"[\s-]+", "_", value.strip().lower())
    return others.get(plain, plain)


def _upper_verdict(value: Any) -> Any:
    word = _word(value, _VERDICTS)
    return word.upper() if isinstance(word, str) else word


def _label(value: Any) -> Any:
    """`H2` out of `h2`, `@@ H2 @@`, `hunk 2` or 2; what is no label stays as it is, and names no hunk."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"H{value}"
    if not isinstance(value, str):
        return value
    found = {
        f"{(match[1] or 'H').upper()}{int(match[2] or match[3])}"
        for match in _LABEL.finditer(value[:200])
        if len(match[2] or match[3]) < 8
    }
    return found.pop() if len(found) == 1 else value.strip()[:40]


def _line_number(value: Any) -> int:
    """A line number that only breaks ties: what is none counts as "not said" (0)."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return 0
    digits = patterns.search(r"\d{1,9}", str(value)[:40])
    return int(digits[0]) if digits else 0


def _mended(value: Any) -> Any:
    """Text that can be stored: a lone surrogate (`"\\ud800"` is legal JSON) becomes a replacement character."""
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value


_Text = Annotated[str, BeforeValidator(_mended)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class RawFinding(_Strict):
    """A finding as the model wrote it; label and line are hints, and may be missing.

    `earlier` is the number of the finding that it repeats, 0 for a new one, None where it does not say; `precedent` that of
    the one that speaks against it, 0 for none.
    """

    kind: Annotated[FindingKind, BeforeValidator(lambda value: _word(value, {}))]
    hunk: Annotated[str, BeforeValidator(_label)] = ""
    quote: _Text
    line: Annotated[int, BeforeValidator(_line_number)] = 0
    severity: Annotated[Severity, BeforeValidator(lambda value: _word(value, _SEVERITIES))]
    criterion: Annotated[Criterion, BeforeValidator(lambda value: _word(value, _CRITERIA))]
    trigger: _Text
    message: _Text
    precedent: Annotated[int, BeforeValidator(_line_number)] = 0
    earlier: Annotated[
        int | None, BeforeValidator(lambda value: None if value is None else _line_number(value))
    ] = None


class Addressed(_Strict):
    """The model's word on one earlier finding, numbered from 1."""

    finding: int
    met: bool
    why: _Text = ""


def _labels(value: Any) -> Any:
    """Labels of hunks; None where the model gives no list of them."""
    return [_label(one) for one in value if isinstance(one, int | str)] if isinstance(value, list) else None


class RawReview(_Strict):
    """A review as the model wrote it. `read` are the hunks that it says it read; None where it does not say."""

    summary: _Text
    read: Annotated[frozenset[str] | None, BeforeValidator(_labels)] = None
    addressed: tuple[Addressed, ...] = ()
    findings: tuple[RawFinding, ...]
    verdict: Annotated[Verdict, BeforeValidator(_upper_verdict)]


def clipped(name: str, text: str) -> str:
    """A text of an answer, cut where a server without a schema let it run on."""
    most = LONGEST[name]
    return text if len(text) <= most else text[: most - 1] + "…"


def said_by(text: str, reasoning: str) -> str:
    """What an answer says where a schema was sent: its text, or what stands in the reasoning channel in its place.

    With thinking off, some servers put constrained JSON into `reasoning_content` and leave `content` empty. The reasoning
    counts only where the text holds no object and the reasoning is nothing but one: a draft among thoughts is no answer.
    """
    return reasoning if "{" not in _after_thoughts(text) and _is_bare(reasoning) else text


def read_review(content: str, asked: Sequence[int] = ()) -> RawReview:
    """Parse an answer.

    Args:
        content: what it says.
        asked: in a rereview, the numbers of the earlier findings; its answer has to say which of them are met.

    Raises:
        UnreadableReview: no JSON object, several that differ, or a field missing or of the wrong sort.
    """
    if len(content) > _LONGEST_ANSWER:
        raise UnreadableReview(f"the answer has more than {_LONGEST_ANSWER} characters")
    content = _after_thoughts(content)
    if not content.strip():
        raise UnreadableReview("the answer is empty")
    return _parse_review(_one_object(content), asked)


def _parse_review(value: dict[str, Any], asked: Sequence[int]) -> RawReview:
    try:
        review = RawReview.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UnreadableReview(f"the answer's field {where or '(root)'}: {first['msg']}") from error
    if review.verdict is Verdict.UNREVIEWED:
        raise UnreadableReview("UNREVIEWED is not a verdict that a reviewer gives")
    if len(review.findings) > _MOST_FINDINGS:
        raise UnreadableReview(f"the answer has {len(review.findings)} findings")
    if asked and "addressed" not in value:
        raise UnreadableReview("the answer's field addressed: it does not say which findings are met")
    return review


def _after_thoughts(text: str) -> str:
    """What follows `</think>`; a thought that never ends is followed by nothing."""
    stripped = text.lstrip()
    if stripped.startswith("<think>"):
        return stripped.partition("</think>")[2]
    return text


def _is_bare(text: str) -> bool:
    """Whether a text is one JSON object, perhaps in a fence, and nothing else."""
    inner = patterns.sub(
        r"\A```(?:json)?\s*\n?|\n?```\s*\Z", "", text.strip(), flags=patterns.IGNORECASE
    ).strip()
    return inner.startswith("{") and inner.endswith("}")


class _Twice(ValueError):
    """One object has a key twice, so it is unclear which value counts."""


def _one_object(text: str) -> dict[str, Any]:
    """The one review in a text.

    Raises:
        UnreadableReview: there is none, or two that differ.
    """
    found: list[dict[str, Any]] = []
    problem = "the answer holds no JSON object that is a review"
    try:
        for value in _objects(text):
            if isinstance(value, str):
                problem = value
            elif "verdict" in value or "findings" in value:  # an example in prose is passed over
                found.append(value)
    except _Twice as error:
        raise UnreadableReview(str(error)) from error
    except RecursionError as error:
        raise UnreadableReview("the answer is nested too deeply") from error
    if not found:
        raise UnreadableReview(problem)
    if any(value != found[0] for value in found[1:]):
        raise UnreadableReview("the answer holds two reviews that differ")
    return found[0]


def _objects(text: str) -> Iterator[dict[str, Any] | str]:
    """Every object of a text that is not inside another one, or in words why what begins at a brace is none.

    A text is read once: where an object breaks off, the search continues behind what was read of it.

    Raises:
        UnreadableReview: the text has more broken objects than are tried.
    """
    # strict=False: constrained decoders let raw control characters through inside strings.
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_once)
    at, broken = text.find("{"), 0
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            yield f"the answer is not valid JSON: {error.msg} at character {error.pos}"
            if '"verdict"' in text[at : error.pos] or '"findings"' in text[at : error.pos]:
                return  # the review itself is broken: what is inside it is no review of its own
            end, broken = max(at + 1, error.pos), broken + 1
            if broken > _MOST_BROKEN:
                raise UnreadableReview(
                    f"the answer has more than {_MOST_BROKEN} braces that open no object"
                ) from error
        except _Twice:
            raise
        except ValueError as error:  # a number of more digits than Python reads
            yield f"the answer is not valid JSON: {error}"
            return
        else:
            if isinstance(value, dict):
                yield value
        at = text.find("{", end)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise _Twice(f"the answer names {name[:40]!r} twice in one object")
        made[name] = value
    return made


MAX_FINDINGS = 8
_VERDICT_SCHEMA = [Verdict.APPROVE.value, Verdict.REVISE.value]


def review_schema(
    hunks: Sequence[str],
    *,
    again: int = 0,
    asked: Sequence[int] | None = None,
    precedents: Sequence[int] = (),
) -> dict[str, Any]:
    """The schema for one review.

    The order of the fields is the order in which a constrained model writes them: what goes wrong before how grave it is,
    and the findings before the verdict.

    Args:
        hunks: the labels of the diff shown, in order; at least one.
        again: number of earlier findings when this is a rereview, else 0.
        asked: the numbers of those that this prompt asks about, where the diff is read in several; all where None.
        precedents: the numbers of those that the prompt shows.
    """
    fields: dict[str, Any] = {
        "kind": {"type": "string", "enum": [kind.value for kind in FindingKind]},
        "hunk": {"type": "string", "enum": list(hunks)},
        "quote": _text_schema("quote"),
        "line": {"type": "integer", "minimum": 0},
        "trigger": _text_schema("trigger"),
        "message": _text_schema("message"),
        "criterion": {"type": "string", "enum": [criterion.value for criterion in Criterion]},
        "severity": {"type": "string", "enum": [severity.value for severity in Severity]},
    }
    if again:
        fields["earlier"] = {"type": "integer", "minimum": 0, "maximum": again}
    if precedents:
        fields["precedent"] = {"type": "integer", "enum": [0, *precedents]}
    finding = closed_object(fields)
    labels = {"type": "array", "items": {"type": "string", "enum": list(hunks)}, "maxItems": len(hunks)}
    review: dict[str, Any] = {"summary": _text_schema("summary"), "read": labels}
    numbers = list(asked) if asked is not None else list(range(1, again + 1))
    if numbers:
        number = {"type": "integer", "enum": numbers}
        addressed = closed_object({"finding": number, "why": _text_schema("why"), "met": {"type": "boolean"}})
        review["addressed"] = {"type": "array", "items": addressed, "maxItems": len(numbers)}
    review["findings"] = {"type": "array", "items": finding, "maxItems": MAX_FINDINGS}
    review["verdict"] = {"type": "string", "enum": _VERDICT_SCHEMA}
    return closed_object(review)


def _text_schema(name: str) -> dict[str, Any]:
    return bounded_text(LONGEST[name])


Schema = dict[str, Any]


def closed_object(properties: Schema) -> Schema:
    """An object with just these fields, all of them required, written in this order."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def bounded_text(characters: int) -> Schema:
    """A string of at most so many characters."""
    return {"type": "string", "maxLength": characters}
