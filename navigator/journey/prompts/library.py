"""Prompt templates: read, versioned by their content, rendered in Jinja2's sandbox.

A template is a Markdown file with front matter. A line `<!-- user -->` splits the system text from the user text.
A version is `name@` and the first 8 hex digits of the SHA-256 of the whole file, line endings apart: one changed word is a
new version, and the same text has the same version wherever it is.

The first folder holds the packaged templates; a file in a later one replaces that of the same name. Such a file is tried
before it is used: it may only name values that the packaged one names, and must name those without which the model would
not see what it is asked about.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from navigator.model.errors import ConfigError, NotFound
from navigator.model.json_text import table

if TYPE_CHECKING:
    from jinja2 import Environment, Template
    from jinja2.sandbox import ImmutableSandboxedEnvironment

_SPLIT = "<!-- user -->"
_FENCE = "---"
_VALUES = "navigator.journey.prompts", "values.toml"

MAIN = {"generator": "generate", "reviewer": "review"}
"""The template that one of a new name replaces in a trial, by its role."""


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


class PromptLibrary:
    """All templates of one or more folders; a later folder's file replaces an earlier one of the same name.

    Args:
        folders: searched in order, the packaged one first; those that do not exist are skipped.

    A file in a later folder that has no front matter and no packaged template's name is no prompt: it is listed in `strays`.

    Raises:
        ConfigError: another file is no template, or has another name than its template.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self.strays: list[Path] = []
        self._prompts: dict[str, Prompt] = {}
        self._packaged: dict[str, Prompt] = {}
        self._templates: dict[str, Template] = {}
        for place, folder in enumerate(folders):
            found: dict[str, Prompt] = {}
            for path in sorted(folder.glob("*.md")) if folder.is_dir() else ():
                # An empty one too: `prompts show NAME > NAME.md` makes it before the packaged one is read.
                packaged = path.stem in self._packaged and path.stat().st_size
                if place and not packaged and not _has_front_matter(path):
                    self.strays.append(path)
                    continue
                prompt = read_prompt(path)
                if prompt.name != path.stem:
                    # A copy under another file's name would stand in for the packaged template unnoticed.
                    raise ConfigError(
                        f"{path}: the prompt is named {prompt.name!r}, unlike its file.",
                        hint=f"Write `name: {path.stem}` in it, or rename the file to {prompt.name}.md.",
                    )
                found[prompt.name] = prompt
            self._prompts |= found
            if not place:
                self._packaged = found

    def __iter__(self) -> Iterator[Prompt]:
        return iter(self._prompts.values())

    @property
    def versions(self) -> frozenset[str]:
        """The versions of all templates: what is made with others is another prompt."""
        return frozenset(prompt.version for prompt in self)

    @property
    def own(self) -> list[Prompt]:
        """The templates that are not the packaged ones."""
        return [prompt for prompt in self if self._packaged.get(prompt.name) is not prompt]

    def replaces(self, prompt: Prompt) -> str:
        """The name of the packaged template that this one is used for: its own, else that of its role; "" for none."""
        if prompt.name in self._packaged:
            return prompt.name
        return MAIN.get(prompt.meta.get("role", ""), "")

    def get(self, name: str) -> Prompt:
        """The template called `name`.

        Raises:
            NotFound: there is none.
        """
        if name not in self._prompts:
            raise NotFound(f"There is no prompt {name!r}.", hint=f"Available: {', '.join(self._prompts)}.")
        return self._prompts[name]

    def render(self, name: str, **values: Any) -> tuple[str, str, str]:
        """`(system, user, version)` of a template with its values filled in.

        A value that the template names and the call does not give is an error, not an empty string.

        Raises:
            ConfigError: the template cannot be filled in; the message names file and line.
        """
        prompt = self.get(name)
        system, user = (self._filled(prompt, source, line, values) for source, line in prompt.parts)
        return system, user, prompt.version

    def check(self) -> None:
        """Try every template that is not packaged.

        Raises:
            ConfigError: one of them cannot be used; the message names file and line.
        """
        for prompt in self.own:
            self.check_one(prompt)

    def check_one(self, prompt: Prompt) -> None:
        """Whether a template can be used in its place: it parses, uses every required value and none that it is not
        given, and can be filled in.

        Raises:
            ConfigError: it cannot; the message names file and line.
        """
        place = self.replaces(prompt)
        named = _named_values(self._environment, prompt)
        if place:
            allowed = _named_values(self._environment, self._packaged[place]).keys()
            for name, line in sorted(named.items(), key=lambda entry: entry[1]):
                if name not in allowed:
                    raise ConfigError(
                        f"{prompt.path}:{line}: the prompt uses {name!r}, which {place!r} does not provide.",
                        hint=f"Available: {', '.join(sorted(allowed))}.",
                    )
            missing = sorted(set(table(*_VALUES)["required"].get(place, ())) - named.keys())
            if missing:
                raise ConfigError(
                    f"{prompt.path}: the prompt does not use {', '.join(missing)}, so the model would not see it.",
                    hint=f"Compare it with the packaged one: `navigator prompts show {prompt.name} --diff`.",
                )
        for values in _sample_values(named):
            for source, line in prompt.parts:
                self._filled(prompt, source, line, values)

    def standing_in(self, name: str, prompt: Prompt) -> PromptLibrary:
        """The same library with `prompt` in the place of the template called `name`."""
        made = PromptLibrary([])
        made._prompts = {**self._prompts, name: prompt}
        made._packaged = self._packaged
        return made

    def _filled(self, prompt: Prompt, source: str, first: int, values: Mapping[str, Any]) -> str:
        from jinja2 import TemplateError

        try:
            return self._compiled(source).render(values).strip()
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            line = first + _line_of(error) - 1
            raise ConfigError(
                f"{prompt.path}:{line}: the prompt cannot be filled in: {error}",
                hint=f"Compare it with the packaged one: `navigator prompts show {prompt.name} --diff`.",
            ) from error

    def _compiled(self, source: str) -> Template:
        """A template's code, made once: it takes a hundred times as long as filling it in."""
        if source not in self._templates:
            self._templates[source] = self._environment.from_string(source)
        return self._templates[source]

    @cached_property
    def _environment(self) -> ImmutableSandboxedEnvironment:
        # Jinja2 is imported when the first prompt is rendered: the light commands never pay for it.
        from jinja2 import StrictUndefined
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        return ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=False)


def _has_front_matter(path: Path) -> bool:
    """Whether a file begins as a template does; one that cannot be read is left to `read_prompt` to say."""
    try:
        with path.open("rb") as stream:
            return stream.readline(8).rstrip() == _FENCE.encode()
    except OSError:
        return True


def read_prompt(path: Path) -> Prompt:
    """Read one template file.

    Raises:
        ConfigError: no front matter, no name in it, or no user part.
    """
    try:
        text = path.read_bytes().decode("utf-8").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: the prompt cannot be read: {error}.", hint="Save it as UTF-8.") from error
    lines = text.split("\n")
    if not lines or lines[0] != _FENCE or _FENCE not in lines[1:]:
        raise ConfigError(
            f"{path}: the prompt has no front matter.", hint="It has to begin with --- and `name: …`."
        )
    end = lines.index(_FENCE, 1)
    meta = dict(_entry(path, line) for line in lines[1:end] if line.strip())
    body = "\n".join(lines[end + 1 :])
    system, split, user = body.partition(_SPLIT)
    if not split or "name" not in meta:
        raise ConfigError(
            f"{path}: a prompt needs a name and a line {_SPLIT} before the user part.",
            hint="Compare it with the packaged one: `navigator prompts show NAME`.",
        )
    digest = hashlib.sha256(text.encode("utf-8")).hexdigest()[:8]
    first = end + 2
    return Prompt(
        meta["name"],
        f"{meta['name']}@{digest}",
        path,
        meta,
        system.strip("\n"),
        user.strip("\n"),
        first + _blank_lines(system),
        first + system.count("\n") + _blank_lines(user),
    )


def _blank_lines(text: str) -> int:
    """Newlines in front of a text."""
    return len(text) - len(text.lstrip("\n"))


def _entry(path: Path, line: str) -> tuple[str, str]:
    key, colon, value = line.partition(":")
    if not colon:
        raise ConfigError(f"{path}: {line!r} in the front matter is not `key: value`.")
    return key.strip(), value.strip()


def _named_values(environment: Environment, prompt: Prompt) -> dict[str, int]:
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
                hint="https://jinja.palletsprojects.com describes what can be between the braces.",
            ) from error
        for node in tree.find_all(nodes.Name):
            if node.name in free and node.name not in environment.globals:
                named.setdefault(node.name, first + node.lineno - 1)
    return named


def _sample_values(names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Two sets of values to try a template with: all of them, and those empty that can be."""
    held = table(*_VALUES)
    whole = {name: held["samples"].get(name, f"some {name}") for name in names}
    yield whole
    yield whole | {name: type(value)() for name, value in whole.items() if name in held["may_be_empty"]}


def _line_of(error: BaseException) -> int:
    """The line of the template's source, from 1, on which filling it in failed."""
    line = getattr(error, "lineno", 0) or 0
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return max(1, line)
