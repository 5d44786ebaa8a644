"""`navigator stats`: what happened, counted; a rehearsal's figures stand apart and say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from navigator.cascade.views import figures
from navigator.cli import output
from navigator.cli.housekeeping import moment_of
from navigator.cli.session import reading
from navigator.evidence.edits import edit_stats
from navigator.evidence.intervals import Share, Summary
from navigator.evidence.outcomes import Outcomes, outcomes
from navigator.evidence.rates import GROUPINGS, RateRow, revise_rate
from navigator.evidence.readings import Readings, readings
from navigator.evidence.self_review import OwnReadings, own_readings
from navigator.evidence.swaps import Direction, swap_stats
from navigator.evidence.throughput import throughput

_JSON = click.option("--json", "as_json", is_flag=True)
REHEARSAL = "REHEARSAL: simulated, by the embedded stand-in; says nothing about a real model"


@click.group()
def stats() -> None:
    """Revise rate, swaps, throughput, outcomes, edits."""


@stats.command("revise-rate")
@click.option("--by", type=click.Choice(GROUPINGS), default=None)
@click.option(
    "--since",
    default=None,
    metavar="D",
    help="From this day on, e.g. 2026-11-03, or of the last 12h, 7d, 8w.",
)
@_JSON
def rate(by: str | None, since: str | None, as_json: bool) -> None:
    """How often the reviewer asks for a revision of a first proposal, with 95 % Wilson intervals."""
    start = since and (moment_of(since) or since)
    with reading() as store:
        tables = revise_rate(figures.first_verdicts(store), by=by, since=start)
    if as_json:
        output.print_json(
            {
                "rows": [asdict(row) for row in tables.rows],
                "rehearsal": [asdict(row) for row in tables.rehearsal],
                "excluded": tables.excluded,
            }
        )
        return
    if not tables.rows and not tables.rehearsal:
        output.say("No reviews yet. `navigator run` makes them.")
        return
    if tables.rows:
        output.emit(_rates(tables.rows))
    if tables.rehearsal:
        output.say(f"\n{REHEARSAL}" if tables.rows else REHEARSAL, bold=True)
        output.emit(_rates(tables.rehearsal))
    if tables.excluded:
        left = ", ".join(
            f"{count} {reason.replace('_', ' ')}" for reason, count in sorted(tables.excluded.items())
        )
        output.note(f"Not counted: {left}.")


def _rates(rows: Sequence[RateRow]) -> str:
    shown = [
        (
            row.group,
            output.percent(row.rate),
            f"[{100 * row.low:.0f}–{100 * row.high:.0f}]" if row.n else "",
            row.n,
            row.revise,
            row.approve,
            row.unreviewed,
            output.percent(row.stated_rate),
            row.disagreed,
            row.note or (f"pools {row.models} models" if row.models > 1 else ""),
        )
        for row in rows
    ]
    heads = (
        "first-round verdicts",
        "rate",
        "95 %",
        "n",
        "revise",
        "approve",
        "unreviewed",
        "stated",
        "differs",
        "",
    )
    return output.table(heads, shown, right=(1, 3, 4, 5, 6, 7, 8))


@stats.command("swaps")
@_JSON
def swaps(as_json: bool) -> None:
    """What a swap costs: count, mean, median and P95 by direction and phase, in seconds."""
    with reading() as store:
        directions = swap_stats(store.swaps())
    if as_json:
        output.print_json({"directions": [asdict(row) for row in directions]})
        return
    if not directions:
        output.say("No swap was measured yet.")
        return
    for real in (True, False):
        chosen = [row for row in directions if row.rehearsal is not real]
        if not chosen:
            continue
        if not real:
            output.say(
                f"\n{REHEARSAL}" if any(not row.rehearsal for row in directions) else REHEARSAL, bold=True
            )
        output.emit(_swaps(chosen))


def _swaps(directions: Sequence[Direction]) -> str:
    """Each direction's whole, and below it each of its phases, in seconds."""
    rows: list[tuple[object, ...]] = []
    for row in directions:
        name = f"{row.from_role.value if row.from_role else 'nothing'} → {row.to_role.value}"
        rest = [f"{count} {failure.replace('_', ' ')}" for failure, count in row.failures.items()]
        rest += [f"{row.outside} by other hands, not measured"] if row.outside else []
        rows.append((name, row.strategy, *_durations(row.seconds), row.failed, ", ".join(rest)))
        rows += [(f"  {phase}", "", *_durations(summary), "", "") for phase, summary in row.phases.items()]
        rows += [
            (
                f"  {kind.name} weights",
                "",
                *_durations(kind.seconds),
                "",
                f"{output.percent(kind.share)} in memory",
            )
            for kind in row.warmth
        ]
    heads = ("swap, seconds", "strategy", "n", "mean", "median", "P95", "failed", "")
    return output.table(heads, rows, right=(2, 3, 4, 5, 6))


def _durations(found: Summary | None) -> tuple[object, ...]:
    return (
        (found.n, *(f"{value:.2f}" for value in (found.mean, found.median, found.p95)))
        if found
        else (0, "", "", "")
    )


@stats.command("throughput")
@_JSON
def throughput_table(as_json: bool) -> None:
    """Tokens a second, by role and model, as the client measured them."""
    with reading() as store:
        rows = throughput(figures.call_rows(store))
    if as_json:
        output.print_json({"throughput": [asdict(row) for row in rows]})
        return
    if not rows:
        output.say("No model was called yet.")
        return
    shown = [
        (
            row.role.value,
            row.model,
            row.calls,
            row.failed,
            row.completion_tokens,
            _number(row.tokens_per_second),
            _number(row.stream_tokens_per_second),
            output.percent(row.cached_share),
            "REHEARSAL" if row.rehearsal else "",
        )
        for row in rows
    ]
    heads = ("role", "model", "calls", "failed", "tokens out", "tok/s", "a stream", "prompt cached", "")
    output.emit(output.table(heads, shown, right=(2, 3, 4, 5, 6, 7)))


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


@stats.command("outcomes")
@_JSON
def outcome_table(as_json: bool) -> None:
    """What became of tasks, and where you and the reviewer disagreed."""
    with reading() as store:
        tables = outcomes(figures.task_rows(store), figures.decided_rows(store))
        read = readings(figures.readings(store))
        own = own_readings(figures.own_rows(store))
    if as_json:
        output.print_json({**asdict(tables), "readings": asdict(read), "own_readings": asdict(own)})
        return
    _say_outcomes("", tables.real)
    _say_readings(read.real)
    _say_own(own.real)
    if tables.rehearsal.states:
        output.say(REHEARSAL, bold=True)
        _say_outcomes("", tables.rehearsal)
        _say_readings(read.rehearsal)
        _say_own(own.rehearsal)


def _say_readings(found: Readings) -> None:
    """What became of readings as such: what could not be read, what did not stand, where one turned against another."""
    output.say(f"readings: {found.readings}, {found.in_parts} of them in parts")
    for name, value in (
        ("could not be read", found.unreviewed),
        ("stated another verdict", found.disagreed),
        ("findings not anchored", found.unanchored),
        ("later ones with a reversal", found.reversed),
    ):
        output.say(f"  {name:<26} {_share(value)}")
    if found.remarks:
        output.say(f"  {'remarks of later rounds':<26} {found.remarks}")


def _say_outcomes(title: str, found: Outcomes) -> None:
    states = ", ".join(f"{count} {state}" for state, count in sorted(found.states.items()))
    output.say(f"{title}tasks: {states or 'none'}")
    for name, value in (
        ("rejected after APPROVE", found.rejected_after_approve),
        ("sent back after APPROVE", found.sent_back_after_approve),
        ("approved over REVISE", found.approved_over_revise),
        ("approved UNREVIEWED", found.approved_unreviewed),
    ):
        output.say(f"  {name:<24} {_share(value)}")


def _say_own(found: OwnReadings) -> None:
    """How the writer's own readings compare with the reviewer's; nothing where none was made."""
    if not found.agreed.n and not found.unread:
        return
    output.say("own readings, against the reviewer's first verdict")
    for name, value in (
        ("same verdict", found.agreed),
        ("saw what it objects to", found.caught),
        ("objected alone", found.alone),
    ):
        output.say(f"  {name:<26} {_share(value)}")
    if found.unread:
        output.say(f"  {'could not be read':<26} {found.unread}")


def _share(value: Share) -> str:
    if not value.n:
        return "–"
    return (
        f"{value.k} of {value.n}  {output.percent(value.rate)} [{100 * value.low:.0f}–{100 * value.high:.0f}]"
    )


@stats.command("edits")
@_JSON
def edit_table(as_json: bool) -> None:
    """On which rung edits applied, why they did not, and how often the first answer was clean."""
    with reading() as store:
        tables = edit_stats(figures.edit_rounds(store))
    if as_json:
        output.print_json(asdict(tables))
        return
    for label, found in (("", tables.real), (REHEARSAL, tables.rehearsal)):
        if label and not found.clean_first.n:
            continue
        if label:
            output.say(label, bold=True)
        output.say(
            f"clean first answers  {_share(found.clean_first)}; {found.repaired} repaired, {found.lost} lost"
        )
        output.say(f"  rungs  {_counts(found.rungs)}")
        output.say(f"  codes  {_counts(found.codes)}")


def _counts(values: dict[str, Any]) -> str:
    return "  ".join(f"{name} {count}" for name, count in values.items()) or "none"
