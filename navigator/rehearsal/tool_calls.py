"""Tools and the calls of them, in the text that a model reads and writes: as the chat template of Qwen's models has them.

A server shows the tools of a request in the system text, and reads calls out of what the model writes. The brain works on
that text alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from navigator.model import patterns
from navigator.model.json_text import read_json

BEGIN, END = "<tool_call>", "</tool_call>"
_TOOLS = patterns.compile(r"^<tools>\n(.*?)^</tools>$", patterns.MULTILINE | patterns.DOTALL)
_CALL = patterns.compile(f"{BEGIN}\n(.*?)\n{END}", patterns.DOTALL)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call; `arguments` by the names of the tool's parameters."""

    name: str
    arguments: Mapping[str, Any]


def tools_text(tools: Sequence[Mapping[str, Any]]) -> str:
    """What the system text says of the tools of a request."""
    listed = "".join(f"{json.dumps(tool, ensure_ascii=False)}\n" for tool in tools)
    return (
        f"# Tools\n\nYou may call functions.\n\n<tools>\n{listed}</tools>\n\n"
        f'For each call, write\n{BEGIN}\n{{"name": <name>, "arguments": <arguments>}}\n{END}'
    )


def tools_in(system: str) -> dict[str, Mapping[str, Any]]:
    """The JSON schema of each tool's parameters, by the tool's name; the opposite of `tools_text`."""
    found = _TOOLS.findall(system)
    listed = [_object(line) for line in found[-1].splitlines()] if found else []
    functions = [tool["function"] for tool in listed if isinstance(tool.get("function"), dict)]
    return {str(one.get("name", "")): _mapping(one.get("parameters")) for one in functions}


def call_text(call: ToolCall) -> str:
    """A call as a model writes it."""
    value = json.dumps({"name": call.name, "arguments": dict(call.arguments)}, ensure_ascii=False)
    return f"{BEGIN}\n{value}\n{END}"


def calls_in(text: str) -> tuple[str, list[ToolCall]]:
    """The text without its calls, and the calls; what is no JSON stays text."""
    calls: list[ToolCall] = []

    def take(match: patterns.Match[str]) -> str:
        value = _object(match[1])
        if not isinstance(value.get("name"), str):
            return match[0]
        calls.append(ToolCall(value["name"], _mapping(value.get("arguments"))))
        return ""

    return _CALL.sub(take, text), calls


class CallReader:
    """Reads calls out of an answer as it is written. Text that may be the beginning of a call is held back."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> tuple[str, list[ToolCall]]:
        """Text and calls that are complete by now."""
        self._held += piece
        done = self._held.rfind(END) + len(END) if END in self._held else 0
        said, calls = calls_in(self._held[:done])
        rest = self._held[done:]
        keep = rest.find(BEGIN)
        if keep < 0:
            keep = next((at for at in range(len(rest)) if BEGIN.startswith(rest[at:])), len(rest))
        self._held = rest[keep:]
        return said + rest[:keep], calls

    def rest(self) -> str:
        """What was held back when the answer ended."""
        held, self._held = self._held, ""
        return held


def _object(text: str) -> dict[str, Any]:
    try:
        value = read_json(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
