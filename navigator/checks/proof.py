"""What can be told of a Python test by reading it: what its failures depend on, and what no proof may do.

The question is coarse on purpose: does the statement that failed, or a condition around it, mention anything that comes from
outside the standard library? Names are followed through assignments and calls, not through values.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from navigator.checks.syntax import parse_python
from navigator.model.json_text import table

_NAMES: dict[str, list[str]] = table(__package__, "proof.toml")
_NEUTRAL = sys.stdlib_module_names - set(_NAMES["running"]) | set(_NAMES["neutral"])
"""Modules whose values say nothing about the project."""

MISSING_WORDS = frozenset(_NAMES["missing_words"])
"""Words of Python's own messages about what is missing."""


@dataclass(frozen=True, slots=True)
class Source:
    """A test file, read.

    Attributes:
        problem: why it cannot be run, in words; "" where it parses.
        refusals: why it proves nothing, whatever it does.
        baseless: lines of statements that can fail whatever the project's code does; the reason by line.
    """

    problem: str = ""
    refusals: tuple[str, ...] = ()
    baseless: Mapping[int, str] = field(default_factory=dict)


def read_test(text: str, files: Collection[str] = ()) -> Source:
    """Read a test.

    Args:
        files: paths of the files that the change is in.
    """
    try:
        tree = parse_python(text)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        return Source(problem=f"the test does not parse: {error.args[0]}{f' (line {line})' if line else ''}")
    depends = _Depends(tree)
    baseless: dict[int, str] = {}
    _statements(tree.body, depends, baseless, guarded=False)
    return Source("", tuple(_refusals(tree, files)), baseless)


class _Depends:
    """The names of a file whose values may come from the project, whatever their scope."""

    def __init__(self, tree: ast.Module) -> None:
        self.names: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self.names.update(
                    item.asname or item.name.partition(".")[0]
                    for item in node.names
                    if not _neutral(item.name)
                )
            elif isinstance(node, ast.ImportFrom) and (node.level or not _neutral(node.module or "")):
                self.names.update(item.asname or item.name for item in node.names)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.names.update(
                    arg.arg
                    for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
                    if arg.arg not in _NAMES["empty_fixtures"]
                )
        flows = list(_flows(tree))
        grown = True
        while grown:
            grown = False
            for names, source in flows:
                if not names <= self.names and self.any(source):
                    self.names |= names
                    grown = True

    def any(self, *nodes: ast.AST | None) -> bool:
        """Whether one of the nodes mentions such a name, or loads code by its name."""
        for root in nodes:
            for node in ast.walk(root) if root is not None else ():
                if isinstance(node, ast.Name) and (node.id in self.names or node.id in _NAMES["loaders"]):
                    return True
                if isinstance(node, ast.Attribute) and (
                    f".{node.attr}" in self.names or node.attr in _NAMES["loaders"]
                ):
                    return True
        return False


def _neutral(module: str) -> bool:
    return module.partition(".")[0] in _NEUTRAL


def _flows(tree: ast.Module) -> Iterator[tuple[set[str], ast.AST | None]]:
    """(names, source): the names get what the source computes."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets, value=value):
                yield {name for target in targets for name in _stored(target)}, value
            case ast.AnnAssign() | ast.AugAssign() | ast.NamedExpr():
                yield set(_stored(node.target)), node.value
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                yield set(_stored(node.target)), node.iter
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                for item in items:
                    if item.optional_vars is not None:
                        whole = ast.Module(body=[ast.Expr(item.context_expr), *body], type_ignores=[])
                        yield set(_stored(item.optional_vars)), whole
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield {name}, node
            case ast.Call(func=func, args=args):
                # What is handed to the project's code may be filled by it.
                yield {arg.id for arg in args if isinstance(arg, ast.Name)}, func
            case _:
                pass


def _stored(target: ast.AST) -> Iterator[str]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield f".{node.attr}"


def _statements(
    body: Sequence[ast.stmt], depends: _Depends, baseless: dict[int, str], *, guarded: bool
) -> None:
    """Note each line whose statement can fail whatever the project does; `guarded`: a condition around it depends on it."""
    for node in body:
        reason = "" if guarded else _why(node, depends)
        inner = list(_bodies(node, depends, guarded=guarded))
        last = min(
            (part[0].lineno for part, _ in inner if part), default=(node.end_lineno or node.lineno) + 1
        )
        for line in range(node.lineno, max(last, node.lineno + 1)):
            if reason:
                baseless[line] = reason
        for part, under in inner:
            _statements(part, depends, baseless, guarded=under)


def _bodies(node: ast.stmt, depends: _Depends, *, guarded: bool) -> Iterator[tuple[list[ast.stmt], bool]]:
    match node:
        case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body) | ast.ClassDef(body=body):
            yield body, False
        case ast.If() | ast.While() | ast.For() | ast.AsyncFor():
            condition = node.test if isinstance(node, ast.If | ast.While) else node.iter
            under = guarded or depends.any(condition)
            yield node.body, under
            yield node.orelse, under
        case ast.With(body=body) | ast.AsyncWith(body=body):
            yield body, guarded
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
            under = guarded or depends.any(*body)
            yield body, guarded or any(map(depends.any, body[:-1]))
            for handler in handlers:
                yield handler.body, under
            yield orelse, under
            yield finalbody, guarded
        case ast.Match(subject=subject, cases=cases):
            for case in cases:
                yield case.body, guarded or depends.any(subject)
        case _:
            pass


_ONLY_HOLDS = (
    *(ast.If, ast.While, ast.For, ast.AsyncFor, ast.Try, ast.Match),
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom),
)
"""Statements that fail by what is in them, or not at all."""


def _why(node: ast.stmt, depends: _Depends) -> str:
    """Why a failure of this statement would say nothing; "" where it may say something."""
    match node:
        case ast.Assert(test=test):
            return "" if depends.any(test) else "its assertion does not depend on the project's code"
        case ast.Raise():
            return "it raises an error whatever the project's code does"
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name))) if (
            name in _NAMES["fails"]
        ):
            return "it fails whatever the project's code does"
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
            return (
                "" if depends.any(*items, *body) else "what it expects does not depend on the project's code"
            )
        case _ if isinstance(node, _ONLY_HOLDS) or depends.any(node):
            return ""
        case _:
            return "it fails by itself, without the project's code"


def _refusals(tree: ast.Module, files: Collection[str]) -> Iterator[str]:
    names = {path.rpartition("/")[2] for path in files}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=word) | ast.Name(id=word) | ast.alias(name=word):
                if word in _NAMES["tampers"]:
                    yield f"it interferes with the report of its own run (`{word}`)"
                elif word in _NAMES["source"]:
                    yield "it reads the source of the code instead of running it"
            case ast.Constant(value=str(text)) if text.rpartition("/")[2] in names:
                yield "it names a changed file: it would read the source instead of running it"
            case _:
                pass


def whole_statements(text: str, lines: Collection[int]) -> frozenset[int]:
    """The lines of the statements that these lines are of: a string or a tuple of several lines runs on its first one.

    Of a text that does not parse, the lines themselves.
    """
    wanted = set(lines)
    found = set(wanted)
    try:
        tree = parse_python(text)
    except (SyntaxError, ValueError):
        return frozenset(wanted)
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None) or getattr(node, "cases", None)
            first = body[0] if body else None
            start = getattr(first, "lineno", None) or getattr(getattr(first, "pattern", None), "lineno", None)
            last = (start - 1) if start else (node.end_lineno or node.lineno)
            own = range(node.lineno, max(last, node.lineno) + 1)
            if wanted.intersection(own):
                found.update(own)
    return frozenset(found)
