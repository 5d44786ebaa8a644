"""Is the reviewer worth it, and what does it cost: what the answers claim, and what they refuse."""

from __future__ import annotations

from navigator.figures.exam import ExamScore, exam_scores
from navigator.model.records import ExamCount, SwapTotals, VerdictCount, WorkTotals, Yield
from navigator.model.states import ExamSource, Role, Verdict
from navigator.sheet.statistics.cost import Cost
from navigator.sheet.statistics.pages import price, worth


def score(caught: int, missed: int, passed: int, objected: int, revise: int = 35, of: int = 100) -> ExamScore:
    def count(faulty: bool, said: Verdict, n: int) -> ExamCount:
        source = ExamSource.REVERSED_FIX if faulty else ExamSource.CLEAN
        return ExamCount(
            model="big",
            prompt_version="review@1",
            source=source,
            faulty=faulty,
            verdict=said,
            n=n,
            tokens=0,
            seconds=0,
            newest="2026-11-20T00:00:00.000Z",
        )

    counts = [
        count(True, Verdict.REVISE, caught),
        count(True, Verdict.APPROVE, missed),
        count(False, Verdict.APPROVE, passed),
        count(False, Verdict.REVISE, objected),
    ]
    verdicts = [
        VerdictCount(model="big", prompt_version="review@1", verdict=said, n=n)
        for said, n in ((Verdict.REVISE, revise), (Verdict.APPROVE, of - revise))
    ]
    (found,) = exam_scores([row for row in counts if row.n], verdicts)
    return found


def test_without_an_exam_it_is_not_measured_and_the_commands_are_named() -> None:
    found = worth(None)
    assert not found.known and "Not measured yet" in found.sentence
    assert "navigator exam prepare" in found.sentence and "navigator exam run" in found.sentence


def test_a_reviewer_that_tells_faulty_from_clean_is_worth_it() -> None:
    found = worth(score(45, 5, 46, 4))
    assert found.known and found.sentence.startswith("Yes. When this reviewer says REVISE it is right")


def test_one_that_tosses_a_coin_is_not() -> None:
    found = worth(score(50, 50, 50, 50))
    assert found.known and found.sentence.startswith("No. The exam finds this reviewer no better than chance")


def test_too_few_items_cannot_tell() -> None:
    found = worth(score(2, 2, 2, 1))
    assert not found.known and found.sentence.startswith("Cannot tell yet.")


def test_one_whose_objections_are_mostly_wrong_is_worth_it_in_part() -> None:
    found = worth(score(60, 40, 60, 40, revise=43))
    assert found.known and found.sentence.startswith("Partly")


def spent(accepted: int) -> Cost:
    made = Yield(accepted=accepted, proposals=60, reviews=50)
    work = [
        WorkTotals(
            role=Role.GENERATOR,
            work="write",
            calls=60,
            prompt_tokens=900_000,
            completion_tokens=60_000,
            seconds=4000,
            busy_seconds=900.0,
        )
    ]
    return Cost(made, work, SwapTotals(n=4, seconds=100.0))


def test_the_price_is_everything_spent_over_what_was_accepted() -> None:
    found = price(spent(40))
    assert found.known
    assert found.sentence == "An accepted change costs 24,000 tokens and 25 s of the GPU, 10% of it swaps."


def test_a_price_of_few_is_an_anecdote_and_of_none_is_not_told() -> None:
    assert price(spent(4)).sentence.endswith("Anecdotal: 4 accepted.")
    none = price(spent(0))
    assert not none.known and none.sentence.startswith("Nothing was accepted yet")
    nothing = price(Cost(Yield(), (), SwapTotals()))
    assert not nothing.known and "navigator run" in nothing.sentence
