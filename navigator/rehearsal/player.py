"""Answers the prompts of sample tasks with what `data` holds for them, and any other prompt with a plain word that it cannot."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from navigator.model import patterns
from navigator.model.json_text import read_json
from navigator.rehearsal.engine import Completion
from navigator.rehearsal.samples import SampleTask, sample_projects
from navigator.rehearsal.tool_calls import ToolCall, call_text, calls_in, tools_in

Messages = Sequence[Mapping[str, str]]

UNKNOWN = "this rehearsal only plays its sample tasks, and this is none of them."
SAME_AGAIN = "The same change again: this rehearsal cannot follow a note."
NO_OTHER = "this rehearsal has no other answer to this task."
_LOOK = "<<<<<<< LOOK"
_EDIT = "<<<<<<< SEARCH"
_BLOCK = patterns.compile(
    r"^(\S.*)\n<<<<<<< SEARCH\n((?:.*\n)*?)=======\n((?:.*\n)*?)>>>>>>> REPLACE\n?", patterns.MULTILINE
)
_HUNK = patterns.compile(r"@@ (H\d+) @@.*")
_SHOWN = patterns.compile(r"^@@ ([HF]\d+) @@", patterns.MULTILINE)
_LINE = patterns.compile(r" *\d*\|([ +-])(.*)")


def answer(
    messages: Messages, schema: dict[str, Any] | None = None, repeat: int = 0, temperature: float = 0.0
) -> Completion:
    """What the data has for the conversation.

    Args:
        messages: the conversation.
        schema: the JSON schema that is asked for, None for text.
        repeat: how often this very prompt came before; an answer that broke off may be whole on a retry.
        temperature: ignored; there is one answer.
    """
    system = "\n".join(one["content"] for one in messages if one["role"] == "system")
    users = [one["content"] for one in messages if one["role"] == "user"]
    blocks = [block for text in users for block in blocks_of(text, key_of(system))]
    asked = next((block.text.strip() for block in blocks if block.kind == "task"), None)
    tools = tools_in(system)
    if asked is None or (tools and ASKED not in users[-1]):
        return Completion("OK.")
    task = _known(asked, "\n".join([*users, *(one["content"] for one in messages if one["role"] == "tool")]))
    if tools:
        return Completion(_by_agent(task, tools, messages, users))
    diff = next((block.text for block in blocks if block.kind == "diff"), "")
    if diff and "NO_TEST:" in users[-1]:
        return Completion(_test(task, users[-1]))
    if diff:
        return _review(task, diff, blocks, repeat)
    if task is None:
        return Completion(_unknown_answer(system, schema))
    return Completion(_edit_answer(task, system, messages, blocks))


def _known(text: str, shown: str) -> SampleTask | None:
    """The task of that text; of several, the one most of whose project's files are shown, or most of their lines."""
    lines = set(shown.splitlines())
    found = []
    for project in sample_projects():
        paths = [path for path in project.files if path in shown]
        seen = sum(line in lines for path in paths for line in set(_decoded_lines(project.files[path])))
        found += [((len(paths), seen), task) for task in project.tasks if task.text == text]
    named = [
        task
        for _, task in found
        if f"Project: {task.project}\n" in shown or f"git repository {task.project}," in shown
    ]
    return named[0] if named else max(found, key=lambda one: one[0], default=((0, 0), None))[1]


def _decoded_lines(data: bytes) -> list[str]:
    return data.decode("utf-8", "replace").splitlines()


def _unknown_answer(system: str, schema: dict[str, Any] | None) -> str:
    if schema is not None:
        return json.dumps({"suggestions": []})
    return f"NO_CHANGE: {UNKNOWN}\n" if _EDIT in system else f"No report: {UNKNOWN}\n"


def _by_agent(task: SampleTask | None, tools: Tools, messages: Messages, users: Sequence[str]) -> str:
    """The next step of a coding agent: its tools refuse an edit that matches nowhere, so it makes the last answer."""
    prompts = sum(ASKED in text for text in users)
    again = is_again(users[0], prompts)
    held = () if task is None else task.revised if again else task.answers
    if not held:
        return f"NO_CHANGE: {UNKNOWN if task is None else NO_OTHER}\n"
    edits = [(edit[1], edit[2], edit[3]) for edit in _BLOCK.finditer(held[-1])]
    said = held[-1].partition("\n")[0]
    return next_step(tools, messages, edits, said, again=again) if edits else held[-1]


def _test(task: SampleTask | None, asked: str) -> str:
    """The test of a finding."""
    held = task.tests if task is not None else {}
    found = (text for quote, text in held.items() if json.dumps(quote) in asked)
    return next(found, "NO_TEST: this rehearsal has no test for this finding.\n")


def _edit_answer(task: SampleTask, system: str, messages: Messages, blocks: Sequence[DataBlock]) -> str:
    """The answer to this turn, less the edits that were made already."""
    rounds = sum(block.kind == "findings" for block in blocks)
    if rounds:
        if rounds > len(task.revised):
            return f"NO_CHANGE: {NO_OTHER}\n"
        return task.revised[rounds - 1]
    turn = sum(one["role"] == "assistant" for one in messages)
    answers = [text for text in task.answers if _LOOK not in text or _LOOK in system]
    text = answers[min(turn, len(answers) - 1)]
    if sent := next((block.text for block in blocks if block.kind == "sent-back"), ""):
        there = {line[1:] for line in sent.splitlines()}
        made = [one for one in (text, *task.answers, *task.revised) if there >= _new_lines(one)]
        return f"{SAME_AGAIN}\n\n{max(made, key=lambda one: len(_new_lines(one)), default=text)}"
    shown = {block.attributes.get("path"): block.text for block in blocks if block.kind == "file"}
    done = [edit for edit in _BLOCK.finditer(text) if _is_made(edit, shown)]
    if done and len(done) == len(_BLOCK.findall(text)):
        return "NO_CHANGE: the files are already as the task asks.\n"
    for edit in reversed(done):
        text = text[: edit.start()] + text[edit.end() :]
    return text


def _new_lines(text: str) -> set[str]:
    """The lines that the edits of an answer add."""
    edits = [(edit[2].splitlines(), edit[3].splitlines()) for edit in _BLOCK.finditer(text)]
    return {line for before, after in edits for line in after if line not in before}


def _is_made(edit: patterns.Match[str], shown: Mapping[Any, str]) -> bool:
    """Whether what an edit puts in stands in the file that is shown, and what it takes out does not."""
    path, search, put = edit.groups()
    text = shown.get(path)
    return text is not None and put in text and (not search or search not in text)


def _review(task: SampleTask | None, diff: str, blocks: Sequence[DataBlock], repeat: int) -> Completion:
    """The review of this diff: of its findings those whose line it shows. Unreadable where the data has none."""
    if task is None or not task.reviews:
        return Completion(f"No review: {UNKNOWN}\n")
    earlier = next((read_json(block.text) for block in blocks if block.kind == "earlier"), None)
    held = task.reviews[0 if earlier is None else -1]
    labels = dict(_labels(diff))
    findings = [
        finding | {"hunk": labels.get(finding["quote"], finding["hunk"])}
        for finding in held["findings"]
        if finding["quote"] in labels or finding["kind"] == "missing" or not finding["line"]
    ]
    value: dict[str, Any] = {
        "summary": held["summary"],
        "read": [match[1] for match in _SHOWN.finditer(diff)],
    }
    if isinstance(earlier, list):
        kept = {finding["quote"] for finding in findings}
        value["addressed"] = held.get("addressed") or [
            {
                "finding": one["number"],
                "why": "The line is as it was." if again else "The line is gone.",
                "met": not again,
            }
            for one in earlier
            for again in (one["quote"] in kept,)
        ]
        findings = [{"earlier": 0, **finding} for finding in findings]
    text = json.dumps({**value, "findings": findings, "verdict": held["verdict"]}, ensure_ascii=False)
    if earlier is None and repeat < task.cut:
        return Completion(text[: len(text) * 3 // 5], "length")
    return Completion(text)


def _labels(diff: str) -> Iterator[tuple[str, str]]:
    """Each line shown with its hunk's label."""
    label = ""
    for row in diff.split("\n"):
        if (line := _LINE.fullmatch(row)) is not None:
            yield line[2], label
        elif (hunk := _HUNK.fullmatch(row)) is not None:
            label = hunk[1]


# Plays a sample task through the tools of a coding agent: reads the files, makes the edits one by one, says what was changed.

ASKED = "When you are done, say in one or two sentences"
_FRESH = "An earlier session changed code"
_FOLDER = patterns.compile(r"in your working folder (.+?)\.(?:\n| Its change)")
_TAKE_BACK = "git checkout -q HEAD -- ."

_SHELL = ("bash", "run_shell_command", "shell")
_READ = ("read_file", "read", "view")
_EDIT_TOOL = ("edit", "search_replace", "replace")
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
        made = _call(tools, _EDIT_TOOL, path=place, old=whole, new=new.removesuffix("\n") if old else new)
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


# Reads the data blocks of a prompt as its addressee would.
#
# A block is `[[begin KIND KEY {attributes}]]`, its content, `[[end KIND KEY]]`. The key is in the system text; a block
# under another key is part of some file's content and is not read as a block.

_BEGIN = patterns.compile(r"\[\[begin ([a-z_-]+) ([0-9a-f]{12})(?: (\{.*\}))?\]\]\r?")
_KEY = patterns.compile(r"\bkey ([0-9a-f]{12})\b")


@dataclass(frozen=True, slots=True)
class DataBlock:
    """One data block: its kind, its attributes, its content without the newline that only separates the end marker."""

    kind: str
    attributes: Mapping[str, Any]
    text: str


def blocks_of(text: str, key: str | None) -> list[DataBlock]:
    """Every block of `text` under `key` (under any key when None), in order. Unfinished blocks are ignored."""
    return list(_blocks(text.split("\n"), key))


def _blocks(lines: list[str], key: str | None) -> Iterator[DataBlock]:
    at = 0
    while at < len(lines):
        match = _BEGIN.fullmatch(lines[at])
        at += 1
        if match is None or (key is not None and match[2] != key):
            continue
        end = f"[[end {match[1]} {match[2]}]]"
        close = next((i for i in range(at, len(lines)) if lines[i].rstrip("\r") == end), None)
        if close is None:
            continue
        attributes = _attributes(match[3])
        content = "\n".join(lines[at:close])
        if close > at and not attributes.get("no_final_newline"):
            content += "\n"
        yield DataBlock(match[1], attributes, content)
        at = close + 1


def _attributes(text: str | None) -> dict[str, Any]:
    if not text:
        return {}
    try:
        value = read_json(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def key_of(system: str) -> str | None:
    """The delimiter key the system text names."""
    match = _KEY.search(system)
    return match[1] if match else None
