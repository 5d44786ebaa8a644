"""What became of the lines of findings that landed unrepaired: whether a fix changed them within some weeks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from navigator.exam.blame import says_fix
from navigator.git.facts import read_facts, require_same, resolve_base
from navigator.git.reverts import Line, became_of
from navigator.journey.dependencies import Dependencies
from navigator.model.errors import NavigatorError
from navigator.model.models import Finding, Project, utc_now
from navigator.model.records import Afterlife, LandedFinding

log = logging.getLogger(__name__)

WEEKS = 8
"""How long after its landing a line is looked at."""


async def look_at_findings(deps: Dependencies, project: Project) -> list[Afterlife]:
    """Look for one project's findings that landed in the last weeks, and keep what was seen.

    What was found changed before is not looked at again.
    """
    since = datetime.now(UTC) - timedelta(weeks=WEEKS)
    wanted = deps.reader.landed_findings(project.id, since.isoformat())
    if not wanted:
        return []
    found = await asyncio.to_thread(_look_in, project, wanted)
    with deps.store.transaction() as tx:
        for one in found:
            tx.set_afterlife(one)
    return found


def _look_in(project: Project, wanted: Sequence[LandedFinding]) -> list[Afterlife]:
    try:
        facts = read_facts(project.path)
        require_same(facts, project)
        tip, git = resolve_base(facts, project.base)[1], facts.git()
        return [
            _seen(one, became_of(git, one.commit, tip, one.finding.path, one.finding.line or 0))
            for one in wanted
        ]
    except NavigatorError as error:
        log.warning("%s: lines of findings could not be looked at: %s", project.name, error)
        return []


def _seen(one: LandedFinding, line: Line | None) -> Afterlife:
    late = timedelta(weeks=WEEKS) + datetime.fromisoformat(one.landed.replace("Z", "+00:00"))
    if line is None or not _same(line.text, one.finding):
        fate, changed_by = "unknown", ""
    elif not line.changed_by or line.at > late.timestamp():
        fate, changed_by = "kept", ""
    else:
        fate, changed_by = ("fixed" if says_fix(line.subject) else "changed"), line.changed_by
    return Afterlife.model_validate(
        {
            "review_id": one.review_id,
            "finding": one.place,
            "severity": one.finding.severity,
            "criterion": one.finding.criterion,
            "fate": fate,
            "changed_by": changed_by,
            "at": utc_now(),
        }
    )


def _same(text: str, finding: Finding) -> bool:
    """Whether a landed line is the one that the finding quotes: a landing on a base that moved shifts lines."""
    return bool(text.strip()) and (text.strip() in finding.quote or finding.quote.strip() in text)
