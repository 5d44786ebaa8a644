"""What the developer writes beside a decision: drafts, comments on lines, what was seen."""

from __future__ import annotations

from collections.abc import Sequence

from navigator.cascade.dependencies import Dependencies
from navigator.cascade.socket.wire import Result


async def mark_seen(deps: Dependencies, ids: Sequence[str], seen: bool = True) -> Result:
    """Mark proposals as looked at, or not."""
    with deps.store.transaction() as tx:
        for identifier in ids:
            tx.set_proposal_seen(deps.reader.proposal(identifier).id, seen)
    return {"seen": list(ids)}


async def save_draft(deps: Dependencies, key: str, text: str) -> Result:
    """Keep a text that was typed and not sent; an empty one is forgotten."""
    with deps.store.transaction() as tx:
        tx.save_draft(key, text)
    return {"key": key}


async def add_comment(
    deps: Dependencies, proposal: str, path: str, side: str, line: int, quote: str, text: str
) -> Result:
    """A comment on one line of a proposal; it goes along when the proposal is sent back."""
    held = deps.reader.proposal(proposal)
    with deps.store.transaction() as tx:
        number = tx.add_comment(held.id, path=path, side=side, line=line, quote=quote, text=text)
    return {"comment": number}


async def remove_comment(deps: Dependencies, number: int) -> Result:
    """Take back a comment that was not sent."""
    with deps.store.transaction() as tx:
        tx.change_comment(number, "")
    return {"comment": number}
