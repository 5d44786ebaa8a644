"""Tasks as suggestions of a scan: the developer accepts some and dismisses the rest."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from navigator.context.scope import in_scope, is_secret
from navigator.edits.paths import unsafe_path
from navigator.journey.calls import ask
from navigator.journey.dependencies import Dependencies
from navigator.journey.moves import give_up, keep_report
from navigator.journey.prompts.material import Material
from navigator.journey.reviewing.answer import bounded_text, closed_object
from navigator.journey.reviewing.quotes import find_quote
from navigator.model import patterns
from navigator.model.models import Suggestion, Task
from navigator.model.states import LIVE_TASK_STATES, Complexity, TaskKind
from navigator.model.text import plural, safe_text
from navigator.store.reads.reader import Reader

log = logging.getLogger(__name__)

PURPOSE = "scan"


async def scan(deps: Dependencies, material: Material) -> None:
    """Ask for suggestions, unless a stored answer is there, and offer what holds up to the developer.

    Raises:
        ServingError: the server did not answer; the task is back in the queue.
    """
    kinds = [kind.value for kind in KINDS]
    messages, version = material.asking(deps.prompts, PURPOSE, kinds=kinds, most=MOST)
    shown = {file.path: file.text for file in material.prompted.context.files}
    task, role = material.task, material.writer
    stored = deps.reader.last_answer(task.id, task.attempt, task.round, role=role)
    schema = scan_schema(list(shown))
    text = stored.text if stored else await ask(deps, task, role, PURPOSE, version, messages, schema=schema)
    if text is None:
        return
    try:
        raw = read_scan(text)
    except UnreadableScan as error:
        deps.move(give_up, task, f"The model's answer is no list of suggestions: {error}.")
        return
    known = await asyncio.to_thread(_known, material, shown, _said_before(deps.reader, task))
    found = sift(raw, known)
    log.info("%s: %d of %d suggestions hold up", task.id, len(found), len(raw))
    with deps.store.transaction() as tx:
        tx.add_suggestions(task.id, task.attempt, found)
        keep_report(tx, task, report_text(found), plural(len(found), "suggestion"))


def _said_before(reader: Reader, task: Task) -> list[tuple[str, frozenset[str]]]:
    """What is open in the project, and what was proposed for it before: text and files."""
    titles = [
        (held.text, frozenset(held.files))
        for held in reader.tasks(LIVE_TASK_STATES, project=task.project_id)
        if held.id != task.id
    ]
    return titles + [
        (one.text, frozenset(one.files)) for one in reader.earlier_suggestions(task.project_id, task.id)
    ]


def _known(material: Material, shown: Mapping[str, str], titles: list[tuple[str, frozenset[str]]]) -> Known:
    """What the project holds. Runs git: call it in a thread."""
    source = material.source

    def may_be_new(path: str) -> bool:
        if unsafe_path(path) or not path.isprintable() or is_secret(path):
            return False
        return source.mode(path) is None and in_scope(path, source.project)

    return Known(shown=shown, paths=frozenset(source.paths()), may_be_new=may_be_new, titles=titles)


# From a scan's answer to tasks. Pure: what the project holds is handed in.


MOST = 12
"""Suggestions in one answer at most."""

KINDS = tuple(kind for kind in TaskKind if kind is not TaskKind.SCAN)
"""Kinds that a scan may propose: not another scan."""

RULE = "Suggestions whose quoted line was found come first; otherwise they are in the model's order."
"""How suggestions are ranked, for people."""

_TITLE, _TEXT, _WHY, _QUOTE, _PATH, _FILES = 100, 600, 300, 240, 200, 8
_WORD = patterns.compile(r"[^\W_]+")


class UnreadableScan(Exception):
    """The answer is no list of suggestions; the reason is for the log."""


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class RawEvidence(_Answer):
    """The line that proves the need, as the model wrote it."""

    path: str = ""
    line: int = 0
    quote: str = ""


class RawSuggestion(_Answer):
    """One suggestion as the model wrote it."""

    title: str
    text: str = ""
    kind: TaskKind
    complexity: Complexity
    files: tuple[str, ...] = ()
    new_files: tuple[str, ...] = ()
    why: str = ""
    evidence: RawEvidence = RawEvidence()


@dataclass(frozen=True)
class Known:
    """What a scan's suggestions are held against.

    Attributes:
        shown: path -> text of each file that the model was shown.
        paths: every path of the project that a model may see.
        may_be_new: whether a path that the project lacks could be made.
        titles: text and files of what is open or was proposed before.
    """

    shown: Mapping[str, str]
    paths: Collection[str]
    may_be_new: Callable[[str], bool]
    titles: Sequence[tuple[str, frozenset[str]]] = ()


def scan_schema(shown: Sequence[str]) -> dict[str, Any]:
    """The schema of an answer; every string and list is bounded.

    Args:
        shown: the paths that evidence may come from.
    """
    line: dict[str, Any] = {"type": "integer", "minimum": 0}
    path: dict[str, Any] = {"type": "string", "enum": list(shown)} if shown else bounded_text(_PATH)
    paths: dict[str, Any] = {"type": "array", "items": bounded_text(_PATH), "maxItems": _FILES}
    one = closed_object(
        {
            "title": bounded_text(_TITLE),
            "text": bounded_text(_TEXT),
            "kind": {"type": "string", "enum": [kind.value for kind in KINDS]},
            "complexity": {"type": "string", "enum": [word.value for word in Complexity]},
            "files": paths,
            "new_files": paths,
            "why": bounded_text(_WHY),
            "evidence": closed_object({"path": path, "line": line, "quote": bounded_text(_QUOTE)}),
        }
    )
    return closed_object({"suggestions": {"type": "array", "items": one, "maxItems": MOST}})


def read_scan(text: str) -> list[RawSuggestion]:
    """The suggestions of an answer in the model's order; those that cannot be read are left out.

    Raises:
        UnreadableScan: the answer holds no JSON object with a list of suggestions.
    """
    found: list[RawSuggestion] = []
    for entry in _entries(text):
        with suppress(ValidationError):
            found.append(RawSuggestion.model_validate(entry))
    return found


def _entries(text: str) -> list[Any]:
    """The list of the first object that has one: prose, fences and thoughts around it do not matter."""
    decoder = json.JSONDecoder(strict=False)
    why = "the answer holds no JSON object"
    for match in islice(patterns.finditer(r"\{", text), 50):
        try:
            value, _ = decoder.raw_decode(text, match.start())
        except json.JSONDecodeError as error:
            if why.endswith("object"):
                why = f"the answer is not valid JSON: {error.msg} at character {error.pos}"
            continue
        except RecursionError:
            raise UnreadableScan("the answer is nested too deeply") from None
        if isinstance(value, dict) and isinstance(value.get("suggestions"), list):
            return list(value["suggestions"])
        why = "the answer's object has no list of suggestions"
    raise UnreadableScan(why)


def sift(raw: Sequence[RawSuggestion], known: Known) -> list[Suggestion]:
    """Check, ground, drop what is there already, and rank.

    The ids of task and attempt are left for whoever stores them.
    """
    kept: list[Suggestion] = []
    said = list(known.titles)
    for entry in raw[:MOST]:
        title = _folded(entry.title, _TITLE)
        files, new = _files(entry, known)
        if not _WORD.search(title) or entry.kind not in KINDS or _is_said(title, files, said):
            continue
        said.append((title, frozenset(files)))
        kept.append(_suggestion(entry, title, files, new, known))
    kept.sort(key=lambda one: not one.grounded)
    return [one.model_copy(update={"rank": rank}) for rank, one in enumerate(kept, 1)]


def _suggestion(
    entry: RawSuggestion, title: str, files: Sequence[str], new: Sequence[str], known: Known
) -> Suggestion:
    body = _paragraph(entry.text, _TEXT)
    place = _ground(entry.evidence, known.shown)
    return Suggestion(
        task_id="",
        rank=1,
        text=f"{title}\n\n{body}" if body and body != title else title,
        kind=entry.kind,
        complexity=entry.complexity,
        files=tuple(files),
        new_files=tuple(new),
        why=_paragraph(entry.why, _WHY),
        quote=_folded(entry.evidence.quote, _QUOTE),
        quote_path=place[0] if place else "",
        quote_line=place[1] if place else 0,
    )


def _ground(evidence: RawEvidence, shown: Mapping[str, str]) -> tuple[str, int] | None:
    """Path and line (from 1) of the quote: the strictest reading, then the file that was named, then the nearest line."""
    if not evidence.quote.strip():
        return None
    lines = {path: text.splitlines() for path, text in shown.items()}
    best: tuple[tuple[int, bool, int, str], int] | None = None
    for path, matches in zip(lines, find_quote(evidence.quote, list(lines.values())), strict=True):
        for match in matches:
            number = match.first + 1
            off = abs(number - evidence.line) if evidence.line else 0
            order = (match.rung, path != evidence.path, off, path)
            if best is None or order < best[0]:
                best = (order, number)
    return (best[0][3], best[1]) if best else None


def _files(entry: RawSuggestion, known: Known) -> tuple[list[str], list[str]]:
    """The files that are there and those that would be made, and the latter alone; what is neither is left out."""
    named = dict.fromkeys((*entry.files, *entry.new_files))
    files = [path for path in named if path in known.paths][:_FILES]
    new = [
        path
        for path in dict.fromkeys(entry.new_files)
        if path not in known.paths and len(path) <= _PATH and known.may_be_new(path)
    ][:_FILES]
    return [*files, *new], new


def _is_said(title: str, files: Sequence[str], known: Sequence[tuple[str, frozenset[str]]]) -> bool:
    """Whether the same words, in any order, were said already of a file that both name, or of none in particular."""
    words = _title_words(title)
    return any(
        words == _title_words(other) and (not files or not theirs or theirs & set(files))
        for other, theirs in known
    )


def _title_words(title: str) -> frozenset[str]:
    return frozenset(_WORD.findall(title.partition("\n")[0].casefold()))


def _folded(text: str, most: int) -> str:
    folded = " ".join(_mended(text).split())
    return folded if len(folded) <= most else folded[: most - 1].rstrip() + "…"


def _paragraph(text: str, most: int) -> str:
    kept = "\n".join(line.rstrip() for line in _mended(text).strip().splitlines())
    return kept if len(kept) <= most else kept[: most - 1].rstrip() + "…"


def _mended(text: str) -> str:
    """Text that may become a task's: what would be invisible in it, or no character at all, is made visible."""
    return safe_text(text.encode("utf-8", "replace").decode("utf-8"))


def report_text(found: Sequence[Suggestion]) -> str:
    """What the scan says in words, as Markdown."""
    loose = sum(not one.grounded for one in found)
    unproved = f" Of {loose} of them the quoted line was not found." if loose else ""
    lines = [f"# {plural(len(found), 'suggestion') if found else 'No suggestions'}"]
    lines += [f"\n{RULE}{unproved}\n"] if found else []
    for one in found:
        lines.append(
            f"{one.rank}. **{one.text.partition(chr(10))[0]}** ({one.kind.value}, {one.complexity.value})"
        )
        if one.files:
            lines.append(f"   {', '.join(path + ' (new)' * (path in one.new_files) for path in one.files)}")
        if one.why:
            lines.append(f"   {' '.join(one.why.split())}")
        if one.grounded:
            lines.append(f"   {one.quote_path}:{one.quote_line}: `{one.quote.replace('`', chr(39))}`")
    return "\n".join(lines) + "\n"
