"""Writing what became of landed commits."""

from __future__ import annotations

from navigator.model.outcomes import Fate
from navigator.store.writes.core import TransactionCore


class OutcomeWrites(TransactionCore):
    """Writes no events: nothing waits for these."""

    def set_fate(self, fate: Fate) -> None:
        """Keep what became of a proposal's landed commit, in place of what an earlier look said."""
        row = self._proposal_row(fate.proposal_id)
        self._run("DELETE FROM fates WHERE proposal_id = ?", (row["id"],))
        self._insert("fates", fate)
