"""Published figures, recomputed by the functions that the commands call."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from navigator.figures.intervals import discordant_needed, share, sign_test, wilson
from navigator.lab.speculation import predict as formulas
from navigator.model.timing import distinct_experts
from navigator.schedule import batch_time
from navigator.schedule.batch_time import PUBLISHED, Figures

ROWS: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("golden.toml").read_text("utf-8"))["row"]


def figures(given: Mapping[str, Any] | None = None) -> Figures:
    return replace(PUBLISHED, **(given or {}))


def one_task_seconds(revisions: int = 0, back: bool = False, reviewed: bool = False) -> float:
    """One task alone. The papers leave the last revision's review out unless `reviewed`; `back` counts the swap back."""
    used = figures()
    steps = batch_time.task_steps(used, revisions=revisions)
    counted = steps[: len(steps) if reviewed or not revisions else -2]
    return sum(step.seconds for step in counted) + (used.swap_back if back and not revisions else 0.0)


FORMULAS: dict[str, Callable[..., Any]] = {
    "break_even_alpha": formulas.break_even_alpha,
    "break_even_tokens": lambda figures_: batch_time.break_even(figures(figures_)).tokens,
    "coverage": lambda tokens, experts, chosen: formulas.distinct_experts(tokens, experts, chosen) / experts,
    "distinct_experts": distinct_experts,
    "one_task_against_single": lambda: one_task_seconds() / PUBLISHED.single_seconds,
    "one_task_seconds": one_task_seconds,
    "rate_from_alpha": formulas.rate_from_alpha,
    "round_trip": lambda **given: figures(given).round_trip,
    "session_against_single": lambda batch: (
        batch_time.forecast(batch).tokens_per_second / PUBLISHED.single_speed
    ),
    "session_speed": lambda batch, figures_: batch_time.forecast(batch, figures(figures_)).tokens_per_second,
    "share": lambda k, n: share(k, n).rate,
    "sign_test": sign_test,
    "speedup": formulas.speedup,
    "swap_each": lambda batch: batch_time.forecast(batch, figures()).swap_each,
    "swap_in": lambda **given: figures(given).swap_in,
    "swap_in_each": lambda batch: figures().swap_in / batch,
    "wilson": lambda k, n: list(wilson(k, n)),
    "write_seconds": lambda batch: batch_time.forecast(batch, figures()).write_seconds,
}


def half_a_unit(value: float) -> float:
    """Of the last digit that is written, and a little for binary fractions."""
    digits = len(repr(value).partition(".")[2])
    return 0.5 * 10.0**-digits + 1e-9 * max(1.0, abs(value))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_a_published_figure_is_recomputed(row: dict[str, Any]) -> None:
    inputs = {"figures_" if name == "figures" else name: value for name, value in row["inputs"].items()}
    computed, expected = FORMULAS[row["formula"]](**inputs), row["expected"]
    if isinstance(expected, str | bool):
        assert computed == expected
        return
    several = expected if isinstance(expected, list) else [expected]
    found = computed if isinstance(expected, list) else [computed]
    assert len(found) == len(several)
    for one, wanted in zip(found, several, strict=True):
        assert one == pytest.approx(wanted, rel=0, abs=half_a_unit(wanted)), row["what"]


def test_every_formula_has_a_figure() -> None:
    assert {row["formula"] for row in ROWS} == set(FORMULAS)
    assert len({row["id"] for row in ROWS}) == len(ROWS)


def test_the_sign_test_is_exact() -> None:
    assert sign_test(5, 0) == 0.0625
    assert sign_test(0, 6) == 0.03125
    assert sign_test(3, 3) == 1.0
    assert sign_test(0, 0) == 1.0
    assert sign_test(8, 2) == pytest.approx(0.109375)
    assert discordant_needed() == 6
