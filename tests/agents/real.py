"""Real agents that `make agents` installed, and a scripted model that speaks to any of them through its own tools."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.journey.scripted_models import READER, Models, Said, approval
from tests.sandbox.support import no_sandbox

ROOT = Path(__file__).parents[2]
_PINS = {"qwen": "package-lock.json", "opencode": "package-lock.json", "vibe": "requirements.txt"}
_PROGRAMS = {
    "qwen": ("node_modules/.bin/qwen", "--acp"),
    "opencode": ("node_modules/opencode-linux-x64/bin/opencode", "acp"),
    "vibe": ("bin/vibe-acp",),
}
NAMES = tuple(_PINS)
EVERY_AGENT = "NAVIGATOR_REAL_AGENTS"
"""Set by `make agents`: what takes more than half a minute for each agent, and tells little more."""


def installed(name: str, *, usual: bool = True) -> tuple[str, ...]:
    """The agent's command; skips where there is none, no sandbox, or where it is left to `make agents`."""
    if not usual and not os.environ.get(EVERY_AGENT):
        pytest.skip("longer runs of agents: `make agents` runs them")
    if reason := no_sandbox():
        pytest.skip(reason)
    found = command(name)
    if not found:
        pytest.skip("agents: `make agents` installs them")
    return found


def command(name: str) -> tuple[str, ...]:
    """How an agent is started; () where it is not installed."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = Path(os.environ.get("NAVIGATOR_AGENTS") or caches / "navigator-agents")
    pin = ROOT / "agents" / name / _PINS[name]
    folder = cache / f"{name}-{hashlib.sha256(pin.read_bytes()).hexdigest()[:12]}"
    program, *arguments = _PROGRAMS[name]
    if not (folder / ".complete").exists():
        return ()
    return (str(folder / program), *arguments)


_READ = ("read_file", "read", "view")
_EDIT = ("edit", "search_replace", "replace", "str_replace")
_MEANING = {
    **dict.fromkeys(("filepath", "path", "absolutepath", "file"), "path"),
    **dict.fromkeys(("oldstring", "oldstr", "oldtext"), "old"),
    **dict.fromkeys(("newstring", "newstr", "newtext"), "new"),
}


def turn_of(body: Mapping[str, Any], values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The tool whose turn it is and its arguments, by the names of its parameters: first one that reads, then one that edits.

    Args:
        body: the agent's request.
        values: of `path`, `old` and `new`.

    Returns: the tool's name, "" when it is time for a last word.
    """
    tools = {tool["function"]["name"]: tool["function"] for tool in body.get("tools") or []}
    done = sum(message["role"] == "tool" for message in body["messages"])
    wanted = (_READ, _EDIT)[done] if done < 2 else ()
    name = next((name for name in wanted if name in tools), "")
    parameters = tools[name].get("parameters", {}).get("properties", {}) if name else {}
    meant = {one: _MEANING.get(one.lower().replace("_", "")) for one in parameters}
    return name, {one: values[what] for one, what in meant.items() if what}


class ToolModel(Models):
    """Reads the file, edits it, and says so: the three answers of a model that uses tools. `asked` has its requests."""

    def __init__(self, path: str) -> None:
        super().__init__(lambda messages: "")
        self.path = path
        self.asked: list[dict[str, Any]] = []

    def answer(self, body: dict[str, Any]) -> str | Said:
        """A call of a tool, or text."""
        if body["model"] == READER:
            return approval()
        self.asked.append(body)
        values = {"path": self.path, "old": "x + x", "new": "x * 2"}
        name, arguments = turn_of(body, values)
        if not name:
            return Said("I multiplied instead of adding.", usage=(100, 10))
        call = {"name": name, "arguments": json.dumps(arguments)}
        number = f"call_{len(body['messages'])}"
        called = {"index": 0, "id": number, "type": "function", "function": call}
        return Said("", finish="tool_calls", usage=(100, 10), tool_calls=(called,))
