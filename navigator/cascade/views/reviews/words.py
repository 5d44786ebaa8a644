"""Reviews for people: as lines of text, and as Markdown in which nothing that a model or an author wrote is markup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from navigator.model import patterns
from navigator.model.text import safe_line

_OWN = "Self-reviewed: {} wrote this change and reviewed it. It misses its own mistakes."
_MARKUP = patterns.compile(r"([\\`*_{}\[\]<>()#+!|~&@-])")


def text(documents: Sequence[dict[str, Any]]) -> str:
    """A block for each review: what, verdict, summary, findings."""
    return "\n\n".join("\n".join(_lines(one)) for one in documents)


def _lines(one: dict[str, Any]) -> Iterator[str]:
    marks = ("  REHEARSAL" if one["rehearsal"] else "") + ("  self-reviewed" if one["self_review"] else "")
    yield f"{one['proposal']}  {one['project']}  {safe_line(one['ref'])}  {_verdict(one)}{marks}  {safe_line(one['title'])}"
    if one["self_review"]:
        yield f"  {_OWN.format(safe_line(one['model']))}"
    if said := one["summary"] or one["reason"]:
        yield f"  {safe_line(said)}"
    for finding in one["findings"]:
        counts = "" if finding["anchored"] else f"  ({finding['unanchored']}: it does not count)"
        quote = f"  {safe_line(finding['quote'].strip())}" if finding["quote"] else ""
        yield f"  {safe_line(_where(finding)) or 'the whole change'}{quote}"
        yield f"    {finding['severity']}, {finding['criterion']}: {safe_line(finding['message'])}{counts}"
        if finding["trigger"]:
            yield f"    when: {safe_line(finding['trigger'])}"
    if not one["findings"] and one["verdict"]:
        yield "  No findings."


def markdown(documents: Sequence[dict[str, Any]]) -> str:
    """The same as Markdown, for a pull request or an issue."""
    return "\n".join(line for one in documents for line in _marked(one))


def _marked(one: dict[str, Any]) -> Iterator[str]:
    yield f"## {_plain(one['ref'])}: {_verdict(one)}"
    yield ""
    yield f"{_plain(one['title'])} (+{one['added']} −{one['removed']})"
    if one["rehearsal"]:
        yield ""
        yield "**Simulated**: reviewed by the rehearsal, not by a model."
    if one["self_review"]:
        yield ""
        yield _plain(_OWN.format(one["model"]))
    if said := one["summary"] or one["reason"]:
        yield ""
        yield _plain(said)
    yield ""
    for finding in one["findings"]:
        counts = "" if finding["anchored"] else f" ({finding['unanchored']}: it does not count)"
        head = f"- **{finding['severity']}**, {finding['criterion']}, {_code(_where(finding))}{counts}"
        yield f"{head}: {_plain(finding['message'])}"
        if finding["trigger"]:
            yield f"  When: {_plain(finding['trigger'])}"
        if finding["quote"]:
            yield f"  {_code(finding['quote'].strip())}"
    if not one["findings"] and one["verdict"]:
        yield "No findings."
    yield ""


def _verdict(one: dict[str, Any]) -> str:
    return one["verdict"] or f"no verdict ({one['state'].replace('_', ' ')})"


def _where(finding: dict[str, Any]) -> str:
    return f"{finding['path']}:{finding['line']}" if finding["line"] else finding["path"]


def _plain(said: str) -> str:
    return _MARKUP.sub(r"\\\1", safe_line(said))


def _code(said: str) -> str:
    """A code span that its own backticks cannot end."""
    shown = safe_line(said)
    fence = "`" * (1 + max((len(run) for run in patterns.findall(r"`+", shown)), default=0))
    return f"{fence} {shown} {fence}" if "`" in shown else f"{fence}{shown}{fence}"
