"""The rules by which the rehearsal's generator works on files, and which of them a task's words ask for."""

from __future__ import annotations

import tomllib
from importlib import resources

from navigator.model import patterns
from tests.scripted.writer.rules.base import MAX_PLACES, Apply, Outcome, Rule, transforming
from tests.scripted.writer.rules.calls import (
    BareExcept,
    LoggerWarn,
    OpenEncoding,
    RaiseNotImplemented,
    RequestTimeouts,
    SafeYaml,
)
from tests.scripted.writer.rules.conditions import KeysCalls, NoneComparisons, TypeComparisons
from tests.scripted.writer.rules.functions import Docstrings, MutableDefaults, ReturnsNothing
from tests.scripted.writer.rules.markdown import addresses, fences, headings, trailing_spaces

__all__ = ["MAX_PLACES", "RULES", "Outcome", "Rule", "choose_rules"]

_PYTHON: dict[str, Apply] = {
    "mutable-defaults": transforming(MutableDefaults),
    "bare-except": transforming(BareExcept),
    "not-implemented": transforming(RaiseNotImplemented),
    "none-comparisons": transforming(NoneComparisons),
    "open-encoding": transforming(OpenEncoding),
    "request-timeouts": transforming(RequestTimeouts),
    "safe-yaml": transforming(SafeYaml),
    "logger-warn": transforming(LoggerWarn),
    "type-comparisons": transforming(TypeComparisons),
    "keys-calls": transforming(KeysCalls),
    "docstrings": transforming(Docstrings),
    "returns-nothing": transforming(ReturnsNothing),
}
_MARKDOWN: dict[str, Apply] = {
    "markdown-headings": headings,
    "markdown-fences": fences,
    "markdown-addresses": addresses,
    "markdown-trailing-spaces": trailing_spaces,
}


def _as_it_is(text: str, focus: frozenset[str], skip: frozenset[int]) -> Outcome:
    """A rule that makes a new file leaves those that exist unchanged; `work.interface_test` makes the new one."""
    return Outcome(text, 0, 0)


def _rules() -> tuple[Rule, ...]:
    tables = tomllib.loads((resources.files(__package__) / "rules.toml").read_text(encoding="utf-8"))
    return tuple(
        Rule(
            name=name,
            about=table["about"],
            suffixes=(".md", ".markdown") if name in _MARKDOWN else (".py",) if creates else (".py", ".pyi"),
            words=tuple(table["words"]),
            hints=tuple(table["hints"]),
            apply=_as_it_is if creates else (_PYTHON | _MARKDOWN)[name],
            kinds=table.get("kinds", {}),
            creates=creates,
        )
        for name, table in tables.items()
        for creates in (bool(table.get("creates")),)
    )


RULES = _rules()
"""In the order in which they are tried when a task's words name none: what breaks programs comes first."""


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
    first = tuple(sorted((rule for rule in RULES if kind in rule.kinds), key=lambda rule: rule.kinds[kind]))
    rest = tuple(rule for rule in RULES if rule not in first and not rule.creates)
    return (*first, *rest), False


def _score(rule: Rule, text: str) -> int:
    return sum(1 for word in rule.words if patterns.search(word, text, patterns.IGNORECASE))
