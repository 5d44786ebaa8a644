"""What counts as garbage."""

from __future__ import annotations

import pytest

from navigator.figures.canary import judge
from navigator.model.states import CanaryOutcome

LINE = "for index, (name, value) in enumerate(sorted(table.items()), start=1):"
COUNT = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20"
CODE = "def clamp(value, low, high):\n    return max(low, min(value, high))"
WELL = (LINE, COUNT, CODE)
ODD = ("OK, I will.", "Sure: here they are.", "Of course.")
BROKEN = ("!" * 32, "!" * 32, "!" * 32)
WORDS = ("の lorem kat ; zzz 7", "vier ~ ~ Äpfel null", "struct < q q ? und")


@pytest.mark.parametrize(
    ("answers", "reference", "outcome"),
    [
        (WELL, None, CanaryOutcome.WELL),
        (ODD, None, CanaryOutcome.WELL),  # a weak model is no broken one
        (BROKEN, None, CanaryOutcome.GARBAGE),
        (("", " ", "\n"), None, CanaryOutcome.UNANSWERED),  # a model that only reasons within the limit
        (ODD, ODD, CanaryOutcome.WELL),
        ((LINE, "!" * 32, CODE), WELL, CanaryOutcome.WELL),
        (BROKEN, WELL, CanaryOutcome.GARBAGE),
        (WORDS, WELL, CanaryOutcome.GARBAGE),
        (("", "", ""), WELL, CanaryOutcome.GARBAGE),
        (WELL, ODD, CanaryOutcome.WELL),  # right answers are no garbage, whatever came before
    ],
)
def test_answers_are_judged_by_what_was_asked_and_said_before(
    answers: tuple[str, ...], reference: tuple[str, ...] | None, outcome: CanaryOutcome
) -> None:
    assert judge(answers, reference)[0] is outcome
