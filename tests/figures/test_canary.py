"""What counts as the same, as drift and as garbage."""

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
        (WELL, None, CanaryOutcome.REFERENCE),
        (ODD, None, CanaryOutcome.REFERENCE),  # a weak model is no broken one
        (BROKEN, None, CanaryOutcome.GARBAGE),
        (("", " ", "\n"), None, CanaryOutcome.UNANSWERED),  # a model that only reasons within the limit
        (WELL, WELL, CanaryOutcome.SAME),
        ((LINE, COUNT, CODE.replace("low, min", "min")), WELL, CanaryOutcome.DRIFTED),
        ((LINE, "!" * 32, CODE), WELL, CanaryOutcome.DRIFTED),
        (BROKEN, WELL, CanaryOutcome.GARBAGE),
        (WORDS, WELL, CanaryOutcome.GARBAGE),
        (("", "", ""), WELL, CanaryOutcome.GARBAGE),
        (WELL, ODD, CanaryOutcome.DRIFTED),  # right answers are no garbage, however old the reference
    ],
)
def test_answers_are_held_against_the_reference(
    answers: tuple[str, ...], reference: tuple[str, ...] | None, outcome: CanaryOutcome
) -> None:
    assert judge(answers, reference).outcome is outcome


def test_a_flipped_tie_late_in_one_answer_stays_far_from_garbage() -> None:
    drifted = judge((LINE, COUNT, CODE[:27] + "\n    if value < low: return low"), WELL)
    assert drifted.outcome is CanaryOutcome.DRIFTED
    assert drifted.likeness is not None and drifted.likeness > 0.75


def test_speculation_that_accepts_half_as_much_is_said_though_the_text_is_the_same() -> None:
    lost = judge(WELL, WELL, accept_length=1.2, reference_accept_length=3.1)
    assert (lost.outcome, lost.likeness) == (CanaryOutcome.DRIFTED, 1.0)
    assert "1.20 tokens a step, 3.10" in lost.reason
    assert judge(WELL, WELL, accept_length=2.9, reference_accept_length=3.1).outcome is CanaryOutcome.SAME
    assert judge(WELL, WELL, accept_length=None, reference_accept_length=3.1).outcome is CanaryOutcome.SAME
