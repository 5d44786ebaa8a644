"""Runs of a speculation experiment, read from a table that anybody may have written."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from navigator.model.errors import UsageError
from navigator.model.json_text import first_misfit, read_json, table
from navigator.model.text import safe_line

_MOST_BYTES = 256 << 20

COLUMNS: dict[str, list[str]] = table(__package__, "columns.toml")
"""What a column may be called, the likeliest name first."""

_ABSENT = {"", "none", "nan", "null", "-", "n/a"}
_NO_DRAFT = {"no", "off", "baseline", "0"}
_GOOD = {"", "ok", "done", "success", "true", "1", "completed"}


def _number(value: object) -> object:
    """A figure as tables write it: 61.5, 61.5%, 1.2×."""
    if not isinstance(value, str):
        return value
    words = value.strip().rstrip("x×")
    return float(words[:-1]) / 100 if words.endswith("%") else words


Text = Annotated[str, BeforeValidator(lambda value: safe_line(str(value).strip()))]
Number = Annotated[float, BeforeValidator(_number), Field(ge=0, allow_inf_nan=False)]


class Run(BaseModel):
    """One row. `draft` is "" and `gamma` 0 without speculation; None is what the table does not say.

    Attributes:
        line: in the file, from 1.
        speed: decoded tokens a second.
        rate: accepted ÷ drafted, as the row states it or by its own counters.
        drafted, accepted: tokens by the server's counter.
        rounds: verifying passes.
        block: which start of the server.
        suite: part of an experiment that the row belongs to.
        engine, version, card: which server, and what it ran on.
        output: digest of the tokens that were written.
        random_weights: the models are not trained: times may be real, acceptance and text are not.
        arguments: of the server, those that make it speculate.
        positions: rounds whose draft was kept up to each position.
        windows: the answer in pieces: tokens, accepted drafts, seconds.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    line: int
    target: Annotated[Text, Field(min_length=1)]
    draft: Text = ""
    gamma: Annotated[int, Field(ge=0)] = 0
    speed: Annotated[Number, Field(gt=0)]
    rate: Annotated[Number, Field(le=1)] | None = None
    drafted: Number | None = None
    accepted: Number | None = None
    rounds: Number | None = None
    tokens: Number | None = None
    prompt: Text = ""
    prompt_tokens: Number | None = None
    block: Text = ""
    output: Text = ""
    suite: Annotated[Text, AfterValidator(lambda value: value.partition("_")[0])] = ""
    engine: Text = ""
    version: Text = ""
    card: Text = ""
    random_weights: bool = False
    arguments: tuple[str, ...] = ()
    positions: tuple[int, ...] = ()
    windows: tuple[tuple[float, float, float], ...] = ()

    @property
    def speculated(self) -> bool:
        """Whether it drafted."""
        return self.gamma > 0

    @property
    def tokens_per_round(self) -> float | None:
        """τ: by counters where there are any, else 1 + γ · rate."""
        if not self.speculated:
            return None
        if self.rounds and self.accepted is not None:
            return 1 + self.accepted / self.rounds
        return None if self.rate is None else 1 + self.gamma * self.rate


def by_start(runs: Iterable[Run]) -> dict[tuple[str, str], dict[str, dict[int, list[Run]]]]:
    """By target and draft, then start of the server, then length; runs without a draft are under the draft ""."""
    found: dict[tuple[str, str], dict[str, dict[int, list[Run]]]] = {}
    for run in runs:
        start = found.setdefault((run.target, run.draft), {}).setdefault(run.block, {})
        start.setdefault(run.gamma, []).append(run)
    return dict(sorted(found.items()))


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be used, and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class RunTable:
    """What a file holds: field → the column it was read from, good rows, bad ones, columns that nothing was read from."""

    columns: dict[str, str]
    runs: list[Run]
    bad: list[BadRow]
    unused: tuple[str, ...] = ()


def read_runs(path: Path) -> RunTable:
    """Read a CSV file, whose first line names the columns, or JSON lines with the same names.

    Raises:
        UsageError: the file cannot be read, or lacks the model or the speed.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UsageError(f"{path} is larger than {_MOST_BYTES >> 20} MB.")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error
    rows = list((_json_rows if path.suffix in (".jsonl", ".ndjson") else _csv_rows)(text, path))
    heads = list(dict.fromkeys(name for _, row in rows for name in row))
    columns = _columns(heads)
    runs: list[Run] = []
    bad: list[BadRow] = []
    for line, row in rows:
        try:
            runs.append(_parse_run(line, {name: row.get(column) for name, column in columns.items()}))
        except ValidationError as error:
            bad.append(BadRow(line, safe_line(first_misfit(error))))
        except ValueError as error:
            bad.append(BadRow(line, str(error)))
    unused = tuple(head for head in heads if head not in columns.values())
    return RunTable(columns, runs, bad, unused)


def _csv_rows(text: str, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    sample = text[:4096]
    delimiter = max(",;\t", key=sample.split("\n", 1)[0].count)
    reader = csv.DictReader(text.splitlines(keepends=True), delimiter=delimiter)
    try:
        for row in reader:
            # A short row lacks its last columns; a long one has its surplus under None.
            yield reader.line_num, {name: value for name, value in row.items() if name is not None}
    except csv.Error as error:
        raise UsageError(f"{path}, line {reader.line_num}: {error}.") from error


def _json_rows(text: str, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, words in enumerate(text.splitlines(), 1):
        if not words.strip():
            continue
        try:
            row = read_json(words)
        except ValueError as error:
            raise UsageError(f"{path}, line {line} is no JSON: {error}.") from error
        if not isinstance(row, dict):
            raise UsageError(f"{path}, line {line} is no JSON object.")
        yield line, row


def _columns(heads: Sequence[str]) -> dict[str, str]:
    lowered = {head.strip().lower(): head for head in heads}
    columns: dict[str, str] = {}
    for name, spellings in COLUMNS.items():
        found = next((lowered[spelling] for spelling in spellings if spelling in lowered), None)
        if found is not None and found not in columns.values():
            columns.setdefault(name, found)
    if missing := {"target", "speed"} - columns.keys():
        known = "; ".join(f"{name} is {', '.join(COLUMNS[name])}" for name in sorted(missing))
        raise UsageError(
            f"No column of this file is its {' or '.join(sorted(missing))}.",
            hint=f"Rename a column: {known}. Columns: {', '.join(map(safe_line, heads))}.",
        )
    return columns


def _parse_run(line: int, row: Mapping[str, Any]) -> Run:
    """One row as a run.

    Raises:
        ValueError: why it is none.
    """
    known = {name: value for name, value in row.items() if str(value or "").strip().lower() not in _ABSENT}
    known |= {name: value for name, value in row.items() if value == 0 and not isinstance(value, str)}
    if str(known.get("status", "")).strip().lower() not in _GOOD:
        raise ValueError(f"its status is {safe_line(str(known['status']))}")
    draft = str(known.get("draft", "")).strip()
    if "draft" in row and (not draft or draft.lower() in _NO_DRAFT):
        known |= {"draft": "", "gamma": 0}
    elif draft and "gamma" not in known:
        raise ValueError(f"it drafts with {safe_line(draft)} but states no draft length")
    run = Run.model_validate({"line": line, **known})
    named = run.draft or "draft" if run.gamma else ""
    rate = run.rate
    if run.accepted is not None and run.drafted:
        if run.accepted > run.drafted:
            raise ValueError(f"it accepts {run.accepted:g} of {run.drafted:g} drafts")
        rate = run.accepted / run.drafted if rate is None else rate
    return Run.model_validate(run.model_dump() | {"draft": named, "rate": rate})
