"""What became of the test of a finding, in words."""

from __future__ import annotations

from navigator.model.models import Finding, Reproduction
from navigator.model.states import ReproductionOutcome, RevisedOutcome
from navigator.model.text import safe_line

_HEADS = {
    ReproductionOutcome.UNASKED: "its test is still to be written",
    ReproductionOutcome.PENDING: "its test is still to be run",
    ReproductionOutcome.REGRESSION: "reproduced: a test passes on the base and fails here",
    ReproductionOutcome.UNMET: "reproduced: a test fails on the base and here (unmet requirement)",
}


def reproduction_words(finding: Finding) -> str:
    """`reproduced: a test passes on the base and fails here`; "" where no test was asked for."""
    made = finding.reproduction
    if made is None:
        return ""
    if made.outcome is ReproductionOutcome.NOT_REPRODUCED:
        said = f"not reproduced: {made.reason}"
    elif made.outcome is ReproductionOutcome.COULD_NOT_RUN:
        said = f"could not be run: {made.reason}"
    else:
        said = _HEADS[made.outcome]
    return f"{said}{_revised(made)}"


def reproduction_lines(finding: Finding) -> list[str]:
    """The same with the test's path, and the first line of what it said when it failed."""
    made = finding.reproduction
    words = reproduction_words(finding)
    if made is None or not words:
        return []
    lines = [f"{words} · {safe_line(made.path)}" if made.path else words]
    error = made.failure.partition("\n")[2].strip().partition("\n")[0]
    return [*lines, safe_line(error)] if error and made.outcome in _PROVED else lines


_PROVED = frozenset({ReproductionOutcome.REGRESSION, ReproductionOutcome.UNMET})


def _revised(made: Reproduction) -> str:
    if made.revised is RevisedOutcome.NONE:
        return ""
    if made.revised is RevisedOutcome.PASSES:
        confirmed = "confirmed: " if made.outcome is ReproductionOutcome.UNMET else ""
        return f"; {confirmed}passes on {made.revised_by}"
    if made.revised is RevisedOutcome.FAILS:
        return f"; still fails on {made.revised_by}"
    return f"; could not be run on {made.revised_by}"
