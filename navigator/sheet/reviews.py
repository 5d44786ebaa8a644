"""A review of existing work as plain data that may leave this machine: what a model or an author wrote is redacted.

Every other form is made of these documents, so nothing else has to be redacted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from navigator import __version__
from navigator.model import patterns
from navigator.model.models import Finding, Proposal, Task
from navigator.model.secrets import Redactor
from navigator.model.states import Criterion, Judgement, Severity, TaskState, Verdict
from navigator.model.text import safe_line, safe_text
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
        "unanchored": finding.unanchored,
        "reproduction": told.outcome.value if told else None,
        "judged": finding.judged.judgement.value if finding.judged else None,
        "set_aside": finding.set_aside,
    }


def overruled(documents: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those whose verdict is APPROVE although the reviewer said REVISE."""
    said = (Verdict.REVISE.value, Verdict.APPROVE.value)
    return [one for one in documents if (one["stated_verdict"], one["verdict"]) == said]


def standing(documents: Iterable[dict[str, Any]], at_least: str) -> int:
    """How many findings count and are at least that severe: those whose quotes were found, and that neither
    you nor a precedent spoke against."""
    limit = _BY_WEIGHT.index(Severity(at_least))
    return sum(
        finding["anchored"]
        and not finding["set_aside"]
        and finding["judged"] in (None, Judgement.RIGHT.value)
        and _BY_WEIGHT.index(Severity(finding["severity"])) <= limit
        for one in documents
        for finding in one["findings"]
    )


def unread(documents: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The reviews without a verdict: nobody may take them for an approval."""
    return [one for one in documents if one["verdict"] in (None, Verdict.UNREVIEWED.value)]


# Reviews for people: as lines of text, and as Markdown in which nothing that a model or an author wrote is markup.

_MARKUP = patterns.compile(r"([\\`*_{}\[\]<>()#+!|~&@-])")


def shown(documents: Sequence[dict[str, Any]], form: str) -> str:
    """What, verdict, summary and findings of each, by the template of a form: "text", or "markdown" for a pull request."""
    return rendered(form, reviews=documents).strip("\n")


def rendered(template: str, filters: Mapping[str, Callable[[str], str]] | None = None, **values: Any) -> str:
    """A template of this package with values; in HTML they are escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader(__package__),
        undefined=StrictUndefined,
        autoescape=template.endswith(".html"),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {
        "line": safe_line,
        "escaped": _escaped,
        "code": _code,
        "verdict": _verdict_words,
        "where": _where,
    }
    made.filters |= filters or {}
    return made.get_template(template).render(values)


def _verdict_words(one: dict[str, Any]) -> str:
    return one["verdict"] or f"no verdict ({one['state'].replace('_', ' ')})"


def _where(finding: dict[str, Any]) -> str:
    return f"{finding['path']}:{finding['line']}" if finding["line"] else finding["path"]


def _escaped(said: str) -> str:
    return _MARKUP.sub(r"\\\1", safe_line(said))


def _code(said: str) -> str:
    """A code span that its own backticks cannot end."""
    shown = safe_line(said)
    fence = "`" * (1 + max((len(run) for run in patterns.findall(r"`+", shown)), default=0))
    return f"{fence} {shown} {fence}" if "`" in shown else f"{fence}{shown}{fence}"


# Reviews as SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format): one run, one result for each finding.
#
# Findings whose quotes were found are results to fix; others are informational, since they decide nothing.

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_LEVELS = {
    Severity.BLOCKER.value: "error",
    Severity.MAJOR.value: "error",
    Severity.MINOR.value: "warning",
    Severity.NIT.value: "note",
}
_RULES = {
    Criterion.CORRECTNESS: "The code does the wrong thing in a situation that can be named.",
    Criterion.COMPLETENESS: "Something that the change is meant to do, or makes necessary, is missing.",
    Criterion.SAFETY: "The change can lose data, expose a secret or open a hole.",
}


def sarif(documents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The log of these reviews (see `review_document`)."""
    places = [criterion.value for criterion in _RULES]
    notices = [_notice(one) for one in unread(documents)]
    run = {
        "tool": {
            "driver": {
                "name": "Navigator",
                "semanticVersion": __version__,
                "rules": [
                    {"id": criterion.value, "shortDescription": {"text": text}}
                    for criterion, text in _RULES.items()
                ],
            }
        },
        "invocations": [{"executionSuccessful": not notices, "toolExecutionNotifications": notices}],
        "columnKind": "unicodeCodePoints",
        "results": [_result(one, finding, places) for one in documents for finding in one["findings"]],
        "properties": {"reviews": [_review_json(one) for one in documents]},
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _review_json(one: dict[str, Any]) -> dict[str, Any]:
    names = ("ref", "project", "proposal", "base_commit", "head", "verdict", "model", "prompt_version")
    return {name: one[name] for name in names} | {"simulated": one["rehearsal"]}


def _notice(one: dict[str, Any]) -> dict[str, Any]:
    why = one["reason"] or one["summary"] or "The review could not be read."
    text = safe_text(f"{one['ref']} of {one['project']} has no verdict. {why}")
    return {"level": "error", "message": {"text": text}}


def _result(one: dict[str, Any], finding: dict[str, Any], rules: Sequence[str]) -> dict[str, Any]:
    message = finding["message"]
    if finding["trigger"]:
        message = f"{message}\nWhen: {finding['trigger']}"
    counts = finding["anchored"]
    result: dict[str, Any] = {
        "ruleId": finding["criterion"],
        "ruleIndex": rules.index(finding["criterion"]),
        "kind": "fail" if counts else "informational",
        "level": _LEVELS[finding["severity"]] if counts else "none",
        "message": {"text": safe_text(message)},
        "partialFingerprints": {"navigatorFinding/v1": _print(one, finding)},
        "properties": {
            "severity": finding["severity"],
            "kind": finding["kind"],
            "hunk": finding["hunk"],
            "side": finding["side"],
            "ref": one["ref"],
            "head": one["head"],
            "proposal": one["proposal"],
            "simulated": one["rehearsal"],
        },
    }
    if finding["path"]:
        result["locations"] = [{"physicalLocation": _sarif_location(finding)}]
    return result


def _sarif_location(finding: dict[str, Any]) -> dict[str, Any]:
    path = quote(finding["path"].encode("utf-8", "surrogateescape"))
    # What quotes a removed line, or none, is about the file: by convention its first line.
    region: dict[str, Any] = {"startLine": 1}
    if finding["line"] and finding["side"] != "old":
        region = {"startLine": finding["line"], "snippet": {"text": safe_text(finding["quote"])}}
    return {"artifactLocation": {"uri": path, "uriBaseId": "%SRCROOT%"}, "region": region}


def _print(one: dict[str, Any], finding: dict[str, Any]) -> str:
    """The same for the same remark on the same line, wherever the line has moved to."""
    parts = (one["project"], finding["path"], finding["criterion"], finding["quote"].strip(), finding["kind"])
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
