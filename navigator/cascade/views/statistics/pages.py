"""The registry of pages."""

from __future__ import annotations

from typing import Any

from navigator.cascade.views.statistics import (
    cost,
    edits,
    exam,
    findings,
    forecasts,
    looking,
    outcomes,
    revise_rate,
    summary,
    swaps,
    throughput,
    uncertainty,
    variants,
)
from navigator.cascade.views.statistics.page import StatisticsPage

PAGES: tuple[StatisticsPage[Any], ...] = (
    summary.PAGE,
    revise_rate.PAGE,
    exam.PAGE,
    findings.PAGE,
    outcomes.PAGE,
    cost.PAGE,
    swaps.PAGE,
    throughput.PAGE,
    edits.PAGE,
    looking.PAGE,
    forecasts.PAGE,
    variants.PAGE,
    uncertainty.PAGE,
)
"""Every page, in the order of the screen's tabs. A new one is one entry here; its counts come from
`store.reads.statistics`, its arithmetic from `evidence`."""
