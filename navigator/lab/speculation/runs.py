"""Runs of a speculation experiment, read from a table that anybody may have written."""

from __future__ import annotations

import csv
import difflib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from navigator.model.errors import UsageError
from navigator.model.json_text import read_json, table
from navigator.model.text import safe_line

_MOST_BYTES = 256 << 20

COLUMNS: dict[str, list[str]] = table(__package__, "columns.toml")
"""What a column may be called, the likeliest name first."""

_WORDS = ("target", "draft", "prompt", "block", "engine", "about", "output", "version", "card", "suite")
_GUESSED = ("speed", "rate", "drafted", "accepted", "rounds")
"""What is also read from a column whose name is only close to a spelling of it; what was read from where is said."""

_CLOSE = 0.85
"""How alike, by `difflib`."""

_T = TypeVar("_T", str, int, list[float])
_OTHERS = ("gamma", "status", "random_weights", "arguments", "positions", "windows")
_NONE = {"", "none", "no", "off", "-", "baseline", "0", "null", "nan"}
_GOOD = {"", "ok", "done", "success", "true", "1", "completed"}


@dataclass(frozen=True, slots=True)
class Run:
    """One row. `draft` is "" and `gamma` 0 without speculation; None is what the table does not say.

    Attributes:
        line: in the file, from 1.
        speed: decoded tokens a second.
        rate: accepted ÷ drafted, as the row states it or by its own counters.
        drafted, accepted: tokens by the server's (verifier's) counter.
        drafter_drafted, drafter_accepted: the same by the draft's own counter.
        rounds: verifying passes.
        block: which start of the server.
        draft_seconds: time spent drafting.
        engine, about: which server, and what its owner says about the machine and the models.
        version, card: of the engine, and the GPUs.
        suite: part of an experiment that the row belongs to.
        output: digest of the tokens that were written.
        random_weights: the models are not trained: times may be real, acceptance and text are not.
        arguments: of the server, those that make it speculate.
        positions: rounds whose draft was kept up to each position.
        windows: the answer in pieces: tokens, accepted drafts, seconds.
    """

    line: int
    target: str
    draft: str
    gamma: int
    speed: float
    rate: float | None = None
    drafted: float | None = None
    accepted: float | None = None
    drafter_drafted: float | None = None
    drafter_accepted: float | None = None
    rounds: float | None = None
    tokens: float | None = None
    step_ms: float | None = None
    prompt: str = ""
    prompt_tokens: float | None = None
    prompt_ms: float | None = None
    block: str = ""
    draft_seconds: float | None = None
    engine: str = ""
    about: str = ""
    output: str = ""
    version: str = ""
    card: str = ""
    suite: str = ""
    random_weights: bool = False
    arguments: tuple[str, ...] = ()
    positions: tuple[int, ...] = ()
    windows: tuple[tuple[float, float, float], ...] = ()
    repeat: float | None = None

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

    @property
    def round_seconds(self) -> float | None:
        """τ ÷ speed."""
        return None if self.tokens_per_round is None else self.tokens_per_round / self.speed


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


def read_runs(path: Path, named: Mapping[str, str] | None = None) -> RunTable:
    """Read a CSV file, or JSON lines with the same names.

    Args:
        path: the file; its first line names the columns.
        named: field → column, where the names are not among `COLUMNS`.

    Raises:
        UsageError: the file cannot be read, or lacks the model or the speed.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UsageError(f"{path} is larger than {_MOST_BYTES >> 20} MB.")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error
    rows = _json_rows(text, path) if path.suffix in (".jsonl", ".ndjson") else _csv_rows(text, path)
    heads = list(dict.fromkeys(name for _, row in rows for name in row))
    columns = _columns(heads, named or {})
    runs: list[Run] = []
    bad: list[BadRow] = []
    for line, row in rows:
        try:
            runs.append(_parse_run(line, {name: row.get(column, "") for name, column in columns.items()}))
        except ValueError as error:
            bad.append(BadRow(line, str(error)))
    unused = tuple(head for head in heads if head not in columns.values())
    return RunTable(columns, runs, bad, unused)


def _csv_rows(text: str, path: Path) -> list[tuple[int, dict[str, str]]]:
    sample = text[:4096]
    delimiter = max(",;\t", key=sample.split("\n", 1)[0].count)
    reader = csv.DictReader(text.splitlines(keepends=True), delimiter=delimiter)
    try:
        # A short row lacks its last columns; a long one has its surplus under None.
        return [(reader.line_num, {k: v or "" for k, v in row.items() if k is not None}) for row in reader]
    except csv.Error as error:
        raise UsageError(f"{path}, line {reader.line_num}: {error}.") from error


def _json_rows(text: str, path: Path) -> list[tuple[int, dict[str, str]]]:
    return list(_each_json(text, path))


def _each_json(text: str, path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    for line, words in enumerate(text.splitlines(), 1):
        if not words.strip():
            continue
        try:
            row = read_json(words)
        except ValueError as error:
            raise UsageError(f"{path}, line {line} is no JSON: {error}.") from error
        if not isinstance(row, dict):
            raise UsageError(f"{path}, line {line} is no JSON object.")
        yield line, {str(key): _cell_text(value) for key, value in row.items()}


def _cell_text(value: object) -> str:
    if value is None:
        return ""
    return json.dumps(value) if isinstance(value, (list, dict)) else str(value)


def _columns(heads: Sequence[str], named: Mapping[str, str]) -> dict[str, str]:
    for name, column in named.items():
        if name not in COLUMNS or column not in heads:
            raise UsageError(
                f"--column {name}={column} does not fit this file.",
                hint=f"Fields: {', '.join(COLUMNS)}. Columns: {', '.join(map(safe_line, heads))}.",
            )
    lowered = {head.strip().lower(): head for head in heads}
    columns = dict(named)
    known = {spelling for spellings in COLUMNS.values() for spelling in spellings}
    for name, spellings in COLUMNS.items():
        found = next((lowered[spelling] for spelling in spellings if spelling in lowered), None)
        if found is None and name in _GUESSED:
            free = [
                word for word, head in lowered.items() if word not in known and head not in columns.values()
            ]
            near = (difflib.get_close_matches(spelling, free, 1, _CLOSE) for spelling in spellings)
            found = next((lowered[word] for words in near for word in words), None)
        if found is not None and found not in columns.values():
            columns.setdefault(name, found)
    if missing := {"target", "speed"} - columns.keys():
        raise UsageError(
            f"No column of this file is its {' or '.join(sorted(missing))}.",
            hint=f"Name it: --column {min(missing)}=COLUMN. Columns: {', '.join(map(safe_line, heads))}.",
        )
    return columns


def _parse_run(line: int, row: Mapping[str, str]) -> Run:
    """One row as a run.

    Raises:
        ValueError: why it is none.
    """
    if row.get("status", "").strip().lower() not in _GOOD:
        raise ValueError(f"its status is {safe_line(row['status'])}")
    draft = row.get("draft", "").strip()
    plain = draft.lower() in _NONE
    gamma = 0 if plain and "draft" in row else _integer(row.get("gamma", "0"))
    if not plain and gamma == 0 and row.get("gamma", "").strip() != "0":
        raise ValueError(f"it drafts with {safe_line(draft)} but states no draft length")
    words = {name: safe_line(row.get(name, "").strip()) for name in _WORDS}
    numbers = {name: _figure(name, text) for name, text in row.items() if name not in (*_WORDS, *_OTHERS)}
    speed = numbers.pop("speed", None)
    if speed is None or speed <= 0:
        raise ValueError("it states no speed" if speed is None else f"its speed is {speed:g}")
    if not words["target"]:
        raise ValueError("it names no model")
    accepted, drafted = numbers.get("accepted"), numbers.get("drafted")
    if numbers.get("rate") is None and accepted is not None and drafted:
        numbers["rate"] = accepted / drafted
    rate = numbers.get("rate")
    if rate is not None and not 0 <= rate <= 1:
        raise ValueError(f"its acceptance rate is {rate:g}, not between 0 and 1")
    fields: dict[str, Any] = {**numbers, **words}
    fields["draft"] = "" if gamma == 0 else words["draft"] or "draft"
    fields["suite"] = words["suite"].partition("_")[0]
    return Run(
        line=line,
        gamma=gamma,
        speed=speed,
        random_weights=row.get("random_weights", "").lower() == "true",
        arguments=tuple(_list(row.get("arguments", ""), str)),
        positions=tuple(_list(row.get("positions", ""), int)),
        windows=tuple(
            (tokens, accepted, seconds) for tokens, accepted, seconds in _list(row.get("windows", ""), list)
        ),
        **fields,
    )


def _list(text: str, kind: type[_T]) -> list[_T]:
    values = read_json(text) if text else []
    if not isinstance(values, list) or not all(isinstance(value, kind) for value in values):
        raise ValueError(f"{safe_line(text[:40])} is no list of {kind.__name__}")
    return values


def _figure(name: str, text: str) -> float | None:
    words = text.strip().rstrip("%x×")
    if words.lower() in ("", "none", "nan", "null", "-", "n/a"):
        return None
    try:
        value = float(words)
    except ValueError:
        raise ValueError(f"its {name} is {safe_line(text)}, not a number") from None
    if not math.isfinite(value):
        raise ValueError(f"its {name} is {value}")
    return value / 100 if text.strip().endswith("%") else value


def _integer(text: str) -> int:
    value = _figure("gamma", text) or 0.0
    if value < 0 or value != int(value):
        raise ValueError(f"its draft length is {value:g}")
    return int(value)
