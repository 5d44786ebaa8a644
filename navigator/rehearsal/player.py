"""Answers the prompts of sample tasks with what `data` holds for them, and any other prompt with a plain word that it cannot."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from navigator.model import patterns
from navigator.model.json_text import read_json
from navigator.rehearsal import agent
from navigator.rehearsal.prompt import DataBlock, blocks_of, key_of
from navigator.rehearsal.samples import SampleTask, sample_projects
from navigator.rehearsal.server.engine import Completion
from navigator.rehearsal.server.tool_calls import tools_in

Messages = Sequence[Mapping[str, str]]

UNKNOWN = "this rehearsal only plays its sample tasks, and this is none of them."
NO_OTHER = "this rehearsal has no other answer to this task."
_LOOK = "<<<<<<< LOOK"
_EDIT = "<<<<<<< SEARCH"
_BLOCK = patterns.compile(
    r"^(\S.*)\n<<<<<<< SEARCH\n((?:.*\n)*?)=======\n((?:.*\n)*?)>>>>>>> REPLACE\n?", patterns.MULTILINE
)
_HUNK = patterns.compile(r"@@ (H\d+) @@.*")
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
    if asked is None or (tools and agent.ASKED not in users[-1]):
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
        return Completion(_unknown(system, schema))
    return Completion(_written(task, system, messages, blocks))


def _known(text: str, shown: str) -> SampleTask | None:
    """The task of that text; of several, the one most of whose project's files are shown, or most of their lines."""
    lines = set(shown.splitlines())
    found = []
    for project in sample_projects():
        paths = [path for path in project.files if path in shown]
        seen = sum(line in lines for path in paths for line in set(_lines(project.files[path])))
        found += [((len(paths), seen), task) for task in project.tasks if task.text == text]
    named = [
        task
        for _, task in found
        if f"Project: {task.project}\n" in shown or f"git repository {task.project}," in shown
    ]
    return named[0] if named else max(found, key=lambda one: one[0], default=((0, 0), None))[1]


def _lines(data: bytes) -> list[str]:
    return data.decode("utf-8", "replace").splitlines()


def _unknown(system: str, schema: dict[str, Any] | None) -> str:
    if schema is not None:
        return json.dumps({"suggestions": []})
    return f"NO_CHANGE: {UNKNOWN}\n" if _EDIT in system else f"No report: {UNKNOWN}\n"


def _by_agent(task: SampleTask | None, tools: agent.Tools, messages: Messages, users: Sequence[str]) -> str:
    """The next step of a coding agent: its tools refuse an edit that matches nowhere, so it makes the last answer."""
    prompts = sum(agent.ASKED in text for text in users)
    again = agent.is_again(users[0], prompts)
    held = () if task is None else task.revised if again else task.answers
    if not held:
        return f"NO_CHANGE: {UNKNOWN if task is None else NO_OTHER}\n"
    edits = [(edit[1], edit[2], edit[3]) for edit in _BLOCK.finditer(held[-1])]
    said = held[-1].partition("\n")[0]
    return agent.next_step(tools, messages, edits, said, again=again) if edits else held[-1]


def _test(task: SampleTask | None, asked: str) -> str:
    """The test of a finding."""
    held = task.tests if task is not None else {}
    found = (text for quote, text in held.items() if json.dumps(quote) in asked)
    return next(found, "NO_TEST: this rehearsal has no test for this finding.\n")


def _written(task: SampleTask, system: str, messages: Messages, blocks: Sequence[DataBlock]) -> str:
    """The answer to this turn, less the edits that were made already."""
    rounds = sum(block.kind == "findings" for block in blocks)
    if rounds:
        if rounds > len(task.revised):
            return f"NO_CHANGE: {NO_OTHER}\n"
        return task.revised[rounds - 1]
    turn = sum(one["role"] == "assistant" for one in messages)
    answers = [text for text in task.answers if _LOOK not in text or _LOOK in system]
    text = answers[min(turn, len(answers) - 1)]
    shown = {block.attributes.get("path"): block.text for block in blocks if block.kind == "file"}
    done = [edit for edit in _BLOCK.finditer(text) if _is_made(edit, shown)]
    if done and len(done) == len(_BLOCK.findall(text)):
        return "NO_CHANGE: the files are already as the task asks.\n"
    for edit in reversed(done):
        text = text[: edit.start()] + text[edit.end() :]
    return text


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
    value: dict[str, Any] = {"summary": held["summary"]}
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
