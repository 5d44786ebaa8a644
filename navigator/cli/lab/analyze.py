"""`navigator lab speculation analyze`: the tables of an experiment, and what in them cannot be true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from navigator.cli import output
from navigator.cli.lab.measure import tell_estimates
from navigator.lab.speculation import tables
from navigator.lab.speculation.checks import TableFacts, TableFault, findings
from navigator.lab.speculation.estimates import estimates
from navigator.lab.speculation.runs import COLUMNS, RunTable, read_runs
from navigator.model.errors import UsageError
from navigator.model.text import plural, safe_line

_SHOWN_BAD = 20


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--column",
    "named",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="Read a field from this column. Repeatable.",
)
@click.option(
    "--bandwidth", type=click.FloatRange(min=0), default=0.0, metavar="GB/S", help="Of the card's memory."
)
@click.option(
    "--weights",
    multiple=True,
    metavar="MODEL=GB",
    help="What a step of a model reads: all weights of a dense model, the active ones of a sparse model. Repeatable.",
)
@click.option(
    "--same",
    multiple=True,
    metavar="DRAFT=MODEL",
    help="This draft is that model of the baseline. Repeatable.",
)
@click.option(
    "--claim-rounds", "claimed", multiple=True, metavar="N[@GAMMA]", help="Check a claimed number of rounds."
)
@click.option(
    "--prompt-words", type=click.IntRange(min=1), metavar="N", help="Words of the text prompts are cut from."
)
@output.JSON
def analyze(file: Path, as_json: bool, **options: Any) -> None:
    """Make the tables of a speculation experiment from FILE (CSV or JSON lines, yours or anybody's), and check them.

    Exits with 1 if something in it is impossible.
    """
    facts = TableFacts(
        bandwidth=options["bandwidth"],
        gigabytes={name: _parse_share(value) for name, value in _pairs(options["weights"], "--weights")},
        same=dict(_pairs(options["same"], "--same")),
        claimed_rounds=dict(map(_claim, options["claimed"])),
        prompt_words=options["prompt_words"],
    )
    table = read_runs(file, dict(_pairs(options["named"], "--column")))
    _require_counts(table)
    found = findings(table.runs, facts)
    if as_json:
        output.print_json(_table_json(file, table, found, facts))
    else:
        _show_table(file, table, found, facts)
    if any(finding.severity == "impossible" for finding in found):
        click.get_current_context().exit(1)


def _require_counts(table: RunTable) -> None:
    """Without them nothing says whether a speed-up can be.

    Raises:
        UsageError: runs speculate, and no column says what became of their drafts.
    """
    counted = any(run.rate is not None or (run.rounds and run.accepted is not None) for run in table.runs)
    if not counted and any(run.speculated for run in table.runs):
        unused = f" Not used: {', '.join(map(safe_line, table.unused))}." if table.unused else ""
        raise UsageError(
            "No column of this file says how many drafts were accepted.",
            hint=f"Name them: --column accepted=COLUMN --column drafted=COLUMN, or --column rate=COLUMN.{unused}",
        )


def _pairs(words: Sequence[str], option: str) -> list[tuple[str, str]]:
    pairs = [word.partition("=") for word in words]
    for name, equals, value in pairs:
        if not (name and equals and value):
            raise UsageError(f"{option} takes NAME=VALUE.", hint=f"Fields of --column: {', '.join(COLUMNS)}.")
    return [(name, value) for name, _, value in pairs]


def _parse_share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if value <= 0:
        raise UsageError(f"{text} is no size above zero.")
    return value


def _claim(text: str) -> tuple[int, float]:
    rounds, _, gamma = text.partition("@")
    if gamma and not gamma.isdigit():
        raise UsageError(f"{text} names no draft length after the @.")
    return int(gamma or 0), _parse_share(rounds)


def _table_json(file: Path, table: RunTable, found: list[TableFault], facts: TableFacts) -> dict[str, Any]:
    return {
        "file": str(file),
        "columns": table.columns,
        "unused_columns": table.unused,
        "rows": len(table.runs) + len(table.bad),
        "used": len(table.runs),
        "bad_rows": [asdict(row) for row in table.bad],
        "suites": tables.suites(table.runs),
        "baselines": [asdict(row) for row in tables.baselines(table.runs)],
        "speculation": [asdict(row) for row in tables.speculation(table.runs)],
        "prompt_lengths": [asdict(row) for row in tables.lengths(table.runs)],
        "estimates": [asdict(row) for row in estimates(table.runs)],
        "findings": [asdict(finding) for finding in found],
        "not_checked": _not_checked(table, facts),
    }


def _not_checked(table: RunTable, facts: TableFacts) -> list[str]:
    """What would be checked if more were known."""
    names = {run.target for run in table.runs} | {run.draft for run in table.runs if run.draft}
    unknown = sorted(names - facts.gigabytes.keys())
    missing = []
    if facts.bandwidth <= 0:
        missing.append("times against the memory's bandwidth: give --bandwidth and --weights")
    elif unknown:
        missing.append(f"bandwidth, as far as --weights is missing for {', '.join(unknown)}")
    if "rounds" not in table.columns:
        missing.append("tokens against rounds: no column counts rounds")
    if not {"drafter_drafted", "drafter_accepted"} <= table.columns.keys():
        missing.append("the server's counter against the draft's own: no columns have the draft's")
    return missing


def _show_table(file: Path, table: RunTable, found: list[TableFault], facts: TableFacts) -> None:
    read = ", ".join(f"{name} from {column}" for name, column in table.columns.items() if name != column)
    output.say(
        f"{file}: {plural(len(table.runs), 'run')}"
        + (f", {plural(len(table.bad), 'row')} left out" if table.bad else "")
    )
    if read:
        output.prose(f"Read: {read}.")
    if table.unused:
        output.prose(f"Not used: {', '.join(map(safe_line, table.unused))}.")
    for bad in table.bad[:_SHOWN_BAD]:
        output.say(f"  line {bad.line} is left out: {bad.reason}")
    if len(table.bad) > _SHOWN_BAD:
        output.say(f"  and {len(table.bad) - _SHOWN_BAD} more; --json lists all")
    output.say()
    _tables(table)
    if costs := estimates(table.runs):
        tell_estimates(costs)
        output.say()
    _findings(found)
    output.say("Not checked:", bold=True)
    for line in _not_checked(table, facts):
        output.say(f"  {line}")


def _tables(table: RunTable) -> None:
    if suites := tables.suites(table.runs):
        parts: list[tuple[object, ...]] = [
            (name, *map(_listed, row.values())) for name, row in suites.items()
        ]
        parts.append(("all", len(table.runs), *[""] * 5))
        suite_heads = "suite", "n", "models", "drafts", "γ", "prompts", "lengths"
        output.emit(output.table(suite_heads, parts, right=(1,)))
        output.say()
    plain = [
        (row.target, row.prompt or "all", row.n, f"{row.mean:.1f}", _spread(row.sd))
        for row in tables.baselines(table.runs)
    ]
    output.emit(output.table(("no speculation", "prompts", "n", "tok/s", "sd"), plain, right=(2, 3, 4)))
    output.say()
    drafted = [
        (
            row.target,
            row.draft,
            row.gamma,
            row.n,
            f"{row.speed:.1f}",
            _spread(row.sd),
            "–" if row.speedup is None else f"{row.speedup:.2f}×",
            "–" if row.rate is None else f"{100 * row.rate:.1f}%",
            "–" if row.alpha is None else f"{row.alpha:.3f}",
            "–" if row.tokens_per_round is None else f"{row.tokens_per_round:.3f}",
            "–" if row.round_ms is None else f"{row.round_ms:.1f}",
        )
        for row in tables.speculation(table.runs)
    ]
    heads = (
        "speculation",
        "draft",
        "γ",
        "n",
        "tok/s",
        "sd",
        "speed-up",
        "rate",
        "α",
        "tokens a round",
        "ms a round",
    )
    output.emit(output.table(heads, drafted, right=range(2, 11)))
    output.prose(
        "Rate is accepted ÷ drafted; speed-up is against the mean of all runs of the model without speculation."
    )
    output.say()
    swept = [
        (
            row.target,
            row.draft,
            row.gamma,
            f"{row.prompt_tokens:g}",
            row.n,
            f"{row.speed:.1f}",
            _spread(row.sd),
            "–" if row.speedup is None else f"{row.speedup:.2f}×",
        )
        for row in tables.lengths(table.runs)
    ]
    if swept:
        length_heads = "prompt length", "draft", "γ", "prompt", "n", "tok/s", "sd", "speed-up"
        output.emit(output.table(length_heads, swept, right=range(2, len(length_heads))))
        output.say()


def _findings(found: list[TableFault]) -> None:
    """Each kind with the arithmetic of its first case, and the names of the others."""
    kinds = dict.fromkeys((finding.severity, finding.kind) for finding in found)
    for severity, kind in kinds:
        same = [finding for finding in found if (finding.severity, finding.kind) == (severity, kind)]
        output.say(f"{severity}: {kind}", bold=True)
        output.prose(f"{same[0].subject}{_line_numbers(same[0].lines)}: {same[0].arithmetic}", "  ")
        others = Counter(finding.subject for finding in same[1:])
        if again := others.pop(same[0].subject, 0):
            output.say(f"  The same in {plural(again, 'more row')}.")
        if others:
            output.say(f"  The same for {'; '.join(others)}.")
        output.say()
    if not found:
        output.say("Nothing in it contradicts itself.")


def _line_numbers(lines: Sequence[int]) -> str:
    if not lines:
        return ""
    shown = ", ".join(map(str, lines[:4])) + (" …" if len(lines) > 4 else "")
    return f" (line{'s' * (len(lines) > 1)} {shown})"


def _listed(value: object) -> str:
    words = value if isinstance(value, list) else [value]
    return ", ".join(f"{word:g}" if isinstance(word, float) else str(word) for word in words)


def _spread(sd: float | None) -> str:
    return "–" if sd is None else f"{sd:.2f}"
