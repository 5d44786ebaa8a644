"""The rehearsal's generator: real edits by rule, spoilt now and then the way models spoil theirs.

A pure function of its prompt and seed. It knows nothing of earlier requests: what it did before it reads, as a model
does, from the conversation.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from navigator.exam.chance import fraction
from navigator.exam.faults import lines_of
from navigator.rehearsal.server.engine import Completion
from tests.scripted.instances import fitted, instance_of
from tests.scripted.reading import WritingPrompt, read_writing
from tests.scripted.writer.edits import Edit, render_edits
from tests.scripted.writer.look import look_block, looks_first, too_large
from tests.scripted.writer.report import write_report, write_suggestions
from tests.scripted.writer.spoil import SpoiltAnswer, spoil
from tests.scripted.writer.work import FileWork, Work, plan_work, redo

FIX_RATE = 0.85
"""Share of revisions in which the generator follows the findings; in the others it insists."""

COOL = 0.3
"""Up to this temperature every answer to a prompt is the same; each one above it draws its faults anew."""

_PLURALS = {
    "places": ("place", "places"),
    "functions": ("function", "functions"),
    "defaults": ("default", "defaults"),
    "calls": ("call", "calls"),
    "lines": ("line", "lines"),
    "headings": ("heading", "headings"),
    "fences": ("block", "blocks"),
    "addresses": ("address", "addresses"),
}


class Generator:
    """Answers generation, repair, revision, report and scan prompts.

    Args:
        seed: another seed plants other faults.
        fault_rate: share of tasks whose first answer is spoilt, 0 to 1.
    """

    def __init__(self, *, seed: int = 0, fault_rate: float = 0.35) -> None:
        self._seed = seed
        self._rate = fault_rate

    def answer(
        self,
        messages: Sequence[Mapping[str, str]],
        schema: dict[str, Any] | None = None,
        repeat: int = 0,
        temperature: float = 0.0,
    ) -> Completion:
        """The answer to a conversation. `repeat` is ignored: the same prompt gets the same answer at the same temperature."""
        if schema is not None and "suggestions" not in schema.get("properties", {}):
            return Completion(json.dumps(instance_of(schema), ensure_ascii=False))
        prompt = read_writing(messages)
        if schema is not None:
            value = fitted(write_suggestions(prompt, self._seed), schema)
            return Completion(json.dumps(value, ensure_ascii=False))
        if not prompt.wants_edits:
            return Completion(write_report(prompt))
        requests = looks_first(prompt, self._seed)
        if requests:
            return Completion(look_block(requests, prompt.marker))
        if why := too_large(prompt):
            return Completion(f"TOO_LARGE: {why}\n")
        work = plan_work(prompt)
        if not work.files or work.rule is None:
            return Completion(f"NO_CHANGE: {work.reason}\n")
        if prompt.turn == "first":
            fault = fault_of(self._seed, self._rate, prompt, work, temperature)
            written = _written(prompt, work, fault.edits if fault else work.edits)
            return Completion(written, spoilt=fault is not None)
        work = _without_objections(prompt, work, self._seed)
        if not work.files:
            return Completion("NO_CHANGE: what the findings ask for leaves nothing of this change.\n")
        if prompt.turn == "repair":
            return Completion(_repaired(prompt, work))
        return Completion(self._revised(prompt, work))

    def _revised(self, prompt: WritingPrompt, work: Work) -> str:
        blocks = render_edits(work.edits, prompt.marker)
        previous = _blocks_of(prompt.previous)
        if not previous or (follows(self._seed, prompt) and blocks != previous):
            return f"Corrected what the findings describe. {said_of(work)}\n\n{blocks}\n"
        if blocks == previous and fraction("keep", self._seed, prompt.task, prompt.turns) < 0.5:
            return "NO_CHANGE: I read the code again; the findings do not apply, and I keep the change.\n"
        return f"I keep my change: the case that the findings describe cannot happen in this code.\n\n{previous}\n"


def planted(seed: int, messages: Sequence[Mapping[str, str]], fault_rate: float = 0.35) -> str | None:
    """What is wrong with the first answer to a prompt: `"kind: path"`, or None. For tests alone.

    Kinds: wrong-block, omission, subtle-…, wrong-name, incomplete.
    """
    prompt = read_writing(messages)
    if not prompt.wants_edits:
        return None
    work = plan_work(prompt)
    if not work.files or work.rule is None:
        return None
    fault = fault_of(seed, fault_rate, prompt, work)
    return f"{fault.kind}: {fault.path}" if fault else None


def fault_of(
    seed: int, rate: float, prompt: WritingPrompt, work: Work, temperature: float = 0.0
) -> SpoiltAnswer | None:
    """What the first answer is spoilt with, if it is one of the `rate` that are."""
    other = [prompt.approach] if prompt.approach else []
    if temperature > COOL:
        other.append(f"{temperature:g}")
    salt = (seed, prompt.task, prompt.note, work.files[0].path, *other)
    if fraction("fault", *salt) >= rate:
        return None
    return spoil(work, salt)


def _written(prompt: WritingPrompt, work: Work, edits: Sequence[Edit]) -> str:
    return f"{said_of(work)}\n\n{render_edits(edits, prompt.marker)}\n"


def _blocks_of(answer: str) -> str:
    """The blocks of an answer of this generator: all that follows its one paragraph of prose."""
    return answer.partition("\n\n")[2].rstrip("\n")


def said_of(work: Work) -> str:
    """One sentence about the whole change, as if all of it were there."""
    if work.rule is None:
        return ""
    count = sum(file.changed for file in work.files)
    where = ", ".join(posixpath.basename(file.path) for file in work.files)
    words = {key: forms[count != 1] for key, forms in _PLURALS.items()}
    said = work.rule.about.format(count=count, where=where, **words)
    left = sum(file.seen - file.changed - len(file.skip) for file in work.files)
    return f"{said} {left} more are left for a further task." if left > 0 else said


def follows(seed: int, prompt: WritingPrompt) -> bool:
    """Whether findings are followed in this turn, and not argued with."""
    return fraction("follow", seed, prompt.task, prompt.note, prompt.turns) < FIX_RATE


def _repaired(prompt: WritingPrompt, work: Work) -> str:
    """The right answer; where that was already given, the change without the files complained about."""
    if render_edits(work.edits, prompt.marker) == _blocks_of(prompt.previous) and not prompt.whole:
        kept = tuple(file for file in work.files if file.path not in prompt.feedback)
        blamed = len(kept) < len(work.files)
        work = replace(work, files=kept)
        if not kept or not blamed:
            return "NO_CHANGE: the reported problem does not come from this change, and I know no other way to make it.\n"
    edits: list[Edit] = []
    for file in work.files:
        if file.path in prompt.whole:
            edits.append(Edit(file.path, (), tuple(lines_of(file.new)), form="whole"))
        else:
            edits += file.edits()
    return f"Every block again, corrected. {said_of(work)}\n\n{render_edits(edits, prompt.marker)}\n"


def _without_objections(prompt: WritingPrompt, work: Work, seed: int) -> Work:
    """The work without the places that findings quote, where the right answer had been given and was objected to."""
    if work.rule is None or not prompt.objections or not follows(seed, prompt):
        return work
    clean = render_edits(work.edits, prompt.marker)
    if clean != _blocks_of(prompt.objected):
        return work
    quotes = {str(f.get("quote", "")).strip() for f in prompt.objections if f.get("kind") == "wrong"} - {""}
    files = [_without_quotes(work, file, quotes) for file in work.files]
    kept = tuple(file for file in files if file is not None)
    # A change that would lose all its places is kept as it was, and defended.
    return replace(work, files=kept) if kept else work


def _without_quotes(work: Work, file: FileWork, quotes: set[str]) -> FileWork | None:
    if work.rule is None or file.creates:
        return file
    skip = set(file.skip)
    for number in range(file.seen):
        if number in skip:
            continue
        other = redo(work.rule, file, frozenset({*range(file.seen)} - {number}))
        before = {line.strip() for line in lines_of(file.old)}
        if any(line.strip() in quotes for line in lines_of(other.new) if line.strip() not in before):
            skip.add(number)
    if len(skip) == file.seen:
        return None
    return redo(work.rule, file, frozenset(skip)) if skip != set(file.skip) else file
