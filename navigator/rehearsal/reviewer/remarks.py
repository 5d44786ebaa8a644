"""One remark of the rehearsal's reviewer on its way into the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Remark:
    """What was noticed. `miss` is the share of cases in which a reader overlooks this sort of thing."""

    sort: str
    kind: str
    path: str
    hunk: str
    quote: str
    line: int
    severity: str
    criterion: str
    trigger: str
    message: str
    miss: float = 0.1

    def as_finding(self) -> dict[str, Any]:
        """The remark as the answer's schema names it."""
        return {
            "kind": self.kind,
            "hunk": self.hunk,
            "quote": self.quote,
            "line": self.line,
            "severity": self.severity,
            "criterion": self.criterion,
            "trigger": self.trigger,
            "message": self.message,
        }


SEVERITIES = ("blocker", "major", "minor", "nit")


def worst_first(remarks: list[Remark]) -> list[Remark]:
    """In the order of severity, otherwise as found."""
    return sorted(remarks, key=lambda remark: SEVERITIES.index(remark.severity))
