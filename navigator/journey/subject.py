"""What a reviewer reads: a proposal, or an item of the exam, taken from git."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from navigator.context.source import TreeSource, learn_withheld
from navigator.git.diffs import decode_lines
from navigator.journey.dependencies import Dependencies
from navigator.journey.prompts.blocks import with_labels
from navigator.journey.prompts.material import worth_sending
from navigator.model import patterns
from navigator.model.diff import FileDiff
from navigator.model.models import Finding, Project, Proposal, Task
from navigator.model.secrets import Redactor, environment_values, find_secret, secret_in, secret_in_name
from navigator.model.states import Escalation, Role
from navigator.model.text import safe_line

if TYPE_CHECKING:
    from navigator.git.private import PrivateRepo
    from navigator.journey.reviewing.prompt import Reading
    from navigator.store.reads.exam import Precedent
    from navigator.store.reads.outcomes import HeldTest
    from navigator.store.reads.reader import Reader


@dataclass(frozen=True)
class Change:
    """A proposal, read from git: the diff, the new text of its files, and what a revision had to answer.

    Attributes:
        files: the diff against the base, every file with a label to name.
        around: the new text of changed files, line by line, by path.
        earlier: the findings that the revision had to answer; empty in round 0.
        wrong: the task's findings that the developer judged wrong.
        precedents: of the project, those that hold or that were shown before a crash.
        callers: places in other files that use what the change redefines.
        guarded: why some of the change may not leave this machine, in words; "" where nothing speaks against it.
        exam_item: the item of the reviewer's exam that task and proposal were made of; None for work.
    """

    task: Task
    proposal: Proposal
    files: Sequence[FileDiff]
    around: dict[str, list[str]]
    earlier: Sequence[Finding] = ()
    callers: Pieces = field(default_factory=dict)
    guarded: str = ""
    exam_item: int | None = None
    wrong: Sequence[Finding] = ()
    precedents: Sequence[Precedent] = ()


def held_of(reader: Reader, task: Task, proposal: Proposal) -> list[HeldTest]:
    """The tests of the newest review of a proposal that has any."""
    held = [one for one in reader.held_tests(task.id, task.attempt) if one.proposal_id == proposal.id]
    newest = max((one.review_id for one in held), default=0)
    return [one for one in held if one.review_id == newest]


async def gather_subject(deps: Dependencies, task: Task, proposal: Proposal, role: Role) -> Change:
    """Read a proposal from the project's private repository."""
    project = deps.reader.project(task.project_id)
    before = None
    if proposal.round > 0 and role is Role.REVIEWER:
        before = deps.reader.review_of_round(task.id, task.attempt, proposal.round - 1)
    earlier = worth_sending(before.findings) if before else []
    async with deps.repositories.opened(project) as private:
        if role is Role.FINAL:
            await asyncio.to_thread(learn_leaving, deps.redact, project, private, proposal)
        subject = await asyncio.to_thread(read_subject, private, project, task, proposal, earlier)
    wrong, known = tuple(deps.reader.judged_wrong(task.id)), precedents_for(deps.reader, task, proposal, role)
    return replace(subject, wrong=wrong, precedents=known)


def precedents_for(reader: Reader, task: Task, proposal: Proposal, role: Role) -> tuple[Precedent, ...]:
    """What the reviewer's prompt may show; other models', which may run on other machines, show none."""
    if role is not Role.REVIEWER:
        return ()
    kept = None if task.escalated is Escalation.AGAIN else reader.precedents_of(proposal.id)
    return tuple(reader.precedents(task.project_id) if kept is None else kept)


def read_subject(
    private: PrivateRepo,
    project: Project,
    task: Task,
    proposal: Proposal,
    earlier: Sequence[Finding] = (),
    exam_item: int | None = None,
) -> Change:
    """The same, from git alone. Runs git: call it in a thread."""
    files = with_labels(private.diff(proposal.base_commit, proposal.tree))
    source = TreeSource(private, proposal.tree, project)
    around: dict[str, list[str]] = {}
    for file in files:
        content = None if file.binary else source.read(file.new_path)
        # What a model is never shown is in no excerpt either; the change itself has to be read.
        if content is not None and not source.why_hidden(file.new_path) and not secret_in(content):
            around[file.new_path] = decode_lines(content).splitlines()
    elsewhere = callers(source, files)
    guarded = _guarded(TreeSource(private, proposal.base_commit, project), source, files)
    return Change(task, proposal, files, around, tuple(earlier), elsewhere, guarded, exam_item)


def learn_leaving(redact: Redactor, project: Project, private: PrivateRepo, proposal: Proposal) -> None:
    """Have `redact` know what must not leave this machine: values of withheld files and of the environment. Blocks."""
    redact.learn(environment_values(os.environ))
    for tree in (proposal.base_commit, proposal.tree):
        learn_withheld(redact, project, private, tree)


def leaving_messages(redact: Redactor, reading: Reading) -> list[dict[str, str]]:
    """A prompt as it is sent to another machine: every secret in it is replaced by a word that says what was there."""
    return [{name: redact.outgoing(text) for name, text in message.items()} for message in reading.messages]


def _guarded(before: TreeSource, after: TreeSource, files: Sequence[FileDiff]) -> str:
    """Why a change may not be sent to another machine: the first file whose name or lines speak against it."""
    for file in files:
        hidden = before.why_hidden(file.old_path) or after.why_hidden(file.new_path)
        lines = "\n".join(line.text for hunk in file.hunks for line in hunk.lines)
        found = find_secret(lines.encode("utf-8", "surrogateescape"))
        # The line would be the diff's, not the file's: only what it is is worth saying.
        named = secret_in_name(file.old_path) or secret_in_name(file.new_path)
        if named:
            return f"One of its files: {named}"
        why = hidden or (found[0] if found else "")
        if why:
            return f"{safe_line(file.path)}: {why}"
    return ""


MOST_NAMES = 8
MOST_FILES = 6
PLACES_A_FILE = 3
AROUND = 3
"""Lines shown on each side of a place."""

_LARGEST = 400_000
"""Bytes of a file in which places are looked for."""

_DEFINES = patterns.compile(
    r"^\s*(?:(?:export|default|public|private|protected|static|pub|async|abstract|final)\s+)*"
    r"(?:def|class|func|fn|function|interface|struct|enum|trait|type)\s+(?:\([^)]*\)\s*)?([A-Za-z_]\w{2,})"
)

Pieces = dict[str, list[tuple[int, str]]]
"""Path -> (first line number, text) of each piece."""


def redefined(files: Sequence[FileDiff]) -> list[str]:
    """Names whose defining line the change takes away or alters, and module names of renamed files; in the diff's order."""
    names: dict[str, None] = {}
    kept = {
        line.text.strip() for file in files for hunk in file.hunks for line in hunk.lines if line.kind == "+"
    }
    for file in files:
        if file.status.startswith("R"):
            names[PurePosixPath(file.old_path).stem] = None
        for hunk in file.hunks:
            for line in hunk.lines:
                found = _DEFINES.match(line.text) if line.kind == "-" else None
                if found and line.text.strip() not in kept and not found[1].startswith("__"):
                    names[found[1]] = None
    return list(names)[:MOST_NAMES]


def callers(source: TreeSource, files: Sequence[FileDiff]) -> Pieces:
    """Places in files that the change does not touch where a redefined name is used. Runs git: call it in a thread."""
    names = redefined(files)
    if not names:
        return {}
    touched = {path for file in files for path in (file.old_path, file.new_path)}
    hits = {path: words for path, words in source.mentions(names).items() if path not in touched}
    # Files that use more of the names first; then the nearest by name, so that the choice does not hang on chance.
    chosen = sorted(hits, key=lambda path: (-len(hits[path]), path))[:MOST_FILES]
    found: Pieces = {}
    for path in chosen:
        content = source.read(path)
        if content is None or len(content) > _LARGEST or secret_in(content):
            continue
        lines = decode_lines(content).splitlines()
        found[path] = list(_pieces(lines, hits[path]))
    return {path: pieces for path, pieces in found.items() if pieces}


def _pieces(lines: Sequence[str], words: set[str]) -> Iterator[tuple[int, str]]:
    pattern = patterns.compile(r"\b(?:" + "|".join(map(patterns.escape, sorted(words))) + r")\b")
    places = [number for number, line in enumerate(lines, 1) if pattern.search(line)]
    last = 0
    for number in places[:PLACES_A_FILE]:
        first = max(last + 1, number - AROUND)
        end = min(len(lines), number + AROUND)
        if first <= end:
            yield first, "\n".join(lines[first - 1 : end])
            last = end
