"""Plays a sample task through the tools of a coding agent: reads the files, makes the edits one by one, says what was changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from navigator.model import patterns
from navigator.rehearsal.server.tool_calls import ToolCall, call_text, calls_in

ASKED = "When you are done, say in one or two sentences"
_FRESH = "An earlier session changed code"
_FOLDER = patterns.compile(r"in your working folder (.+?)\.(?:\n| Its change)")
_TAKE_BACK = "git checkout -q HEAD -- ."

_SHELL = ("bash", "run_shell_command", "shell")
_READ = ("read_file", "read", "view")
_EDIT = ("edit", "search_replace", "replace")
_WRITE = ("write", "write_file")
_MEANING = {
    **dict.fromkeys(("path", "filepath", "absolutepath", "file"), "path"),
    **dict.fromkeys(("oldstring", "oldstr", "oldtext"), "old"),
    **dict.fromkeys(("newstring", "newstr", "newtext", "content"), "new"),
    "command": "command",
}

Tools = Mapping[str, Mapping[str, Any]]
Edits = Sequence[tuple[str, str, str]]


def is_again(asked: str, prompts: int) -> bool:
    """Whether the agent is asked about a change that it made before."""
    return prompts > 1 or _FRESH in asked


def next_step(
    tools: Tools, messages: Sequence[Mapping[str, str]], edits: Edits, said: str, *, again: bool
) -> str:
    """The next call, or `said` when every call was made.

    Args:
        tools: the parameters of each tool that is offered.
        messages: the conversation.
        edits: path, old text and new text of each; no old text makes a file.
        said: the last word.
        again: an earlier change is taken back first.
    """
    prompts = [
        number for number, one in enumerate(messages) if one["role"] == "user" and ASKED in one["content"]
    ]
    found = _FOLDER.search(messages[prompts[0]]["content"])
    folder = found[1] if found else "."
    plan = [_call(tools, _SHELL, command=_TAKE_BACK)] if again else []
    plan += [
        _call(tools, _READ, path=f"{folder}/{path}")
        for path in dict.fromkeys(p for p, old, _ in edits if old)
    ]
    for path, old, new in edits:
        place = f"{folder}/{path}"
        # Lines that go take their line end along.
        whole = old if not new else old.removesuffix("\n")
        made = _call(tools, _EDIT, path=place, old=whole, new=new.removesuffix("\n") if old else new)
        plan.append((not old and _call(tools, _WRITE, path=place, new=new)) or made)
    calls = [call for call in plan if call is not None]
    if not calls:
        return "NO_CHANGE: no tool is offered that edits files.\n"
    made_so_far = sum(
        len(calls_in(one["content"])[1]) for one in messages[prompts[-1] :] if one["role"] == "assistant"
    )
    return call_text(calls[made_so_far]) if made_so_far < len(calls) else f"{said}\n"


def _call(tools: Tools, names: Sequence[str], **values: str) -> ToolCall | None:
    """A call of the first of these tools that is offered; None where none is."""
    name = next((name for name in names if name in tools), None)
    if name is None:
        return None
    properties = tools[name].get("properties")
    meant = {key: _MEANING.get(key.lower().replace("_", "")) for key in properties or {}}
    return ToolCall(name, {key: values[what] for key, what in meant.items() if what and what in values})
