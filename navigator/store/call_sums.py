"""Sums of the model calls, kept by triggers: figures over all calls are read without reading the calls.

`call_sums` counts ended calls by everything that a figure tells apart. `call_busy` has the wall time in which at least one
call of a role and model was under way, the union of their intervals: a call adds what no other one covers. Calls that a
crash cut off (`lost`) are in the first table, but not in the second, since nobody knows when they ended; nor are those of
the exam, which are no work.
"""

from __future__ import annotations

_KEY = ("role", "model", "purpose", "outcome")
_SUMS = ("prompt_tokens", "completion_tokens", "cached_tokens", "seconds")
_WATCHED = (*_KEY, *_SUMS, "ended")
"""Columns of a call whose change changes a sum. Forgetting an answer's text is none."""

_END, _DAY = "86400.0 * julianday({0}.ended)", "86400.0"
_COUNTED = "{0}.outcome <> 'started'"
_TIMED = "{0}.outcome NOT IN ('started', 'lost') AND {0}.purpose <> 'exam'"

UNION = (
    "SELECT total(max(0.0, min(e, coalesce(reached, e)) - b)) FROM (SELECT e, b, min(b) OVER"
    " (ORDER BY e DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached FROM ({0}))"
)
"""Length of the union of intervals from `b` to `e`: going back in time, each adds what no later one covers."""


def call_triggers() -> dict[str, str]:
    """The triggers that keep both tables, by name."""
    watched = ", ".join(_WATCHED)
    return {
        "calls_summed_new": f"CREATE TRIGGER calls_summed_new AFTER INSERT ON calls BEGIN {_change('NEW', '+')}; END",
        "calls_summed_changed": (
            f"CREATE TRIGGER calls_summed_changed AFTER UPDATE OF {watched} ON calls"
            f" BEGIN {_change('OLD', '-')}; {_change('NEW', '+')}; END"
        ),
        "calls_summed_gone": f"CREATE TRIGGER calls_summed_gone AFTER DELETE ON calls BEGIN {_change('OLD', '-')}; END",
    }


def _change(row: str, sign: str) -> str:
    """Statements that add a call to both tables, or take it away. It is not counted among the others itself."""
    key = ", ".join(f"{row}.{name}" for name in _KEY)
    sums = ", ".join(f"{sign}{row}.{name}" for name in _SUMS)
    added = ", ".join(f"{name} = {name} + excluded.{name}" for name in ("calls", *_SUMS))
    end = _END.format(row)
    begin = f"({end} - {row}.seconds)"
    # Others that end before this one begins have nothing in common with it; times are stored to the millisecond.
    after = f"strftime('%Y-%m-%dT%H:%M:%fZ', ({begin} - 0.01) / {_DAY})"
    others = (
        f"SELECT min({_END.format('c')}, {end}) AS e, max({_END.format('c')} - c.seconds, {begin}) AS b FROM calls c"
        f" WHERE c.role = {row}.role AND c.model = {row}.model"
        f" AND c.ended >= {after} AND {_TIMED.format('c')} AND c.id <> {row}.id"
        f" AND {_END.format('c')} > {begin} AND {_END.format('c')} - c.seconds < {end}"
    )
    alone = f"{row}.seconds - ({UNION.format(others)})"
    return (
        f"INSERT INTO call_sums SELECT {key}, {sign}1, {sums} WHERE {_COUNTED.format(row)}"
        f" ON CONFLICT DO UPDATE SET {added};"
        f" INSERT INTO call_busy SELECT {row}.role, {row}.model, {sign}({alone})"
        f" WHERE {_TIMED.format(row)} ON CONFLICT DO UPDATE SET seconds = seconds + excluded.seconds"
    )
