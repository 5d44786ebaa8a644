"""What known agents need to use the generator's server and nothing else: files in their home, arguments, variables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from navigator.config.settings import AgentSettings
from navigator.model.json_text import table

PORT = 8000
BASE_URL = f"http://127.0.0.1:{PORT}/v1"
"""The model's address inside every sandbox."""

KEY = "local"
"""What an agent sends as a key. The real one is added outside."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The model as an agent is told of it. `context` and `answer` are in tokens."""

    model: str
    context: int
    answer: int


@dataclass
class Launch:
    """How an agent is started: arguments after its command, variables, files in its home by their path there.

    The agent cannot write these files.
    """

    arguments: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)


def launch_for(settings: AgentSettings, endpoint: Endpoint) -> Launch:
    """The launch of a known program, with the settings' own variables, and `{model}` and `{base_url}` filled in.

    Any word of the command may name it, as in `npx qwen`.
    """
    profiles = table(__package__, "profiles.toml")["agent"]
    names = (PurePosixPath(word).name for word in settings.command)
    known = (one for name in names for one in profiles if name in one["programs"])
    profile = next(known, profiles[-1])
    own: dict[str, str | int] = {"model": endpoint.model, "base_url": BASE_URL}
    compact = max(endpoint.context - endpoint.answer, endpoint.context // 2)
    words = own | {"key": KEY, "context": endpoint.context, "answer": endpoint.answer, "compact": compact}
    # In a file the model's name stands between quotes.
    quoted = words | {"model": json.dumps(endpoint.model)[1:-1]}
    env = _filled(profile["env"], words)
    return Launch(
        arguments=[*_filled(list(settings.command), own), *profile.get("arguments", ())],
        env={name: value if isinstance(value, str) else json.dumps(value) for name, value in env.items()}
        | _filled(settings.env, own),
        files=_filled(profile.get("files", {}), quoted),
    )


def _filled(value: Any, words: Mapping[str, str | int]) -> Any:
    """A value with its placeholders filled in; one that is nothing but the place of a number becomes the number."""
    if isinstance(value, dict):
        return {_filled(name, words): _filled(one, words) for name, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, words) for one in value]
    if not isinstance(value, str):
        return value
    for name, word in words.items():
        if isinstance(word, int) and value == f"{{{name}}}":
            return word
        value = value.replace(f"{{{name}}}", str(word))
    return value
