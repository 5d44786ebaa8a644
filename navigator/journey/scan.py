"""Tasks as suggestions of a scan: the developer accepts some and dismisses the rest."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from navigator.edits.paths import unsafe_path
from navigator.git.scope import in_scope, is_secret
from navigator.journey.calls import ask
from navigator.journey.change import give_up, keep_report
from navigator.journey.dependencies import Dependencies
from navigator.journey.prompts.material import Material
from navigator.journey.reviewing.answer import bounded_text, closed_object
from navigator.journey.reviewing.quotes import find_quote
from navigator.model import patterns
from navigator.model.models import Suggestion, Task
from navigator.model.states import LIVE_TASK_STATES, Complexity, TaskKind
from navigator.model.text import safe_line, safe_text

PURPOSE = "scan"

TRIES = 2
"""Answers that are asked for: one, and one more where it cannot be read."""

REFUSED = "refused"
"""A call's outcome once its answer was read and was no list of suggestions."""


async def scan(deps: Dependencies, material: Material) -> None:
    """Ask for suggestions, unless a stored answer is there, and offer what holds up to the developer.

    Raises:
        ServingError: the server did not answer; the task is back in the queue.
    """
    kinds = [kind.value for kind in KINDS]
    messages, version = material.asking(deps.prompts, PURPOSE, kinds=kinds, most=MOST)
    shown = {file.path: file.text for file in material.prompted.context.files}
    task, role = material.task, material.writer
    while True:
        stored = deps.reader.last_answer(task.id, task.attempt, task.round, role=role)
        refused = stored is not None and stored.outcome == REFUSED
        if refused and deps.reader.answers_refused(task.id, task.attempt, task.round, role) >= TRIES:
            said = f"The model was asked {TRIES} times, and no answer was a list of suggestions."
            deps.move(give_up, task, said)
            return
        if stored is None or refused:
            schema = scan_schema(list(shown))
            if await ask(deps, task, role, PURPOSE, version, messages, schema=schema) is None:
                return
            continue
        try:
            raw = read_scan(stored.text)
            break
        except UnreadableScan as error:
            with deps.store.transaction() as tx:
                tx.judge_call(stored.call_id, REFUSED)
                tx.event("scan_unreadable", task_id=task.id, data={"why": str(error)})
    known = await asyncio.to_thread(_known, material, shown, _said_before(deps, task))
    found = sift(raw, known)
    not_shown = [f"{entry.path or 'files'}: {entry.why}" for entry in material.prompted.context.left_out]
    with deps.store.transaction() as tx:
        tx.add_suggestions(task.id, task.attempt, found.suggestions)
        count = len(found.suggestions)
        said = f"{count} suggestion{'' if count == 1 else 's'}"
        keep_report(tx, task, report_text(found, not_shown), said)


def _said_before(deps: Dependencies, task: Task) -> list[tuple[str, frozenset[str], str]]:
    """What is open in the project, and what was proposed for it before: text, files, and what it is called."""
    titles = [
        (held.text, frozenset(held.files), held.id)
        for held in deps.reader.tasks(LIVE_TASK_STATES, project=task.project_id)
        if held.id != task.id
    ]
    return titles + [
        (one.text, frozenset(one.files), f"a suggestion of {one.task_id} ({one.state})")
        for one in deps.reader.earlier_suggestions(task.project_id, task.id)
    ]


def _known(
    material: Material, shown: Mapping[str, str], titles: list[tuple[str, frozenset[str], str]]
) -> Known:
    """What the project holds. Runs git: call it in a thread."""
    source = material.source

    def may_be_new(path: str) -> bool:
        if unsafe_path(path) or not path.isprintable() or is_secret(path):
            return False
        return source.mode(path) is None and in_scope(path, source.project)

    return Known(
        shown=shown,
        paths=frozenset(source.paths()),
        may_be_new=may_be_new,
        titles=titles,
    )


# From a scan's answer to tasks. Pure: what the project holds is handed in.


MOST = 12
"""Suggestions in one answer at most."""

KINDS = tuple(kind for kind in TaskKind if kind is not TaskKind.SCAN)
"""Kinds that a scan may propose: not another scan."""

ALIKE = 0.75
"""Share of their words that two titles about the same file have in common when they say the same (Jaccard)."""

RULE = (
    "In order: a line of the files shown proves it, before not found; then security, fix, test, refactor, implement, docs,"
    " architecture; then simple before medium before complex; then as the model listed them."
)
"""How suggestions are ranked, for people."""

_TITLE, _TEXT, _WHY, _QUOTE, _PATH, _FILES = 100, 600, 300, 240, 200, 8
_ORDER = (
    *(TaskKind.SECURITY, TaskKind.FIX, TaskKind.TEST, TaskKind.REFACTOR, TaskKind.IMPLEMENT, TaskKind.DOCS),
    TaskKind.ARCHITECTURE,
)
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
        titles: first line and files of what is open or was proposed before, with what it is called ("T7").
    """

    shown: Mapping[str, str]
    paths: Collection[str]
    may_be_new: Callable[[str], bool]
    titles: Sequence[tuple[str, frozenset[str], str]] = ()


@dataclass(frozen=True)
class ScanResult:
    """The suggestions by rank, and what was left out or changed, a sentence each."""

    suggestions: tuple[Suggestion, ...]
    notes: tuple[str, ...] = ()


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


def read_scan(text: str) -> list[RawSuggestion | str]:
    """The suggestions of an answer in the model's order; a sentence replaces one that cannot be read.

    Raises:
        UnreadableScan: the answer holds no JSON object with a list of suggestions.
    """
    entries = _entries(text)
    return [_one(number, entry) for number, entry in enumerate(entries, 1)]


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


def _one(number: int, entry: Any) -> RawSuggestion | str:
    try:
        return RawSuggestion.model_validate(entry)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"]) or "it"
        return f"Suggestion {number} of the answer could not be read: {where}."


def sift(raw: Sequence[RawSuggestion | str], known: Known) -> ScanResult:
    """Check, ground, drop what is there already, and rank.

    The ids of task and attempt are left for whoever stores them.
    """
    kept: list[tuple[int, Suggestion]] = []
    notes: list[str] = []
    titles = list(known.titles)
    for place, entry in enumerate(raw[:MOST]):
        if isinstance(entry, str):
            notes.append(entry)
            continue
        title = _folded(entry.title, _TITLE)
        if not _WORD.search(title):
            notes.append(f"Suggestion {place + 1} of the answer has no title.")
            continue
        if entry.kind not in KINDS:
            notes.append(f"“{title}” is a {entry.kind.value}, which a scan does not propose.")
            continue
        files, new = _files(entry, title, known, notes)
        twin = _twin(title, frozenset(files), titles)
        if twin:
            notes.append(f"“{title}” says what {twin} says.")
            continue
        titles.append((title, frozenset(files), f"“{title}”"))
        kept.append((place, _suggestion(entry, title, files, new, known)))
    kept.sort(key=_order_of)
    ranked = (one.model_copy(update={"rank": rank}) for rank, (_, one) in enumerate(kept, 1))
    return ScanResult(tuple(ranked), tuple(notes))


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


def _files(entry: RawSuggestion, title: str, known: Known, notes: list[str]) -> tuple[list[str], list[str]]:
    """The files that are there, and those that would be made; what is neither is left out and told."""
    files: list[str] = []
    new: list[str] = []
    for path in dict.fromkeys(entry.files):
        if path in known.paths:
            files.append(path)
        elif path not in entry.new_files:
            notes.append(f"“{title}” names {safe_line(path)[:_PATH]}, which is not there.")
    for path in dict.fromkeys(entry.new_files):
        if path in known.paths:
            files.append(path)
        elif known.may_be_new(path) and len(path) <= _PATH:
            new.append(path)
        else:
            notes.append(f"“{title}” would make {safe_line(path)[:_PATH]}, which cannot be.")
    files = list(dict.fromkeys(files))[:_FILES]
    return [*files, *new[:_FILES]], new[:_FILES]


def _twin(title: str, files: frozenset[str], known: Sequence[tuple[str, frozenset[str], str]]) -> str:
    """What already says the same about the same files; "" where nothing does.

    The same words in any order are the same unless both name files and none is shared; nearly the same words (`ALIKE`) are
    the same only about a file that both name.
    """
    words = _title_words(title)
    for other, its_files, name in known:
        theirs = _title_words(other)
        meet = bool(files & its_files)
        if words == theirs and (meet or not files or not its_files):
            return name
        if meet and len(words & theirs) >= ALIKE * len(words | theirs):
            return name
    return ""


def _title_words(title: str) -> frozenset[str]:
    return frozenset(_WORD.findall(title.partition("\n")[0].casefold()))


def _order_of(kept: tuple[int, Suggestion]) -> tuple[bool, int, int, int]:
    place, one = kept
    return (not one.grounded, _ORDER.index(one.kind), list(Complexity).index(one.complexity), place)


def _folded(text: str, most: int) -> str:
    folded = " ".join(_mended(text).split())
    return folded if len(folded) <= most else folded[: most - 1].rstrip() + "…"


def _paragraph(text: str, most: int) -> str:
    kept = "\n".join(line.rstrip() for line in _mended(text).strip().splitlines())
    return kept if len(kept) <= most else kept[: most - 1].rstrip() + "…"


def _mended(text: str) -> str:
    """Text that may become a task's: what would be invisible in it, or no character at all, is made visible."""
    return safe_text(text.encode("utf-8", "replace").decode("utf-8"))


def report_text(found: ScanResult, not_shown: Sequence[str]) -> str:
    """What the scan says in words, as Markdown: the list, what was left out, what was not seen."""
    return "\n".join(_report(found, not_shown)) + "\n"


def _report(found: ScanResult, not_shown: Sequence[str]) -> Iterator[str]:
    count = len(found.suggestions)
    loose = sum(not one.grounded for one in found.suggestions)
    yield f"# {count or 'No'} suggestion{'' if count == 1 else 's'}"
    if found.suggestions:
        unproved = f" {loose} of them: the line quoted as proof was not found." if loose else ""
        yield f"\n{RULE}{unproved}\n"
    for one in found.suggestions:
        title = one.text.partition("\n")[0]
        yield f"{one.rank}. **{title}** ({one.kind.value}, {one.complexity.value})"
        if one.files:
            yield f"   {', '.join(_path_words(one, path) for path in one.files)}"
        if one.why:
            yield f"   {' '.join(one.why.split())}"
        where = f"{one.quote_path}:{one.quote_line}" if one.grounded else "not found"
        yield f"   {where}: `{one.quote.replace('`', chr(39))}`" if one.quote else "   no line was quoted"
    for title, lines in (("Left out", found.notes), ("Not shown to the model", not_shown)):
        if lines:
            yield f"\n## {title}\n"
            yield from (f"- {line}" for line in lines)


def _path_words(one: Suggestion, path: str) -> str:
    return f"{path} (new)" if path in one.new_files else path
