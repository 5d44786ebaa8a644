"""What a rule is, and the transformer that counts places for all rules over Python files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import libcst as cst
from libcst.metadata import MetadataWrapper, ProviderT, QualifiedNameProvider, QualifiedNameSource

from navigator.model import patterns

MAX_PLACES = 40
"""Places one rule changes in one file; an answer has to stay readable, and within the tokens it is given."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The text after a rule, how many places it changed, and how many it saw."""

    text: str
    changed: int
    seen: int


Apply = Callable[[str, frozenset[str], frozenset[int]], Outcome]


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of improvement.

    Attributes:
        name: for tests and prose.
        about: what was done and why, one sentence with `{count}` and `{where}`.
        suffixes: files it reads.
        words: regular expressions that, found in a task, ask for this rule.
        hints: regular expressions; a file in which none of them is found needs no parsing.
        apply: `(text, focus, skip) -> Outcome`. `focus` names functions and classes to stay within (empty: all); `skip`
            holds the numbers of places to leave as they are. Raises `ValueError` or a parser error on text it cannot read.
        kinds: kinds of task for which it is tried early, with its place among those.
        creates: makes a new file instead of changing one.
    """

    name: str
    about: str
    suffixes: tuple[str, ...]
    words: tuple[str, ...]
    hints: tuple[str, ...]
    apply: Apply
    kinds: Mapping[str, int]
    creates: bool = False

    def may_apply(self, text: str) -> bool:
        """A cheap look at a file: False means that the rule finds nothing in it."""
        return any(patterns.search(hint, text, patterns.MULTILINE) for hint in self.hints)


class Places:
    """Numbers the places a rule finds, and says which to change: not those to skip, and at most `MAX_PLACES`."""

    def __init__(self, skip: frozenset[int]) -> None:
        self.skip = skip
        self.seen = 0
        self.changed = 0

    def take(self) -> bool:
        """Count a place; True when it is to be changed."""
        number = self.seen
        self.seen += 1
        if number in self.skip or self.changed >= MAX_PLACES:
            return False
        self.changed += 1
        return True


class PlaceTransformer(cst.CSTTransformer):
    """Counts places in the order of leaving. Keeps the functions and classes around the current node, for `focus`."""

    METADATA_DEPENDENCIES: ClassVar[tuple[ProviderT, ...]] = ()

    def __init__(self, focus: frozenset[str], skip: frozenset[int]) -> None:
        super().__init__()
        self.focus = focus
        self.places = Places(skip)
        self.stack: list[str] = []

    def take(self, *extra: str) -> bool:
        """Count a place; True when it is to be changed. `extra` names belong to the place itself."""
        if self.focus and not self.focus & {*self.stack, *extra}:
            return False
        return self.places.take()

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool | None:
        self.stack.append(node.name.value)
        return True

    def visit_ClassDef(self, node: cst.ClassDef) -> bool | None:
        self.stack.append(node.name.value)
        return True

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement] | cst.RemovalSentinel:
        self.stack.pop()
        return updated_node

    def leave_ClassDef(
        self, original_node: cst.ClassDef, updated_node: cst.ClassDef
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement] | cst.RemovalSentinel:
        self.stack.pop()
        return updated_node


class BuiltinAware(PlaceTransformer):
    """A transformer that can tell a builtin from something of the same name."""

    METADATA_DEPENDENCIES: ClassVar[tuple[ProviderT, ...]] = (QualifiedNameProvider,)

    def is_builtin(self, node: cst.CSTNode, name: str) -> bool:
        """Whether `node` refers to the builtin `name` and to nothing else."""
        found = self.get_metadata(QualifiedNameProvider, node, set())
        if callable(found):
            found = found()
        return bool(found) and all(
            item.name == f"builtins.{name}" and item.source is QualifiedNameSource.BUILTIN for item in found
        )


@lru_cache(maxsize=32)
def _parsed(text: str) -> cst.Module:
    """The tree of a file; several rules look at the same one, and trees are immutable."""
    return cst.parse_module(text)


def transforming(make: Callable[[frozenset[str], frozenset[int]], PlaceTransformer]) -> Apply:
    """What a rule over Python files applies: parse, transform, print. What it does not touch stays as it is."""

    def apply(text: str, focus: frozenset[str], skip: frozenset[int]) -> Outcome:
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        module = _parsed(text.removeprefix("\ufeff"))
        transformer = make(focus, skip)
        if transformer.METADATA_DEPENDENCIES:
            result = MetadataWrapper(module, unsafe_skip_copy=True).visit(transformer)
        else:
            result = module.visit(transformer)
        return Outcome(mark + result.code, transformer.places.changed, transformer.places.seen)

    return apply


def is_name(node: cst.CSTNode, *names: str) -> bool:
    """Whether `node` is one of these plain names."""
    return isinstance(node, cst.Name) and node.value in names
