"""What the exam says of a reviewer: its scores, a sentence beside a verdict, and what a second model adds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from navigator.figures.exam import Backtest, ExamScore, Paired, backtest, exam_scores, paired, worth_words
from navigator.model.models import Review
from navigator.model.states import PAST, Role
from navigator.model.text import plural
from navigator.sheet.statistics.page import bounds, percent
from navigator.store.reads.reader import Reader


def scores(reader: Reader, since: str = "") -> tuple[ExamScore, ...]:
    """Every reviewer that was examined, from a UTC time on; see `exam_scores`."""
    counts = reader.exam_counts(since)
    reviewers = {(row.model, row.prompt_version) for row in counts}
    verdicts = [row for reviewer in reviewers for row in reader.newest_verdicts(*reviewer, since)]
    return exam_scores(counts, verdicts)


def worth_of(reader: Reader, review: Review) -> str:
    """What this reviewer's REVISE is worth, in one sentence; "" where it was not examined at all.

    A later round's review has another version of the prompt: then the newest exam of the same model is meant.
    """
    mine = [one for one in scores(reader) if one.model == review.model]
    if not mine:
        return ""
    exact = [one for one in mine if one.prompt_version == review.prompt_version]
    return worth_words((exact or mine)[0])


ENOUGH = 12
"""Faulty items that both models answered, from which on it is said what the second one adds."""


SWAPS = 200
"""Newest ones from which it is told what they cost a night."""


@dataclass(frozen=True, slots=True)
class Independence:
    """The writer's model (first) and the reviewer's (second) on the same items; `night` is the seconds of swaps on a day that had
    any, None where there was none."""

    models: Paired
    synthetic: bool
    night: float | None

    @property
    def words(self) -> str:
        """What the second model is worth, or what it would take to know."""
        gain = self.models.sensitivity.gain
        if gain is None or self.models.sensitivity.n < ENOUGH:
            known = f"it takes answers of both to {ENOUGH} faulty exam items, there are {self.models.sensitivity.n}"
            return f"It is not known whether one model could do both: {known}."
        low, high = round(100 * gain.low), round(100 * gain.high)
        cost = "no swap" if self.night is None else f"{max(1, round(self.night / 60))} min of swaps a night"
        on = " of our synthetic cases, which flatter every model" if self.synthetic else ""
        return f"One model could do both; here the second one finds [{low} to {high}] more of 100 faults{on}, for {cost}."


def independence(reader: Reader, since: str = "") -> Independence:
    """What is known of it: from the project's own items, else from those that come with Navigator."""
    own = reader.exam_pairs("models", since)
    found = paired(own or reader.exam_pairs("synthetic", since))
    days: dict[str, float] = defaultdict(float)
    for swap in reader.swaps(SWAPS):
        days[swap.started[:10]] += swap.seconds
    return Independence(found, not own, sum(days.values()) / len(days) if days else None)


def read_backtest(reader: Reader, projects: Collection[int] = (), since: str = "") -> tuple[Backtest, str]:
    """The reviewer that answered last, and which that is: model and prompt. Of all projects where none is named."""
    items = {
        item.id: item
        for item in reader.exam_items()
        if item.source in PAST and (not projects or item.project_id in projects)
    }
    mine = [one for one in reader.exam_answers() if one.item_id in items and one.role is Role.REVIEWER]
    given = [one for one in mine if one.at >= since]
    newest = (given[-1].model, given[-1].prompt_version) if given else ("", "")
    mine = [one for one in given if (one.model, one.prompt_version) == newest]
    return backtest((items[one.item_id], one) for one in mine), ", ".join(newest).strip(", ")


def backtest_words(found: Backtest) -> str:
    """The result in one sentence."""
    caught = found.caught
    if not caught.n:
        return "No bug of your history was asked about yet."
    said = f"It would have caught {caught.k} of {plural(caught.n, 'bug')} you shipped ({percent(caught.rate)} {bounds(caught)})"
    if found.alarms_each is not None:
        each = found.alarms_each
        return f"{said}, with {each.value:.1f} false alarms for each [{each.low:.1f}–{each.high:.1f}]."
    alarms = sum(case.asked_for for case in found.innocent)
    return f"{said}; {plural(alarms, 'false alarm')} on {plural(len(found.innocent), 'innocent commit')}."
