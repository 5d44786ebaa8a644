"""Prompts as the cascade renders them, from the packaged templates, and diffs between two sets of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from navigator.edits import Applied, apply_answer, marker_length, parse_answer
from navigator.journey.prompts.blocks import data_block, diff_text
from navigator.journey.prompts.library import PromptLibrary
from navigator.journey.reviewing.answer_schema import MAX_FINDINGS, review_schema
from navigator.model.diff import DiffLine, FileDiff, Hunk
from tests.scripted.samples.repositories import SampleProject, SampleTask

KEY = "0123456789ab"
PROMPTS = PromptLibrary([Path(__file__).resolve().parents[2] / "prompts"])
Message = dict[str, str]


def decoded(data: bytes) -> str:
    """Text as it is shown: UTF-8, else Latin-1, with LF."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n")


class Tree:
    """Files in memory, as edits read them."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)

    def paths(self) -> list[str]:
        return list(self.files)

    def read(self, path: str) -> bytes | None:
        return self.files.get(path)

    def mode(self, path: str) -> str | None:
        return "100644" if path in self.files else None


def writing(
    files: Mapping[str, bytes],
    text: str,
    *,
    kind: str = "fix",
    named: Sequence[str] = (),
    shown: Sequence[str] | None = None,
    note: str = "",
    key: str = KEY,
) -> list[Message]:
    """The opening messages of a task, with `shown` (or the named files, or all Python and Markdown) in full."""
    paths = shown or named or [path for path in files if path.endswith((".py", ".md")) and files[path]]
    texts = {path: decoded(files[path]) for path in paths}
    marker = marker_length(texts.values())
    blocks = [data_block("tree", key, "\n".join(sorted(files)) + "\n")]
    blocks += [data_block("file", key, content, path=path, lines=0) for path, content in texts.items()]
    system, user, _ = PROMPTS.render(
        "generate",
        project="sample",
        key=key,
        open="<" * marker,
        divider="=" * marker,
        close=">" * marker,
        allow_delete=False,
        allow_rename=False,
        looks=0,
        blocks=blocks,
        task=data_block("task", key, text, kind=kind, files=list(named)),
        note=data_block("note", key, note) if note else "",
    )
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def task_messages(project: SampleProject, task: SampleTask) -> list[Message]:
    """The opening messages of a sample task."""
    return writing(project.files, task.text, kind=task.kind.value, named=task.files)


def repairing(
    messages: Sequence[Message], answer: str, problems: Sequence[str], whole: str = ""
) -> list[Message]:
    """The conversation after an answer that did not apply."""
    _, user, _ = PROMPTS.render("repair", problems=problems, whole_file=whole)
    return [*messages, {"role": "assistant", "content": answer}, {"role": "user", "content": user}]


def revising(messages: Sequence[Message], answer: str, findings: str) -> list[Message]:
    """The conversation after a review; `findings` is the JSON list."""
    _, user, _ = PROMPTS.render("revise", findings=data_block("findings", KEY, findings))
    return [*messages, {"role": "assistant", "content": answer}, {"role": "user", "content": user}]


def applied(files: Mapping[str, bytes], answer: str, marker: int = 7) -> Applied:
    """An answer's blocks on the files, by the real edit engine."""
    return apply_answer(parse_answer(answer, marker=marker), Tree(files))


def after(files: Mapping[str, bytes], done: Applied) -> dict[str, bytes]:
    """The files once a change is made."""
    result = dict(files)
    for path, change in done.changes.items():
        if change.content is None:
            result.pop(path, None)
        else:
            result[path] = change.content
    return result


def difference(before: Mapping[str, bytes], now: Mapping[str, bytes], context: int = 3) -> list[FileDiff]:
    """The diff of two sets of files in the shape git's takes, labels counted through."""
    files: list[FileDiff] = []
    count = 0
    for path in sorted({*before, *now}):
        if before.get(path) == now.get(path):
            continue
        old = decoded(before.get(path, b"")).splitlines()
        new = decoded(now.get(path, b"")).splitlines()
        hunks: list[Hunk] = []
        for group in SequenceMatcher(a=old, b=new, autojunk=False).get_grouped_opcodes(context):
            count += 1
            lines: list[DiffLine] = []
            for tag, i1, i2, j1, j2 in group:
                if tag == "equal":
                    lines += [DiffLine(" ", old[i], i + 1, j1 + i - i1 + 1) for i in range(i1, i2)]
                    continue
                lines += [DiffLine("-", old[i], i + 1, None) for i in range(i1, i2)]
                lines += [DiffLine("+", new[j], None, j + 1) for j in range(j1, j2)]
            first, last = group[0], group[-1]
            hunks.append(
                Hunk(
                    f"H{count}",
                    first[1] + 1,
                    last[2] - first[1],
                    first[3] + 1,
                    last[4] - first[3],
                    "",
                    tuple(lines),
                )
            )
        status = "A" if path not in before else "D" if path not in now else "M"
        files.append(FileDiff(status, path, path, hunks=tuple(hunks)))
    return files


def reviewing(
    before: Mapping[str, bytes],
    now: Mapping[str, bytes],
    text: str,
    *,
    kind: str = "fix",
    earlier: str | None = None,
    count: int = 0,
) -> tuple[list[Message], dict[str, Any], list[FileDiff]]:
    """The messages of a review, its schema, and the diff shown. `earlier` is a JSON list of `count` findings."""
    diff = difference(before, now)
    blocks = [
        data_block("excerpt", KEY, "\n".join(decoded(now[file.path]).splitlines()), path=file.path, first=1)
        for file in diff
        if file.path in now
    ]
    values: dict[str, Any] = {
        "key": KEY,
        "max_findings": MAX_FINDINGS,
        "blocks": blocks,
        "task": data_block("task", KEY, text, kind=kind, files=[]),
        "checks": data_block("checks", KEY, "edits: passed"),
        "earlier": data_block("earlier", KEY, earlier or "[]"),
        "diff": data_block("diff", KEY, diff_text(diff)),
        "note": "",
        "others": "",
        "asked": tuple(range(1, count + 1)),
    }
    system, user, _ = PROMPTS.render("review" if earlier is None else "review-again", **values)
    labels = [hunk.label for file in diff for hunk in file.hunks]
    return (
        [{"role": "system", "content": system}, {"role": "user", "content": user}],
        review_schema(labels, again=count),
        diff,
    )
