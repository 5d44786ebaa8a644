"""`navigator lab speculation analyze`: the tables of an experiment, and what in them cannot be true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from navigator.cli import output
from navigator.lab.speculation import tables
from navigator.lab.speculation.runs import COLUMNS, Run, RunTable, read_runs
from navigator.lab.speculation.tables import TableFault, findings
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
@output.JSON
def analyze(file: Path, named: tuple[str, ...], as_json: bool) -> None:
    """Make the tables of a speculation experiment from FILE (CSV or JSON lines, yours or anybody's), and check them.

    Exits with 1 if something in it is impossible.
    """
    table = read_runs(file, dict(map(_pair, named)))
    _require_counts(table)
    found = findings(table.runs)
    if as_json:
        output.print_json(
            {
                "file": str(file),
                "columns": table.columns,
                "unused_columns": table.unused,
                "rows": len(table.runs) + len(table.bad),
                "used": len(table.runs),
                "bad_rows": [asdict(row) for row in table.bad],
                "suites": tables.suites(table.runs),
                "baselines": [asdict(row) for row in tables.baselines(table.runs)],
                "speculation": [asdict(row) for row in tables.speculation(table.runs)],
                "findings": [asdict(finding) for finding in found],
            }
        )
    else:
        _show_table(file, table)
        _findings(found)
    if any(finding.severity == "impossible" for finding in found):
        click.get_current_context().exit(1)


def _require_counts(table: RunTable) -> None:
    """Without them nothing says whether a speed-up can be.

    Raises:
        UsageError: runs speculate, and no column says what became of their drafts.
    """
    counted = any(run.tokens_per_round is not None for run in table.runs)
    if not counted and any(run.speculated for run in table.runs):
        unused = f" Not used: {', '.join(map(safe_line, table.unused))}." if table.unused else ""
        raise UsageError(
            "No column of this file says how many drafts were accepted.",
            hint=f"Name them: --column accepted=COLUMN --column drafted=COLUMN, or --column rate=COLUMN.{unused}",
        )


def _pair(word: str) -> tuple[str, str]:
    name, _, value = word.partition("=")
    if not (name and value):
        raise UsageError("--column takes FIELD=COLUMN.", hint=f"Fields: {', '.join(COLUMNS)}.")
    return name, value


def _show_table(file: Path, table: RunTable) -> None:
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
    if suites := tables.suites(table.runs):
        parts = [(name, *map(_listed, row.values())) for name, row in suites.items()]
        suite_heads = "suite", "n", "models", "drafts", "γ", "prompts", "lengths"
        output.emit(output.table(suite_heads, parts, right=(1,)))
        output.say()
    plain = [
        (row.target, row.prompt or "all", row.n, f"{row.mean:.1f}", _number(row.sd))
        for row in tables.baselines(table.runs)
    ]
    output.emit(output.table(("no speculation", "prompts", "n", "tok/s", "sd"), plain, right=(2, 3, 4)))
    output.say()
    tell_speculation(table.runs)
    output.say()


def tell_speculation(runs: Sequence[Run]) -> None:
    """What drafting yields and costs, as a table; and acceptance by position."""
    found = tables.speculation(runs)
    heads = (
        *("model", "draft", "γ", "n", "starts", "tok/s", "sd", "speed-up", "accepted ÷ drafted", "95 %"),
        *("α", "τ", "round", "step", "same text"),
    )
    rows = [
        (
            row.target,
            row.draft,
            row.gamma,
            row.n,
            row.blocks,
            f"{row.speed:.1f}",
            _number(row.sd),
            _number(row.speedup, 2, "×"),
            _number(row.rate, 3),
            "–" if row.rate_low is None else f"{row.rate_low:.3f}–{row.rate_high:.3f}",
            _number(row.alpha, 3),
            _number(row.tokens_per_round),
            _number(row.round_ms, 2, " ms"),
            _number(row.step_ms, 2, " ms"),
            f"{row.same_text.k} of {row.same_text.n}" if row.same_text.n else "–",
        )
        for row in found
    ]
    output.emit(output.table(heads, rows, right=range(2, len(heads))))
    for row in found:
        if row.positions:
            shares = ", ".join(f"{share:.2f}" for share in row.positions)
            output.say(f"{row.draft} γ = {row.gamma}: kept up to each position in {shares} of the rounds.")
    output.prose(
        "Speed-up is against the mean of all runs of the model without speculation. τ: tokens a round. Same text: runs with"
        " the very tokens that the prompt gets without speculation."
    )


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


def _number(value: float | None, digits: int = 2, unit: str = "") -> str:
    return "–" if value is None else f"{value:.{digits}f}{unit}"
