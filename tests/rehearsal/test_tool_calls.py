"""The rehearsal behind a coding agent: tools in its prompt, calls in its answers, and a change made by calls alone."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from navigator.rehearsal.api import Player
from navigator.rehearsal.chat import RequestProblem, read_chat
from navigator.rehearsal.tool_calls import (
    BEGIN,
    END,
    CallReader,
    ToolCall,
    call_text,
    calls_in,
    tools_in,
    tools_text,
)
from tests.rehearsal.test_server import events, running


def tool(name: str, *parameters: str) -> dict[str, Any]:
    properties = {one: {"type": "string"} for one in parameters}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return {"type": "function", "function": {"name": name, "description": "", "parameters": schema}}


TOOLS = [
    tool("bash", "command"),
    tool("read_file", "absolute_path"),
    tool("edit", "file_path", "old_string", "new_string"),
    tool("write_file", "file_path", "content"),
]

CALLS = st.builds(
    ToolCall,
    st.text("abc_", min_size=1),
    st.dictionaries(st.text(max_size=4), st.text(max_size=12), max_size=3),
)
SAID = st.text("ab<>tool_c/\n ", max_size=12).filter(lambda text: BEGIN not in text and END not in text)


@settings(deadline=None, max_examples=40)
@given(st.lists(SAID | CALLS, max_size=5), st.lists(st.integers(0, 400), max_size=5))
def test_calls_are_read_however_an_answer_is_cut(parts: list[str | ToolCall], places: list[int]) -> None:
    text = "\n".join(part if isinstance(part, str) else call_text(part) for part in parts)
    at = sorted({place % (len(text) + 1) for place in places})
    reader, said, calls = CallReader(), "", []
    for start, end in zip([0, *at], [*at, len(text)], strict=True):
        more, found = reader.feed(text[start:end])
        said += more
        calls += found
    assert calls == [part for part in parts if isinstance(part, ToolCall)]
    assert (said + reader.rest(), calls) == calls_in(text)


def test_a_model_reads_the_tools_it_is_shown() -> None:
    assert tools_in(f"You are an agent.\n\n{tools_text(TOOLS)}") == {
        one["function"]["name"]: one["function"]["parameters"] for one in TOOLS
    }


class Agent:
    """Does what the model calls for, in a real repository, and keeps the conversation."""

    def __init__(self, folder: Path, brain: Player) -> None:
        self.folder = folder
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": "You are an agent."}]
        self.calls: list[str] = []
        self._brain = brain

    def prompt(self, text: str) -> str:
        """The model's last word."""
        self.messages.append({"role": "user", "content": [{"type": "text", "text": text}]})
        while True:
            asked = read_chat({"messages": self.messages, "tools": TOOLS}, 100_000)
            said, calls = calls_in(self._brain(asked.messages, None, 0, 0.0).text)
            if not calls:
                self.messages.append({"role": "assistant", "content": said})
                return said
            function = [{"name": one.name, "arguments": json.dumps(dict(one.arguments))} for one in calls]
            told = [{"id": str(n), "type": "function", "function": one} for n, one in enumerate(function)]
            self.messages.append({"role": "assistant", "content": None, "tool_calls": told})
            for number, one in enumerate(calls):
                self.calls.append(one.name)
                result = self.do(one)
                self.messages.append({"role": "tool", "tool_call_id": str(number), "content": result})

    def do(self, call: ToolCall) -> str:
        given = call.arguments
        if call.name == "bash":
            return subprocess.run(
                ["sh", "-c", given["command"]], cwd=self.folder, capture_output=True, check=False, text=True
            ).stdout
        place = Path(given.get("absolute_path") or given["file_path"])
        text = place.read_text()
        if call.name == "edit":
            assert text.count(given["old_string"]) == 1
            place.write_text(text.replace(given["old_string"], given["new_string"]))
            return "Edited."
        return text


def first(folder: Path, task: str) -> str:
    return (
        f"You change code in the git repository code, which is in your working folder {folder}.\n\n"
        f'[[begin task 0123456789ab {{"kind": "fix", "files": []}}]]\n{task}\n[[end task 0123456789ab]]\n\n'
        "When you are done, say in one or two sentences what you changed and why."
    )


def again(quote: str) -> str:
    findings = json.dumps([{"kind": "wrong", "quote": quote, "message": "This is wrong."}])
    return (
        "A reviewer read the change and asks for a revision. Its findings:\n"
        f"[[begin findings 0123456789ab]]\n{findings}\n[[end findings 0123456789ab]]\n"
        "When you are done, say in one or two sentences what you changed and why."
    )


def test_a_wrong_shape_is_refused() -> None:
    for call in ({"function": {"name": "edit", "arguments": "{"}}, {}):
        with pytest.raises(RequestProblem):
            read_chat({"messages": [{"role": "assistant", "tool_calls": [call]}]}, 1000)
    with pytest.raises(RequestProblem):
        read_chat({"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function"}]}, 1000)


async def test_calls_on_the_wire() -> None:
    task = first(Path("/code"), "Mutable default arguments: make them None")
    asked = {"messages": [{"role": "user", "content": task}], "tools": TOOLS}
    async with running("--time-scale", "0") as server:
        await server.healthy()
        whole = (await server.chat(**asked)).json()["choices"][0]
        counted = {"stream": True, "stream_options": {"include_usage": True}}
        streamed = await events(await server.chat(**asked, **counted))
        none = (await server.chat(**asked, tool_choice="none")).json()["choices"][0]

    (call,) = whole["message"]["tool_calls"]
    assert (whole["finish_reason"], call["type"]) == ("tool_calls", "function")
    assert call["function"]["name"] == "write_file"
    assert json.loads(call["function"]["arguments"])["file_path"].startswith("/code/notes-")
    *chunks, counts, done = streamed
    told = [one for chunk in chunks for one in chunk["choices"][0]["delta"].get("tool_calls", [])]
    assert [one["index"] for one in told] == [0, 0]
    assert told[0]["id"].startswith("call_")
    assert (told[0]["function"]["name"], told[1]["id"]) == ("write_file", None)
    assert "".join(one["function"]["arguments"] for one in told) == call["function"]["arguments"]
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"
    assert counts["usage"]["completion_tokens"] > 0
    assert done == "[DONE]"
    assert none["finish_reason"] == "stop"
    assert "tool_calls" not in none["message"]
