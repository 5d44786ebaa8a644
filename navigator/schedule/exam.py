"""When the reviewer's exam goes on. Pure.

An item is asked only of a reviewer that is loaded anyway, in a slot that no review needs, and as often as `ExamView.room` says;
so a swap waits for a few items at most: no reviews, no room. One that the developer asks for waits for nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from navigator.model.snapshot import SchedulerSnapshot
from navigator.model.states import Role
from navigator.schedule.view import answers, reviewer_work


def items_with_room(share: float, reviews: int, calls: int, exam: int, before: int) -> int:
    """How many items the share of a residency's tokens pays for, those that are being asked included.

    An item costs what a review of this residency did on average, and leaves `share` kept only if reviews took
    `(1 - share) / share` times as much. What earlier residencies left over counts for one item at most, so that batches too
    small for an item still come to one now and then.

    Args:
        share: of all tokens that the exam may take, below 1; 0 is none.
        reviews: tokens of the reviews of this residency; `calls` is how many calls they were.
        exam: tokens of the exam in this residency.
        before: tokens of reviews of earlier residencies since the last item.
    """
    if share <= 0 or not calls or not reviews:
        return 0
    price = (reviews / calls) * (1 - share) / share
    return max(0, int((min(before, price) + reviews - exam * (1 - share) / share) / price))


def with_second_turns(
    new: Sequence[int], again: Sequence[int], share: float, firsts: int, seconds: int
) -> tuple[int, ...]:
    """The items to ask, in their order: new ones, and now and then one that was asked before.

    Args:
        new: items without an answer, in the order of asking; `again` those with one answer that may be asked a second time.
        share: of all questions, the second ones at most.
        firsts: questions already answered for the first time; `seconds` for the second time.
    """
    order: list[int] = []
    unasked, asked = deque(new), deque(again)
    while True:
        if asked and seconds + 1 <= share * (firsts + seconds + 1):
            order.append(asked.popleft())
            seconds += 1
        elif unasked:
            order.append(unasked.popleft())
            firsts += 1
        else:
            return tuple(order)


def exam_items(snapshot: SchedulerSnapshot, slots: int, leaving: object) -> tuple[int, ...]:
    """The items to ask about now.

    Args:
        slots: what the reviewer has free beside its reviews; items that are being asked take some of them.
        leaving: the swap that is due, None where none is.
    """
    exam = snapshot.exam
    if not exam.waiting or _called_away(snapshot):
        return ()
    allowed = max(exam.room, exam.asked)
    if exam.idle and leaving is None and not reviewer_work(snapshot):
        allowed = len(exam.waiting)
    return exam.waiting[: max(0, min(slots - exam.running, allowed))]


def exam_left(snapshot: SchedulerSnapshot, now: float) -> bool:
    """Whether a swap away from the reviewer waits for items of its exam: those being asked, and those with room."""
    exam = snapshot.exam
    if _called_away(snapshot) or not answers(snapshot, Role.REVIEWER, now):
        return False
    return exam.running > 0 or bool(exam.waiting and max(exam.room, exam.asked) > 0)


def _called_away(snapshot: SchedulerSnapshot) -> bool:
    """Whether the developer asked for the other model: nothing of the exam is waited for then."""
    return snapshot.wanted not in (None, Role.REVIEWER)
