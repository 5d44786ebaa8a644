"""Counts for monitoring, over everything that was recorded. Real and rehearsed are apart."""

from __future__ import annotations

from navigator.store.reads.queries import Queries

Count = tuple[tuple[str, ...], float]
"""Values of the labels, the last of them "true" for a rehearsal; and how many."""


class MetricReads(Queries):
    """Counts over one connection."""

    def verdicts(self) -> list[Count]:
        """Reviews by role and verdict."""
        return self._counts(
            "SELECT role, lower(verdict), rehearsal, count(*) FROM reviews GROUP BY 1, 2, 3", 2
        )

    def swaps(self) -> list[Count]:
        """Swaps by the role that was to be loaded and the outcome; one made outside counts as such."""
        how = "CASE made_by WHEN 'outside' THEN 'outside' ELSE outcome END"
        return self._counts(f"SELECT to_role, {how}, rehearsal, count(*) FROM swaps GROUP BY 1, 2, 3", 2)

    def swap_seconds(self) -> list[Count]:
        """Seconds of swaps, by the role that was to be loaded."""
        return self._counts("SELECT to_role, rehearsal, total(seconds) FROM swaps GROUP BY 1, 2", 1)

    def tokens(self) -> list[Count]:
        """Tokens by role and kind. Cached ones are among those of the prompts."""
        kinds = {"prompt": "prompt_tokens", "completion": "completion_tokens", "cached": "cached_tokens"}
        each = " UNION ALL ".join(
            f"SELECT role, '{kind}', rehearsal, total({column}) FROM call_sums GROUP BY 1, 3"
            for kind, column in kinds.items()
        )
        return self._counts(each, 2)

    def _counts(self, sql: str, labels: int) -> list[Count]:
        found = []
        for row in self._all(sql):
            *words, rehearsal = tuple(row)[: labels + 1]
            found.append(((*map(str, words), "true" if rehearsal else "false"), float(tuple(row)[-1])))
        return found
