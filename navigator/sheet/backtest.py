"""What the backtest says of the reviewer, for the command and the Reviewer page."""

from __future__ import annotations

from collections.abc import Collection

from navigator.figures.backtest import Backtest, backtest
from navigator.model.states import PAST, Role
from navigator.model.text import plural
from navigator.sheet.statistics.page import bounds, percent
from navigator.store.reads.reader import Reader


def read_backtest(reader: Reader, projects: Collection[int] = (), since: str = "") -> tuple[Backtest, str]:
    """The reviewer that answered last, and which that is: model and prompt. Of all projects where none is named."""
    items = {
        item.id: item
        for item in reader.exam_items()
        if item.source in PAST and (not projects or item.project_id in projects)
    }
    mine = [one for one in reader.exam_answers() if one.item_id in items and one.role is Role.REVIEWER]
    given = [one for one in mine if not one.turn and one.at >= since]
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
