"""The paper's benchmark of twenty functions: its four structural checks, its heuristic score, and tests it did not have. Pure."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import Literal

from pydantic import BaseModel, ConfigDict

from navigator.lab.comparing.functions import SOLUTION, Function, test_file
from navigator.model import patterns
from navigator.model.json_text import table
from navigator.model.states import Complexity

CHECKS = ("name", "return", "parameters", "keywords")
_WORDS = frozenset(
    {"algorithm", "complexity", "recursive", "iteration", "stack", "queue", "heap", "cache"}
    | {"hash", "tree", "graph", "index", "pointer", "sort", "edge", "case"}
)
"""The paper prints no list of its technical words: these are Navigator's."""


class BenchTask(BaseModel):
    """One function of the benchmark. `tests` are expressions that hold; any of `keywords` passes their check."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    tier: Literal["simple", "medium", "complex"]
    signature: str
    what: str
    keywords: tuple[str, ...]
    tests: tuple[str, ...]
    solution: str

    @cached_property
    def name(self) -> str:
        """Of the function or class."""
        return self.signature.partition("(")[0]

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters."""
        inside = self.signature.partition("(")[2].rstrip(")")
        return tuple(part.partition("=")[0].strip() for part in inside.split(","))

    def function(self) -> Function:
        """As a task that is written and executed."""
        asserts = "\n".join(f"assert {test}" for test in self.tests)
        return Function(
            key=self.key,
            text=f"Write `{self.signature}` in a new file {SOLUTION}: {self.what}.",
            tests=test_file(asserts),
            solution=self.solution,
            complexity=Complexity(self.tier),
        )


def bench_tasks() -> list[BenchTask]:
    """The twenty tasks."""
    return [BenchTask.model_validate(one) for one in table(__package__, "bench_tasks.toml")["task"]]


def structural(task: BenchTask, code: str) -> dict[str, bool]:
    """The four checks on a file's text: nothing is executed, and a wrong function may pass all of them."""
    try:
        found = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return dict.fromkeys(CHECKS, False)
    named = [
        node
        for node in found
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == task.name
    ]
    arguments = {node.arg for one in named for node in ast.walk(one) if isinstance(node, ast.arg)}
    return {
        "name": bool(named),
        "return": any(isinstance(node, ast.Return) for node in found),
        "parameters": set(task.parameters) <= arguments,
        "keywords": any(word in code for word in task.keywords),
    }


def heuristic(answer: str) -> int:
    """The paper's score of an answer's surface: code +20, list or headings +15, 5 for each of six technical words, length +15.

    At most 80, though its scale is printed as 0-100.
    """
    fenced = patterns.search(r"```|<{7,9} ", answer) is not None
    listed = patterns.search(r"(?m)^\s*(?:\d+[.)] |#+ )", answer) is not None
    words = sum(word in answer.lower() for word in _WORDS)
    return 20 * fenced + 15 * listed + min(30, 5 * words) + 15 * (len(answer) > 300)
