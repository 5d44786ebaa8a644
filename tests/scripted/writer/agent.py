"""What the rehearsal's generator says to a coding agent: calls of the agent's own tools, then a last word.

It finds files with the shell, reads them, edits them one block at a time, and says what it changed. When its change comes
back it takes it back and makes it again without a fault, or insists, as the generator does; like that, it is a pure function
of the conversation.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from navigator.exam.faults import lines_of
from navigator.model import patterns
from navigator.model.json_text import read_json
from navigator.rehearsal.server.engine import Completion
from navigator.rehearsal.server.tool_calls import ToolCall, call_text, calls_in, tools_in
from tests.scripted.reading import WritingPrompt, blocks_of
from tests.scripted.writer.edits import Edit, apply_edits
from tests.scripted.writer.generator import fault_of, follows, said_of
from tests.scripted.writer.rules import choose_rules
from tests.scripted.writer.work import Work, plan_work

MOST_READ = 6
"""Files that are read for one task."""

_ASKED = "When you are done, say in one or two sentences"
_FRESH = "An earlier session changed code"
_FOLDER = patterns.compile(r"in your working folder (.+?)\.(?:\n| Its change)")
_LISTED = patterns.compile(r"(?:^|\s)([\w@+-][\w./@+-]*\.\w+)$", patterns.MULTILINE)
_NUMBERED = patterns.compile(r"^ *\d+(?:: |\||→|\t)", patterns.MULTILINE)
_TAKE_BACK = "git checkout -q HEAD -- ."

_SHELL = ("bash", "run_shell_command", "shell")
_READ = ("read_file", "read", "view")
_EDIT = ("edit", "search_replace", "replace")
_WRITE = ("write", "write_file")
_PLACES = frozenset({"path", "filepath", "absolutepath", "file"})
_MEANING = {
    **dict.fromkeys(_PLACES, "path"),
    **dict.fromkeys(("oldstring", "oldstr", "oldtext"), "old"),
    **dict.fromkeys(("newstring", "newstr", "newtext", "content"), "new"),
    "command": "command",
}

Messages = Sequence[Mapping[str, str]]
Tools = Mapping[str, Mapping[str, Any]]


def has_tools(messages: Messages) -> bool:
    """Whether the conversation is a coding agent's."""
    return bool(_tools(messages))


@dataclass(frozen=True, slots=True)
class _Step:
    """One call that was made, and what came of it."""

    call: ToolCall
    result: str


@dataclass(frozen=True, slots=True)
class _Talk:
    """A conversation as the model reads it.

    `asked` are Navigator's prompts, `earlier` what was done before the last of them, `done` what was done since.
    """

    tools: Tools
    asked: tuple[str, ...]
    earlier: tuple[_Step, ...]
    done: tuple[_Step, ...]
    open: bool
    """Whether the last prompt is Navigator's, and not one that the agent asks beside its work."""

    def called(self, names: Sequence[str]) -> list[_Step]:
        """The calls of these tools since the last prompt."""
        return [step for step in self.done if step.call.name in names]

    def call(self, names: Sequence[str], **values: str) -> ToolCall | None:
        """A call of the first of these tools that is offered; None where none is."""
        name = next((name for name in names if name in self.tools), None)
        if name is None:
            return None
        meant = {key: _MEANING.get(key.lower().replace("_", "")) for key in _properties(self.tools[name])}
        return ToolCall(name, {key: values[what] for key, what in meant.items() if what and what in values})


class AgentWriter:
    """Answers the prompts that a coding agent sends.

    Args:
        seed: another seed plants other faults.
        fault_rate: share of tasks whose first change is spoilt, 0 to 1.
    """

    def __init__(self, *, seed: int = 0, fault_rate: float = 0.35) -> None:
        self._seed = seed
        self._rate = fault_rate

    def answer(self, messages: Messages, temperature: float = 0.0) -> Completion:
        """The next calls, or the last word."""
        talk = _read(messages)
        if not talk.open:
            return Completion("OK.")
        again = len(talk.asked) > 1 or _FRESH in talk.asked[0]
        prompt = _writing(talk, again=again)
        if again and prompt.objections and not follows(self._seed, prompt):
            return Completion("NO_CHANGE: the case that the findings describe cannot happen in this code.\n")
        if again and not any(step.call.arguments.get("command") == _TAKE_BACK for step in talk.done):
            back = talk.call(_SHELL, command=_TAKE_BACK)
            return _calls([back])
        looks = _looks(talk, prompt)
        if looks:
            return _calls(looks)
        work = plan_work(prompt)
        if not work.files or work.rule is None:
            return Completion(f"NO_CHANGE: {work.reason}\n")
        edits, spoilt = self._edits(prompt, work, temperature, again=again)
        made = len(talk.called((*_EDIT, *_WRITE)))
        if made < len(edits):
            return _calls([_edit(talk, edits[made])], spoilt=spoilt)
        return Completion(f"{said_of(work)}\n", spoilt=spoilt)

    def _edits(
        self, prompt: WritingPrompt, work: Work, temperature: float, *, again: bool
    ) -> tuple[list[Edit], bool]:
        """The edits, and whether a fault is among them. A block that matches nowhere is none: the agent's tool refuses it."""
        fault = None if again else fault_of(self._seed, self._rate, prompt, work, temperature)
        if fault is None:
            return work.edits, False
        for file in work.files:
            if apply_edits(file.old, [edit for edit in fault.edits if edit.path == file.path]) is None:
                return work.edits, False
        return list(fault.edits), True


def _tools(messages: Messages) -> Tools:
    return tools_in("\n".join(one["content"] for one in messages if one["role"] == "system"))


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _calls(calls: Sequence[ToolCall | None], *, spoilt: bool = False) -> Completion:
    made = [call for call in calls if call is not None]
    if not made:
        return Completion("NO_CHANGE: no tool is offered that reads, finds or edits files.\n")
    return Completion("\n".join(map(call_text, made)), spoilt=spoilt)


def _read(messages: Messages) -> _Talk:
    asked: list[str] = []
    earlier: list[_Step] = []
    done: list[_Step] = []
    waiting: list[ToolCall] = []
    is_open = False
    for message in messages:
        text = message["content"]
        if message["role"] == "assistant":
            waiting += calls_in(text)[1]
        elif message["role"] == "tool" and waiting:
            done.append(_Step(waiting.pop(0), text))
        elif message["role"] == "user":
            is_open = _ASKED in text
            if is_open:
                asked.append(text)
                earlier += done
                done = []
    return _Talk(_tools(messages), tuple(asked), tuple(earlier), tuple(done), is_open)


def _writing(talk: _Talk, *, again: bool) -> WritingPrompt:
    """The task, with the files that were read since the last prompt."""
    blocks = [block for text in talk.asked for block in blocks_of(text, None)]
    task = next((block for block in blocks if block.kind == "task"), None)
    findings = [block.text for block in blocks_of(talk.asked[-1], None) if block.kind == "findings"]
    named = task.attributes.get("files") if task else None
    folder = _folder(talk)
    return WritingPrompt(
        task=task.text.strip() if task else "",
        kind=str(task.attributes.get("kind", "")) if task else "",
        named=tuple(map(str, named)) if isinstance(named, list) else (),
        note=next((block.text.strip() for block in blocks if block.kind == "note"), ""),
        files={
            str(_place(step.call)).removeprefix(f"{folder}/"): file_text(step.result)
            for step in talk.called(_READ)
        },
        tree=tuple(_found(talk)),
        wants_edits=True,
        turn="revise" if again else "first",
        turns=len(talk.asked),
        objections=tuple(_objects(findings[-1])) if findings else (),
    )


def _objects(text: str) -> list[dict[str, Any]]:
    try:
        value = read_json(text)
    except ValueError:
        return []
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _folder(talk: _Talk) -> str:
    found = _FOLDER.search(talk.asked[0])
    return found[1] if found else "."


def _place(call: ToolCall) -> str:
    return next((str(v) for key, v in call.arguments.items() if key.lower().replace("_", "") in _PLACES), "")


def _found(talk: _Talk) -> list[str]:
    """Every path that the shell listed in this conversation."""
    results = [step.result for step in (*talk.earlier, *talk.done) if step.call.name in _SHELL]
    return [path for result in results for path in _LISTED.findall(_unwrapped(result))]


def _looks(talk: _Talk, prompt: WritingPrompt) -> list[ToolCall | None]:
    """Calls that find and read what the task is about; none where that was read."""
    if prompt.files:
        return []
    rules, asked = choose_rules(prompt.task, prompt.kind, prompt.note)
    search = asked and not rules[0].creates and rules[0].hints
    if (not prompt.named or rules[0].creates) and not prompt.tree:
        if any(step.call.arguments.get("command") != _TAKE_BACK for step in talk.called(_SHELL)):
            return []  # it found nothing
        hints = " ".join(f"-e {shlex.quote(hint)}" for hint in rules[0].hints[:2])
        command = f"git grep -lP {hints} -- '*{rules[0].suffixes[0]}'" if search else "git ls-files"
        return [talk.call(_SHELL, command=command)]
    paths = [path for path in prompt.named or prompt.tree if path.endswith(rules[0].suffixes)]
    folder = _folder(talk)
    return [talk.call(_READ, path=f"{folder}/{path}") for path in list(dict.fromkeys(paths))[:MOST_READ]]


def _edit(talk: _Talk, edit: Edit) -> ToolCall | None:
    """The call that makes one edit."""
    place = f"{_folder(talk)}/{edit.path}"
    put = "\n".join(edit.put)
    if edit.form != "edit":
        return talk.call(_WRITE, path=place, new=f"{put}\n") or talk.call(
            _EDIT, path=place, old="", new=f"{put}\n"
        )
    old = "\n".join(edit.search)
    # Lines that go take their line end along.
    return talk.call(_EDIT, path=place, old=old if edit.put else f"{old}\n", new=put)


def file_text(result: str) -> str:
    """The file in what a reading tool returned: as it is, in a JSON object, or as numbered lines between tags."""
    start = result.find("<content>\n")
    if start >= 0:
        lines = [line for line in lines_of(result[start:]) if _NUMBERED.match(line)]
        return "".join(f"{_NUMBERED.sub('', line, 1)}\n" for line in lines)
    return _unwrapped(result, "content")


def _unwrapped(result: str, *keys: str) -> str:
    """The strings of a result that is a JSON object, of these keys or of all; else the result."""
    try:
        value = read_json(result)
    except ValueError:
        return result
    if not isinstance(value, dict):
        return result
    return "\n".join(
        text for key, text in value.items() if isinstance(text, str) and (not keys or key in keys)
    )
