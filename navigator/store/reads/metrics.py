"""Counts for monitoring, over everything that was recorded."""

from __future__ import annotations

from navigator.store.reads.queries import Queries

Count = tuple[tuple[str, ...], float]
"""Values of the labels, and how many."""


class MetricReads(Queries):
    """Counts over one connection."""

    def verdicts(self) -> list[Count]:
        """Reviews by role and verdict."""
        return self._counts("SELECT role, lower(verdict), count(*) FROM reviews GROUP BY 1, 2")

    def swaps(self) -> list[Count]:
        """Swaps by the role that was to be loaded and the outcome; one made outside counts as such."""
        how = "CASE made_by WHEN 'outside' THEN 'outside' ELSE outcome END"
        return self._counts(f"SELECT to_role, {how}, count(*) FROM swaps GROUP BY 1, 2")

    def swap_seconds(self) -> list[Count]:
        """Seconds of swaps, by the role that was to be loaded."""
        return self._counts("SELECT to_role, total(seconds) FROM swaps GROUP BY 1")

    def tokens(self) -> list[Count]:
        """Tokens by role and kind. Cached ones are among those of the prompts."""
        kinds = {"prompt": "prompt_tokens", "completion": "completion_tokens", "cached": "cached_tokens"}
        each = " UNION ALL ".join(
            f"SELECT role, '{kind}', total({column}) FROM call_sums GROUP BY 1"
            for kind, column in kinds.items()
        )
        return self._counts(each)

    def _counts(self, sql: str) -> list[Count]:
        return [(tuple(map(str, words)), float(n)) for *words, n in self._all(sql)]
