"""The scripted writer: adds one line to a file that it is shown, and spoils a set share of its first answers.

A pure function of its prompt: what it did before it reads, as a model does, from the conversation.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from navigator.rehearsal.engine import Completion
from navigator.rehearsal.player import ASKED, is_again, next_step
from navigator.rehearsal.tool_calls import tools_in
from tests.scripted.instances import fitted, instance_of
from tests.scripted.reading import Messages, WritingPrompt, chance, read_writing

FLAW = "FLAW"
"""A line with this word is a mistake, and the scripted reviewer knows it."""

DOUBT = 1.5
"""How much lower the simulated probabilities of a spoilt answer are, where they tell."""

COOL = 0.3
"""Up to this temperature every answer to a prompt is the same; each one above it draws its faults anew."""

_COMMENTS = {".py": "# ", ".sh": "# ", ".toml": "# ", ".cfg": "# ", ".md": "", ".txt": "", "": ""}


class Writer:
    """Answers generation, repair, revision, report and scan prompts, and those of a coding agent.

    Args:
        fault_rate: share of tasks whose first answer is spoilt, 0 to 1: every other of them with a block that fits
            nowhere, the others with a line that is a mistake.
        telling: the probabilities of a spoilt answer are lower.
    """

    def __init__(self, *, fault_rate: float = 0.35, telling: bool = False) -> None:
        self._doubt = DOUBT * telling
        self._rate = fault_rate

    def answer(
        self, messages: Messages, schema: dict[str, Any] | None = None, temperature: float = 0.0
    ) -> Completion:
        """The answer to a conversation."""
        prompt = read_writing(messages)
        if schema is not None:
            wanted = "suggestions" in schema.get("properties", {})
            value = fitted(_suggestions(prompt), schema) if wanted else instance_of(schema)
            return Completion(json.dumps(value, ensure_ascii=False))
        if not prompt.wants_edits:
            shown = "".join(f"- `{path}`\n" for path in prompt.files)
            return Completion(f"# {prompt.task.partition(chr(10))[0]}\n\n{shown}" if shown else "OK.")
        path = _chosen(prompt)
        fault = self._fault(prompt, temperature) if prompt.turn == "first" else ""
        line = _line(prompt, path, temperature, f"{FLAW} " if fault == "flaw" else "")
        old = prompt.files.get(path, "")
        if line in old.splitlines():
            return Completion("NO_CHANGE: the line is there.\n")
        block = _block(path, old, line, prompt, fits=fault != "block")
        return Completion(f"{path} says it now.\n\n{block}\n", doubt=self._doubt * bool(fault))

    def by_agent(self, messages: Messages) -> Completion:
        """The next call of a coding agent's tools, which makes one new file; at last what was done."""
        system = "\n".join(one["content"] for one in messages if one["role"] == "system")
        users = [one["content"] for one in messages if one["role"] == "user"]
        asked = [text for text in users if ASKED in text]
        if ASKED not in users[-1]:
            return Completion("OK.")
        again = is_again(asked[0], len(asked))
        flaw = "" if again or chance("fault", asked[0]) >= self._rate else f"{FLAW} "
        name = f"notes-{_digest(asked[0])}.md"
        edits = [(name, "", f"{flaw}{_digest(*asked)}\n")]
        return Completion(
            next_step(tools_in(system), messages, edits, f"{name} says it now.", again=again),
            doubt=self._doubt * bool(flaw),
        )

    def _fault(self, prompt: WritingPrompt, temperature: float) -> str:
        salt = (prompt.task, prompt.note, "", max(temperature, COOL))
        if chance("fault", *salt) >= self._rate:
            return ""
        return "flaw" if chance("kind", *salt) < 0.5 else "block"


def _chosen(prompt: WritingPrompt) -> str:
    """The file that gets the line: the first that is named, or shown; a new one where none can hold any line."""
    fit = [path for path in (*prompt.named, *prompt.files) if posixpath.splitext(path)[1] in _COMMENTS]
    return next((path for path in fit if path in prompt.files), f"notes-{_digest(prompt.task)}.md")


def _line(prompt: WritingPrompt, path: str, temperature: float, word: str) -> str:
    other = f"{temperature:g}" if temperature > COOL else ""
    digest = _digest(prompt.task, prompt.note, "", other)
    return f"{_COMMENTS[posixpath.splitext(path)[1]]}{word}{digest}"


def _digest(*words: str) -> str:
    return hashlib.blake2b("\0".join(words).encode(), digest_size=5).hexdigest()


def _block(path: str, old: str, line: str, prompt: WritingPrompt, *, fits: bool) -> str:
    """An edit that puts the line at the file's end."""
    opener, divider, closer = ("<" * prompt.marker, "=" * prompt.marker, ">" * prompt.marker)
    if path in prompt.whole or not old.strip():
        return f"{path}\n{opener} WHOLE\n{old}{line}\n{closer} WHOLE"
    lines = old.splitlines()
    last = next(n for n in range(1, len(lines) + 1) if _once(lines, lines[-n:]))
    there = "\n".join(lines[-last:] if fits else [*lines[-last:], "this line is not there"])
    return f"{path}\n{opener} SEARCH\n{there}\n{divider}\n{there}\n{line}\n{closer} REPLACE"


def _once(lines: Sequence[str], part: Sequence[str]) -> bool:
    starts = range(len(lines) - len(part) + 1)
    return any(part) and sum(lines[start : start + len(part)] == part for start in starts) == 1


def _suggestions(prompt: WritingPrompt) -> Mapping[str, Any]:
    """A task for every line with words of the files that are shown."""
    found = [
        {
            "title": f"{_digest(line)} {line.strip()}",
            "text": f"Say in {path} what line {number} is for.",
            "kind": "docs",
            "complexity": "simple",
            "files": [path],
            "new_files": [],
            "why": "Nothing is said there.",
            "evidence": {"path": path, "line": number, "quote": line},
        }
        for path, text in prompt.files.items()
        for number, line in enumerate(text.splitlines(), 1)
        if len(line) > 12
    ]
    return {"suggestions": found}
