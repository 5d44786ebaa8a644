"""What the generator says where no edit is asked for: how the files shown hang together, and what its rules would find."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from navigator.rehearsal.reading import WritingPrompt
from navigator.rehearsal.writer.rules import RULES
from navigator.rehearsal.writer.work import LARGEST_FILE

_MOST_LINES = 20
_MOST_NAMES = 12


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
