"""What the generator says where no edit is asked for: a report on the files shown, and the suggestions of a scan."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator
from typing import Any

import libcst as cst

from navigator.exam.chance import fraction
from navigator.model import patterns
from navigator.model.states import Complexity, TaskKind
from tests.scripted.reading import WritingPrompt
from tests.scripted.samples.texts import WORDINGS, Wording
from tests.scripted.writer.rules import RULES
from tests.scripted.writer.work import LARGEST_FILE

_MOST_LINES = 20
_MOST_NAMES = 12

UNFAITHFUL_RATE = 0.12
"""Share of suggestions whose quoted line differs from the line in the file, as happens with models."""

MOST_A_FILE = 3
"""Suggestions about one file: the list is to be about the project."""

_WHY = {
    TaskKind.FIX: "It fails in a case that will happen.",
    TaskKind.SECURITY: "Somebody outside decides what happens here.",
    TaskKind.REFACTOR: "The next reader has to know why it is written so.",
    TaskKind.TEST: "Nothing notices when it breaks.",
    TaskKind.DOCS: "Whoever follows it gets lost.",
}


def write_report(prompt: WritingPrompt) -> str:
    """A report in Markdown; "OK." where no file is shown, so that a probe gets a short answer."""
    if not prompt.files:
        return "OK."
    parts = [
        f"# {prompt.task.partition(chr(10))[0]}",
        "",
        f"Read {len(prompt.files)} of {_listed(prompt)} files.",
        "",
    ]
    for path, text in prompt.files.items():
        if text.strip():
            parts += _about(path, text)
    found = _findings(prompt)
    if found:
        parts += ["## Worth a task each", "", *found[:_MOST_LINES], ""]
    unseen = [path for path in prompt.tree if path not in prompt.files]
    if unseen:
        parts += ["## Not seen", "", *(f"- `{path}`" for path in unseen[:_MOST_LINES]), ""]
    return "\n".join(parts)


def _listed(prompt: WritingPrompt) -> int:
    return max(len(prompt.tree), len(prompt.files))


def _about(path: str, text: str) -> Iterator[str]:
    """A section on one file: what it needs, what it gives, with line numbers."""
    yield from (f"## `{path}`", "")
    tree = _parsed(path, text)
    if tree is None:
        heading = next((line.strip("# ") for line in text.split("\n") if line.startswith("#")), "")
        yield from (f"{text.count(chr(10))} lines{f': {heading}' if heading else ''}.", "")
        return
    needs = sorted({name for node in tree.body for name in _imported(node)})
    if needs:
        yield f"- needs {', '.join(f'`{name}`' for name in needs[:_MOST_NAMES])}"
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    gives = [node for node in tree.body if isinstance(node, kinds) and not node.name.startswith("_")]
    for node in gives[:_MOST_NAMES]:
        about = (ast.get_docstring(node) or "").partition("\n")[0]
        yield f"- **{node.name}** (line {node.lineno}){f': {about}' if about else ''}"
    yield ""


def _parsed(path: str, text: str) -> ast.Module | None:
    if not path.endswith(".py") or len(text) > LARGEST_FILE:
        return None
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _imported(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return ["." * node.level + (node.module or "")]
    return []


def _findings(prompt: WritingPrompt) -> list[str]:
    found: list[str] = []
    for path, text in prompt.files.items():
        if len(text) > LARGEST_FILE:
            found.append(f"- `{path}` is longer than {LARGEST_FILE:,} characters and was not read.")
            continue
        for rule in RULES:
            if not path.endswith(rule.suffixes) or not rule.may_apply(text):
                continue
            try:
                outcome = rule.apply(text.replace("\r\n", "\n"), frozenset(), frozenset())
            except (cst.ParserSyntaxError, cst.CSTValidationError, ValueError, RecursionError):
                continue
            if outcome.changed:
                found.append(f"- `{path}`: {outcome.seen} for {rule.name}.")
    return found


def write_suggestions(prompt: WritingPrompt, seed: int) -> dict[str, Any]:
    """The answer to a scan before it is cut to its schema, in the order of the files."""
    return {"suggestions": list(_suggestions(prompt, seed))}


def _suggestions(prompt: WritingPrompt, seed: int) -> Iterator[dict[str, Any]]:
    for path, text in prompt.files.items():
        if len(text) > LARGEST_FILE or path.startswith("tests/"):
            continue
        lines = text.split("\n")
        places = ((wording, _places(wording, path, lines)) for wording in WORDINGS[:-1])
        found = [(wording, numbers) for wording, numbers in places if numbers]
        yield from (_one(wording, path, lines, numbers, seed) for wording, numbers in found[:MOST_A_FILE])


def _places(wording: Wording, path: str, lines: list[str]) -> list[int]:
    """The numbers of the lines that the wording is about."""
    if not path.endswith(wording.suffix):
        return []
    return [number for number, line in enumerate(lines, 1) if patterns.search(wording.pattern, line)]


def _one(wording: Wording, path: str, lines: list[str], found: list[int], seed: int) -> dict[str, Any]:
    words = wording.texts[0].format(file=posixpath.basename(path), path=path)
    title, _, rest = words.partition("\n")
    places = "1 place" if len(found) == 1 else f"{len(found)} places"
    quote = lines[found[0] - 1]
    if fraction("unfaithful", seed, path, title) < UNFAITHFUL_RATE:
        quote = f"{quote.strip()}  # as in the other modules"
    return {
        "title": title,
        "text": " ".join([rest.strip(), f"{places} in {path}."]).strip(),
        "kind": wording.kind.value,
        "complexity": (Complexity.SIMPLE, Complexity.MEDIUM, Complexity.COMPLEX)[
            min(2, (len(found) - 1) // 2)
        ].value,
        "files": [path],
        "new_files": _new_files(wording, path),
        "why": _WHY.get(wording.kind, "It is asked for."),
        "evidence": {"path": path, "line": found[0], "quote": quote},
    }


def _new_files(wording: Wording, path: str) -> list[str]:
    stem = posixpath.basename(path).removesuffix(".py")
    return [f"tests/test_{stem}_interface.py"] if wording.kind is TaskKind.TEST else []
