"""What known agents need to use the generator's server and nothing else: files in their home, arguments, variables.

Each agent below was run with exactly this against a scripted server and a real llama-server (tests/agents, docs/agents.md).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from navigator.config.settings import AgentSettings

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


def plain(endpoint: Endpoint) -> Launch:
    """The variables that many agents read."""
    return Launch(env={"OPENAI_BASE_URL": BASE_URL, "OPENAI_API_KEY": KEY, "OPENAI_MODEL": endpoint.model})


def qwen(endpoint: Endpoint) -> Launch:
    """Qwen Code. `--bare` ignores what a repository's own `.qwen` folder would start, and halves the first request."""
    return Launch(
        arguments=["--bare", "--auth-type", "openai"],
        env=plain(endpoint).env | {"QWEN_USAGE_STATISTICS_ENABLED": "false"},
    )


def opencode(endpoint: Endpoint) -> Launch:
    """OpenCode. It takes its settings from one variable, and project settings are not read."""
    model = {"name": endpoint.model, "tool_call": True}
    limit = {"context": endpoint.context, "output": endpoint.answer}
    config = {
        "autoupdate": False,
        "share": "disabled",
        "enabled_providers": ["local"],
        "model": f"local/{endpoint.model}",
        "small_model": f"local/{endpoint.model}",
        "permission": {"edit": "allow", "bash": "allow", "webfetch": "deny", "external_directory": "deny"},
        "provider": {
            "local": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "local",
                "options": {"baseURL": BASE_URL, "apiKey": KEY},
                "models": {endpoint.model: {**model, "limit": limit}},
            }
        },
    }
    switched_off = (
        *("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "PROJECT_CONFIG"),
        *("CLAUDE_CODE", "EMBEDDED_WEB_UI"),
    )
    env = {"OPENCODE_CONFIG_CONTENT": json.dumps(config)}
    return Launch(env=env | {f"OPENCODE_DISABLE_{name}": "1" for name in switched_off})


def vibe(endpoint: Endpoint) -> Launch:
    """Mistral Vibe."""
    quoted = json.dumps(endpoint.model)
    compact = max(endpoint.context - endpoint.answer, endpoint.context // 2)
    text = f"""active_model = "local"
enable_telemetry = false
enable_update_checks = false
enable_auto_update = false
enable_notifications = false
include_commit_signature = false

[[providers]]
name = "local"
api_base = "{BASE_URL}"
api_key_env_var = "OPENAI_API_KEY"
api_style = "openai"
backend = "generic"

[[models]]
name = {quoted}
provider = "local"
alias = "local"
max_context_length = {endpoint.context}
auto_compact_threshold = {compact}
"""
    env = {"OPENAI_API_KEY": KEY, "VIBE_HOME": "/home/sandbox/.vibe"}
    return Launch(env=env, files={".vibe/config.toml": text})


_PROFILES: Mapping[str, Callable[[Endpoint], Launch]] = {
    "qwen": qwen,
    "opencode": opencode,
    "vibe-acp": vibe,
    "vibe": vibe,
}


def launch_for(settings: AgentSettings, endpoint: Endpoint) -> Launch:
    """The launch of a known program, with the settings' own variables, and `{model}` and `{base_url}` filled in.

    Any word of the command may name it, as in `npx qwen`.
    """

    def filled(text: str) -> str:
        return text.replace("{model}", endpoint.model).replace("{base_url}", BASE_URL)

    names = (PurePosixPath(word).name for word in settings.command)
    made = next((_PROFILES[name] for name in names if name in _PROFILES), plain)(endpoint)
    made.arguments = [*map(filled, settings.command), *made.arguments]
    made.env |= {name: filled(value) for name, value in settings.env.items()}
    return made
