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

from navigator.config.paths import config_path, resource_dir
from navigator.model.errors import ConfigError, NotFound
from navigator.model.json_text import table

if TYPE_CHECKING:
    from jinja2 import Environment, Template
    from jinja2.sandbox import ImmutableSandboxedEnvironment

_SPLIT = "<!-- user -->"
_FENCE = "---"
_VALUES = "navigator.journey.prompts", "values.toml"


@dataclass(frozen=True)
class Prompt:
    """One template: `system` and `user` are Jinja2 sources, each on the line that it has in the file; `meta` is the front
    matter."""

    name: str
    version: str
    path: Path
    meta: Mapping[str, str]
    system: str
    user: str


class PromptLibrary:
    """All templates of one or more folders; a later folder's file replaces an earlier one of the same name.

    Args:
        folders: searched in order, the packaged one first; those that do not exist are skipped. Without any: the packaged one
            and the user's own, beside the settings.

    Raises:
        ConfigError: a file is no template, or one in a later folder replaces none.
    """

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        folders = folders or (resource_dir("prompts"), config_path().parent / "prompts")
        self._prompts: dict[str, Prompt] = {}
        self._packaged: dict[str, Prompt] = {}
        self._templates: dict[str, Template] = {}
        for place, folder in enumerate(folders):
            # An empty one is not there yet: `prompts show NAME > NAME.md` makes it before the packaged one is read.
            paths = [path for path in sorted(folder.glob("*.md")) if not place or path.stat().st_size]
            for path in paths:
                if place and path.stem not in self._packaged:
                    raise ConfigError(
                        f"{path}: no packaged prompt is called {path.stem!r}.",
                        hint=f"Give it the name of the one that it replaces: {', '.join(self._packaged)}.",
                    )
                self._prompts[path.stem] = read_prompt(path)
            if not place:
                self._packaged = dict(self._prompts)

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
            ConfigError: the template cannot be filled in; the message names the file.
        """
        prompt = self.get(name)
        return (
            self._filled(prompt, prompt.system, values),
            self._filled(prompt, prompt.user, values),
            prompt.version,
        )

    def check(self) -> None:
        """Try every template that is not packaged.

        Raises:
            ConfigError: one of them cannot be used; the message names the file.
        """
        for prompt in self.own:
            self.check_one(prompt)

    def check_one(self, prompt: Prompt) -> None:
        """Whether a template can be used: it parses, uses every required value and none that it is not given, and can be
        filled in.

        Raises:
            ConfigError: it cannot; the message names the file.
        """
        named = _named_values(self._environment, prompt)
        allowed = _named_values(self._environment, self._packaged[prompt.name])
        if unknown := sorted(named - allowed):
            raise ConfigError(
                f"{prompt.path}: the prompt uses {', '.join(unknown)}, which it is not given.",
                hint=f"Available: {', '.join(sorted(allowed))}.",
            )
        if missing := sorted(set(table(*_VALUES)["required"].get(prompt.name, ())) - named):
            raise ConfigError(
                f"{prompt.path}: the prompt does not use {', '.join(missing)}, so the model would not see it.",
                hint=_compare(prompt),
            )
        for values in _sample_values(named):
            self._filled(prompt, prompt.system, values)
            self._filled(prompt, prompt.user, values)

    def _filled(self, prompt: Prompt, source: str, values: Mapping[str, Any]) -> str:
        from jinja2 import TemplateError

        try:
            return self._compiled(source).render(values).strip()
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            raise ConfigError(
                f"{prompt.path}: the prompt cannot be filled in: {error}", hint=_compare(prompt)
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


def _compare(prompt: Prompt) -> str:
    return f"Compare {prompt.path.name} with the packaged one, in Navigator's folder `prompts`."


def read_prompt(path: Path) -> Prompt:
    """Read one template file.

    Raises:
        ConfigError: no front matter, or no user part.
    """
    try:
        text = path.read_bytes().decode("utf-8").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: the prompt cannot be read: {error}.", hint="Save it as UTF-8.") from error
    lines = text.split("\n")
    if lines[0] != _FENCE or _FENCE not in lines[1:]:
        raise ConfigError(
            f"{path}: the prompt has no front matter.", hint="It has to begin with --- and `name: …`."
        )
    end = lines.index(_FENCE, 1)
    meta = dict(_entry(path, line) for line in lines[1:end] if line.strip())
    system, split, user = "\n".join(lines[end + 1 :]).partition(_SPLIT)
    if not split:
        raise ConfigError(
            f"{path}: a prompt needs a line {_SPLIT} before the user part.",
            hint="Compare it with the packaged one, in Navigator's folder `prompts`.",
        )
    digest = hashlib.sha256(text.encode("utf-8")).hexdigest()[:8]
    above = "\n" * (end + 1)
    return Prompt(
        path.stem,
        f"{path.stem}@{digest}",
        path,
        meta,
        above + system,
        above + "\n" * system.count("\n") + user,
    )


def _entry(path: Path, line: str) -> tuple[str, str]:
    key, colon, value = line.partition(":")
    if not colon:
        raise ConfigError(f"{path}: {line!r} in the front matter is not `key: value`.")
    return key.strip(), value.strip()


def _named_values(environment: Environment, prompt: Prompt) -> set[str]:
    """The values that a template names.

    Raises:
        ConfigError: the template does not parse; the message names file and line.
    """
    from jinja2 import TemplateSyntaxError, meta

    named: set[str] = set()
    for source in (prompt.system, prompt.user):
        try:
            # Compiling finds what parsing does not: filters and tests that do not exist.
            environment.compile(source)
            named |= meta.find_undeclared_variables(environment.parse(source))
        except TemplateSyntaxError as error:
            raise ConfigError(
                f"{prompt.path}:{error.lineno}: the prompt is no Jinja template: {error.message}.",
                hint="https://jinja.palletsprojects.com describes what can be between the braces.",
            ) from error
    return named - environment.globals.keys()


def _sample_values(names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Two sets of values to try a template with: all of them, and those empty that can be."""
    held = table(*_VALUES)
    whole = {name: held["samples"].get(name, f"some {name}") for name in names}
    yield whole
    yield whole | {name: type(value)() for name, value in whole.items() if name in held["may_be_empty"]}
