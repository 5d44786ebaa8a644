"""A prompt template, and checking it before use: which values it names and on which line, and where filling it in failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from navigator.domain.errors import ConfigError

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True)
class Prompt:
    """One template: `system` and `user` are Jinja2 sources; `meta` is the front matter; the lines are those of the file on
    which the two sources begin, from 1."""

    name: str
    version: str
    path: Path
    meta: Mapping[str, str]
    system: str
    user: str
    system_line: int = 1
    user_line: int = 1

    @property
    def parts(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """Both sources, each with the line it begins on."""
        return (self.system, self.system_line), (self.user, self.user_line)


_SAMPLES: Mapping[str, Any] = {
    "blocks": ["a block"],
    "problems": ["a problem"],
    "kinds": ["fix"],
    "asked": (1,),
    "part": 1,
    "parts": 2,
    "max_findings": 8,
    "most": 8,
    "open": "<<<<<<<",
    "divider": "=======",
    "close": ">>>>>>>",
    "key": "0123456789ab",
}
"""Values of another sort than text; everything else is tried with a word."""

_MAY_BE_EMPTY = frozenset(
    {"note", "others", "asked", "blocks", "whole_file", "allow_delete", "allow_rename", "may_report"}
)


def named_values(environment: Environment, prompt: Prompt) -> dict[str, int]:
    """The values that a template names, each with the line of the file on which it is named first.

    Raises:
        ConfigError: the template does not parse; the message names file and line.
    """
    from jinja2 import TemplateSyntaxError, meta, nodes

    named: dict[str, int] = {}
    for source, first in prompt.parts:
        try:
            tree = environment.parse(source)
            # Compiling finds what parsing does not: filters and tests that do not exist.
            environment.compile(source)
            free = meta.find_undeclared_variables(tree)
        except TemplateSyntaxError as error:
            raise ConfigError(
                f"{prompt.path}:{first + error.lineno - 1}: the prompt is no Jinja template: {error.message}.",
                hint="https://jinja.palletsprojects.com describes what may stand between the braces.",
            ) from error
        for node in tree.find_all(nodes.Name):
            if node.name in free and node.name not in environment.globals:
                named.setdefault(node.name, first + node.lineno - 1)
    return named


def allowed_values(environment: Environment, packaged: Prompt) -> frozenset[str]:
    """The values that the code gives to a template: those that the packaged one of that name uses."""
    return frozenset(named_values(environment, packaged))


def sample_values(names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Two sets of values to try a template with: everything there, and everything empty that may be."""
    whole = {name: _SAMPLES.get(name, f"some {name}") for name in names}
    yield whole
    yield whole | {name: type(value)() for name, value in whole.items() if name in _MAY_BE_EMPTY}


def line_of(error: BaseException) -> int:
    """The line of the template's source, from 1, on which filling it in failed."""
    line = getattr(error, "lineno", 0) or 0
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return max(1, line)
