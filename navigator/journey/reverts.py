"""Finds out which landed commits were reverted later, and keeps it in the store for the statistics.

The user's repositories are only read, each within limits on time, output and length of history. What a look cannot tell is
kept as unknown.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal

from navigator.git.facts import NoCommit, NotARepository, read_facts, require_same, resolve_base
from navigator.git.reverts import LandedAs, Seen, look_for_reverts
from navigator.journey.dependencies import Dependencies
from navigator.model.errors import NavigatorError
from navigator.model.models import Project, utc_now
from navigator.model.records import Fate
from navigator.store.reads.outcomes import LandedCommit

log = logging.getLogger(__name__)

_MARGIN = timedelta(days=1)
"""How far before a landing the history is read: the clocks of committers differ."""


async def look_for(deps: Dependencies, project: Project) -> list[Fate]:
    """Look for one project's landed commits, and keep what was seen."""
    landed = deps.reader.landed_since_looked(project.id)
    if not landed:
        return []
    fates = await asyncio.to_thread(look_in, project, landed)
    with deps.store.transaction() as tx:
        for fate in fates:
            tx.set_fate(fate)
    return fates


def look_in(project: Project, landed: Sequence[LandedCommit]) -> list[Fate]:
    """What a project's repository says of its landed commits. Runs git: call it in a thread."""
    wanted = [LandedAs(one.commit, one.found_as) for one in landed]
    try:
        facts = read_facts(project.path)
        require_same(facts, project)
        tip = resolve_base(facts, project.base)[1]
        seen, whole = look_for_reverts(facts.git(), tip, wanted, since=_since(landed))
    except (NotARepository, NoCommit):
        return [_fate(one, None) for one in landed]
    except NavigatorError as error:
        log.warning("%s: landed commits could not be looked for: %s", project.name, error)
        return [_fate(one, None) for one in landed]
    return [_fate(one, seen.get(one.commit), whole=whole) for one in landed]


def _fate(one: LandedCommit, seen: Seen | None, *, whole: bool = True) -> Fate:
    """`whole`: all of the history since was read."""
    word: Literal["kept", "reverted", "unknown"] = "kept" if seen is not None and whole else "unknown"
    if seen is not None and seen.reverted_by:
        word = "reverted"
    found_as = one.found_as if seen is None else seen.found_as
    return Fate(proposal_id=one.proposal_id, commit=one.commit, fate=word, found_as=found_as, at=utc_now())


def _since(landed: Sequence[LandedCommit]) -> str:
    """From when on commits matter: the last look at each that was found then, the landing of every other."""
    moments = [one.at if one.fate == "kept" else one.landed for one in landed]
    oldest = datetime.fromisoformat(min(moments).replace("Z", "+00:00"))
    return (oldest - _MARGIN).isoformat(timespec="seconds")
