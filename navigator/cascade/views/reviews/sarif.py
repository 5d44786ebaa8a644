"""Reviews as SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format): one run, one result for each finding.

Findings whose quotes were found are results to fix; others are informational, since they decide nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from navigator import __version__
from navigator.cascade.views.reviews.document import unread
from navigator.model.states import Criterion, Severity
from navigator.model.text import safe_text

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
        "properties": {"reviews": [_review(one) for one in documents]},
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _review(one: dict[str, Any]) -> dict[str, Any]:
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
        result["locations"] = [{"physicalLocation": _place(finding)}]
    return result


def _place(finding: dict[str, Any]) -> dict[str, Any]:
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
