"""The pages of statistics: one entry each, rendered by `navigator stats NAME` and by the Statistics screen.

A page reads its counts from the store and lays them out as tables of plain data.
What a client draws (columns of text, intervals, bars) is its own business.
"""

from __future__ import annotations

from navigator.sheet.statistics.cost import cost_tables, swap_tables, throughput_tables
from navigator.sheet.statistics.page import StatisticsPage, declared
from navigator.sheet.statistics.reviewer import exam_tables, uncertainty_tables
from navigator.sheet.statistics.revise_rate import rate_tables
from navigator.sheet.statistics.summary import summary_tables

SUMMARY = StatisticsPage(
    "summary",
    "Summary",
    "Nothing is counted yet. Add a task with `navigator task add`, then start the work with `navigator run`.",
    (summary_tables,),
)
REVIEWER = StatisticsPage(
    "reviewer",
    "Reviewer",
    "No first-round verdict yet. The revise rate appears once the reviewer has reviewed proposals.",
    (rate_tables, exam_tables, declared("reviewer"), uncertainty_tables),
)
COST = StatisticsPage("cost", "Cost", "No model called yet.", (cost_tables, swap_tables, throughput_tables))

PAGES = (
    SUMMARY,
    REVIEWER,
    StatisticsPage("outcomes", "Outcomes", "No task yet.", (declared("outcomes"),)),
    COST,
    StatisticsPage("writing", "Writing", "No edits yet.", (declared("writing"),)),
)
"""Every page, in the order of the screen's tabs. A new share is an entry of `figures.toml`, another part a function here."""
