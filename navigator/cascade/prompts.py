"""Prompt templates: read, versioned by their content, rendered in Jinja2's sandbox.

A template is a Markdown file with front matter. A line `<!-- user -->` splits the system text from the user text.
A version is `name@` and the first 8 hex digits of the SHA-256 of the whole file: one changed word is a new version.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from navigator.domain.errors import ConfigError, NotFound

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.sandbox import ImmutableSandboxedEnvironment

_SPLIT = "<!-- user -->"
_FENCE = "---"


@dataclass(frozen=True)
class Prompt:
    """One template: `system` and `user` are Jinja2 sources; `meta` is the front matter."""

    name: str
    version: str
    path: Path
    meta: Mapping[str, str]
    system: str
    user: str


class PromptLibrary:
    """All templates of one or more folders; a later folder's file replaces an earlier one of the same name.

    Args:
        folders: searched in order; those that do not exist are passed over.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._prompts: dict[str, Prompt] = {}
        self._templates: dict[str, Template] = {}
        for folder in folders:
            for path in sorted(folder.glob("*.md")) if folder.is_dir() else ():
                prompt = read_prompt(path)
                self._prompts[prompt.name] = prompt

    def __iter__(self) -> Any:
        return iter(self._prompts.values())

    def get(self, name: str) -> Prompt:
        """The template called `name`.

        Raises:
            NotFound: there is none.
        """
        if name not in self._prompts:
            raise NotFound(f"There is no prompt {name!r}.", hint=f"There are: {', '.join(self._prompts)}.")
        return self._prompts[name]

    def render(self, name: str, **values: Any) -> tuple[str, str, str]:
        """`(system, user, version)` of a template with its values filled in.

        A value that the template names and the call does not give is an error, not an empty string.
        """
        prompt = self.get(name)
        return (
            self._compiled(prompt.system).render(values).strip(),
            self._compiled(prompt.user).render(values).strip(),
            prompt.version,
        )

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


def read_prompt(path: Path) -> Prompt:
    """Read one template file.

    Raises:
        ConfigError: no front matter, no name in it, or no user part.
    """
    raw = path.read_bytes()
    text = raw.decode("utf-8")
    lines = text.split("\n")
    if not lines or lines[0] != _FENCE or _FENCE not in lines[1:]:
        raise ConfigError(
            f"{path}: the prompt has no front matter.", hint="It begins with --- and `name: …`."
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
    digest = hashlib.sha256(raw).hexdigest()[:8]
    return Prompt(meta["name"], f"{meta['name']}@{digest}", path, meta, system.strip("\n"), user.strip("\n"))


def _entry(path: Path, line: str) -> tuple[str, str]:
    key, colon, value = line.partition(":")
    if not colon:
        raise ConfigError(f"{path}: {line!r} in the front matter is not `key: value`.")
    return key.strip(), value.strip()
