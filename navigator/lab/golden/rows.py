"""Recompute published figures: each row's inputs through its formula, and what the source prints against the result."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from navigator.domain.errors import ConfigError, UsageError
from navigator.lab.golden.formulas import FORMULAS, Value

PACKAGED = Path(__file__).with_name("rows.toml")
CASCADE = Path(__file__).with_name("cascade.toml")
"""What the publication of the cascade leaves out."""

Verdict = Literal["reproduces", "contradicts", "premise does not hold", "no claim"]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Claim(_Table):
    """What a source says about a computed value; every field that is given has to hold."""

    value: float | None = None
    values: list[float] | None = None
    within: float = 0.0
    below: float | None = None
    above: float | None = None
    holds: float | None = None
    equals: Annotated[bool | str | None, Field(union_mode="left_to_right")] = None
    rises: bool | None = None

    def of(self, computed: Value) -> bool:
        """Whether the claim holds for the computed value."""
        several = [float(each) for each in computed] if isinstance(computed, list) else None
        number = computed if isinstance(computed, (int, float)) else math.nan
        tests = [
            self.value is None or abs(number - self.value) <= self.within + _slack(self.value),
            self.values is None or (several is not None and _close(several, self.values, self.within)),
            self.below is None or number < self.below,
            self.above is None or number > self.above,
            self.holds is None or any(abs(each - self.holds) < 0.05 for each in several or ()),
            self.equals is None or computed == self.equals,
            self.rises is None or (several is not None and (several == sorted(several)) == self.rises),
        ]
        return all(tests)


class Premise(_Table):
    """Another value that has to be as claimed for a figure to mean what its source says."""

    formula: str
    inputs: dict[str, Any]
    claim: Claim


class Row(_Table):
    """One published figure."""

    id: str
    source: str
    what: str
    formula: str
    inputs: dict[str, Any]
    expected: Annotated[bool | float | str | list[float], Field(union_mode="left_to_right")]
    printed: str = "-"
    claim: Claim | None = None
    premise: Premise | None = None
    note: str = ""


class _File(_Table):
    data: dict[str, list[float]] = {}
    row: list[Row]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A row with what its formula gave: `agrees` with what was expected, and the `verdict` on what is printed."""

    row: Row
    computed: Value
    agrees: bool
    verdict: Verdict


def recompute(path: Path = PACKAGED) -> list[Outcome]:
    """Every row of a file, in its order.

    Raises:
        UsageError: there is no such file.
        ConfigError: the file is not one of rows, or a formula does not take a row's inputs; the message names the row.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        read = _File.model_validate(table)
    except FileNotFoundError:
        raise UsageError(f"There is no file {path}.", hint="Name a TOML file of rows.") from None
    except (OSError, ValueError) as error:
        words = _first(error) if isinstance(error, ValidationError) else str(error)
        raise ConfigError(f"{path} cannot be read: {words}.", hint="Correct the file.") from error
    return [_outcome(row, read.data) for row in read.row]


def _outcome(row: Row, data: dict[str, list[float]]) -> Outcome:
    computed = _apply(row.id, row.formula, row.inputs, data)
    verdict: Verdict = "no claim"
    if row.claim is not None:
        verdict = "reproduces" if row.claim.of(computed) else "contradicts"
    premise = row.premise
    if premise is not None and verdict == "reproduces":
        found = _apply(row.id, premise.formula, premise.inputs, data)
        verdict = verdict if premise.claim.of(found) else "premise does not hold"
    return Outcome(row, computed, same(computed, row.expected), verdict)


def _apply(row: str, formula: str, inputs: dict[str, Any], data: dict[str, list[float]]) -> Value:
    if formula not in FORMULAS:
        raise ConfigError(f"Row {row} names the formula {formula}.", hint=f"Formulas: {', '.join(FORMULAS)}.")
    # `mean` of the standard library calls its argument `data`, so values are given by position.
    resolved = {name: _resolved(value, data) for name, value in inputs.items()}
    try:
        if list(resolved) == ["values"]:
            return FORMULAS[formula](resolved["values"])
        return FORMULAS[formula](**resolved)
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise ConfigError(
            f"Row {row}: {formula} does not take these inputs: {error}.", hint="Correct the row."
        ) from error


def _resolved(value: Any, data: dict[str, list[float]]) -> Any:
    if isinstance(value, str) and value.startswith("@"):
        return data[value[1:]]
    if isinstance(value, list):
        return [_resolved(each, data) for each in value]
    return value


def same(computed: Value, expected: Value) -> bool:
    """Whether a computed value is the expected one, to the digits that are written out there."""
    if isinstance(computed, list):
        return (
            isinstance(expected, list)
            and len(computed) == len(expected)
            and all(map(same, computed, expected))
        )
    if isinstance(computed, (bool, str)) or isinstance(expected, (bool, str, list)):
        return computed == expected
    return abs(computed - expected) <= _last_digit(expected)


def _last_digit(value: float) -> float:
    """Half a unit of the last written digit, and a little for binary fractions."""
    text = repr(value)
    digits = len(text.partition(".")[2]) if "." in text and "e" not in text else 0
    return 0.5 * 10.0**-digits + _slack(value)


def _slack(value: float) -> float:
    return 1e-9 * max(1.0, abs(value))


def _close(left: list[float], right: list[float], within: float) -> bool:
    return len(left) == len(right) and all(
        abs(one - other) <= within + _slack(other) for one, other in zip(left, right, strict=True)
    )


def _first(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
