"""What follows from the fields of a proposal and of a finding, as a model or as the light row of one."""

from __future__ import annotations

from typing import Any

from navigator.model.states import REPRODUCED, Role


class ProposalFacts:
    """A proposal's."""

    @property
    def findings(self: Any) -> tuple[tuple[Role, int, Any], ...]:
        """What its readers found, in the order in which they are numbered from 1: whose it is, its place there, the finding."""
        read = [review for review in (self.review, self.final_review) if review]
        return tuple((one.role, place, finding) for one in read for place, finding in enumerate(one.findings))


class FindingFacts:
    """A finding's."""

    @property
    def set_aside(self: Any) -> bool:
        """Whether it follows a precedent and no test has proved it all the same: then it decides nothing."""
        return bool(self.precedent) and (
            self.reproduction is None or self.reproduction.outcome not in REPRODUCED
        )

    @property
    def why_unanchored(self: Any) -> str:
        """Why it does not count, in words; "" where it is anchored."""
        return "" if self.anchored else self.unanchored or "its quote was not found"
