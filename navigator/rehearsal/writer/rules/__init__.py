"""The rules by which the rehearsal's generator works on files, and which of them a task's words ask for."""

from __future__ import annotations

import re

from navigator.rehearsal.writer.rules.base import MAX_PLACES, Outcome, Rule
from navigator.rehearsal.writer.rules.calls import (
    BARE_EXCEPT,
    LOGGER_WARN,
    NOT_IMPLEMENTED,
    OPEN_ENCODING,
    REQUEST_TIMEOUTS,
    SAFE_YAML,
)
from navigator.rehearsal.writer.rules.conditions import KEYS_CALLS, NONE_COMPARISONS, TYPE_COMPARISONS
from navigator.rehearsal.writer.rules.functions import DOCSTRINGS, MUTABLE_DEFAULTS, RETURNS_NOTHING
from navigator.rehearsal.writer.rules.interface_test import INTERFACE_TEST
from navigator.rehearsal.writer.rules.markdown import ADDRESSES, FENCES, HEADINGS, TRAILING_SPACES

__all__ = ["MAX_PLACES", "RULES", "Outcome", "Rule", "choose_rules"]

RULES: tuple[Rule, ...] = (
    MUTABLE_DEFAULTS,
    BARE_EXCEPT,
    NOT_IMPLEMENTED,
    NONE_COMPARISONS,
    OPEN_ENCODING,
    REQUEST_TIMEOUTS,
    SAFE_YAML,
    LOGGER_WARN,
    TYPE_COMPARISONS,
    KEYS_CALLS,
    DOCSTRINGS,
    RETURNS_NOTHING,
    HEADINGS,
    FENCES,
    ADDRESSES,
    TRAILING_SPACES,
    INTERFACE_TEST,
)
"""In the order in which they are tried when a task's words name none: what breaks programs comes first."""

_BY_KIND: dict[str, tuple[Rule, ...]] = {
    "docs": (DOCSTRINGS, HEADINGS, FENCES, ADDRESSES, TRAILING_SPACES),
    "security": (SAFE_YAML, REQUEST_TIMEOUTS, BARE_EXCEPT, OPEN_ENCODING),
    "test": (INTERFACE_TEST,),
    "refactor": (TYPE_COMPARISONS, NONE_COMPARISONS, KEYS_CALLS, RETURNS_NOTHING, LOGGER_WARN),
    "implement": (RETURNS_NOTHING, DOCSTRINGS, REQUEST_TIMEOUTS),
}


def choose_rules(task: str, kind: str, note: str = "") -> tuple[tuple[Rule, ...], bool]:
    """The rules to try in order, and whether the words asked for them by name.

    The developer's note weighs most, then the task's first line, then the rest. Words that name several rules ask for the
    one they name most. Without any, the kind decides what is tried first, and everything else follows.
    """
    title = task.partition("\n")[0]
    scores = {
        rule.name: _score(rule, note) * 4 + _score(rule, title) * 2 + _score(rule, task) for rule in RULES
    }
    named = [rule for rule in RULES if scores[rule.name]]
    if named:
        named.sort(key=lambda rule: -scores[rule.name])
        return tuple(named), True
    first = _BY_KIND.get(kind, ())
    rest = tuple(rule for rule in RULES if rule not in first and not rule.creates)
    return (*first, *rest), False


def _score(rule: Rule, text: str) -> int:
    return sum(1 for word in rule.words if re.search(word, text, re.IGNORECASE))
