"""A tree in a dictionary, blocks as text, and cases as data."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from navigator.edits.apply import Applied, apply_answer
from navigator.edits.parser import parse_answer

Content = str | bytes | None


@dataclass
class Tree:
    """A `FileSource` over a dictionary. Modes default to a plain file's; a folder has none."""

    files: Mapping[str, bytes]
    modes: Mapping[str, str] = field(default_factory=dict)

    def paths(self) -> list[str]:
        return list(self.files)

    def read(self, path: str) -> bytes | None:
        return self.files.get(path)

    def mode(self, path: str) -> str | None:
        return self.modes.get(path, "100644" if path in self.files else None)


@dataclass(frozen=True)
class Case:
    """One answer on one tree. Either `after` and `rungs`, or `codes` and words that every reader needs to be told."""

    name: str
    answer: str
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    after: Mapping[str, Content] = field(default_factory=dict)
    rungs: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    marker: int = 7
    modes: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


def read_cases() -> list[Case]:
    """Those of `cases.toml`."""
    held = tomllib.loads(Path(__file__).with_name("cases.toml").read_text(encoding="utf-8"))["case"]
    return [
        Case(
            entry["name"],
            entry["answer"],
            _contents(entry.get("files", {})),
            _contents(entry.get("after", {})) | dict.fromkeys(entry.get("gone", ())),
            **{key: tuple(entry[key]) for key in ("rungs", "codes", "says") if key in entry},
            **{key: entry[key] for key in ("marker", "modes") if key in entry},
        )
        for entry in held
    ]


def _contents(files: dict[str, Any]) -> dict[str, Any]:
    return {
        path: bytes.fromhex(held["hex"]) if isinstance(held, dict) else held for path, held in files.items()
    }


def tree(files: Mapping[str, str | bytes], modes: Mapping[str, str] | None = None) -> Tree:
    return Tree(
        {path: content.encode() if isinstance(content, str) else content for path, content in files.items()},
        modes or {},
    )


def edit(path: str, search: str, replace: str, *, length: int = 7) -> str:
    """A SEARCH block. An empty part has no line at all; `"\\n"` is one blank line."""
    above = [] if search == "" else search.removesuffix("\n").split("\n")
    below = [] if replace == "" else replace.removesuffix("\n").split("\n")
    lines = [path, "<" * length + " SEARCH", *above, "=" * length, *below, ">" * length + " REPLACE"]
    return "\n".join(lines) + "\n"


def whole(path: str, content: str, *, length: int = 7) -> str:
    lines = [] if content == "" else content.removesuffix("\n").split("\n")
    return "\n".join([path, "<" * length + " WHOLE", *lines, ">" * length + " WHOLE"]) + "\n"


def delete(path: str) -> str:
    return f"{path}\n<<<<<<< DELETE\n>>>>>>> DELETE\n"


def rename(path: str, target: str) -> str:
    return f"{path}\n<<<<<<< RENAME\n{target}\n>>>>>>> RENAME\n"


def apply(answer: str, files: Mapping[str, str | bytes], *, marker: int = 7) -> Applied:
    return apply_answer(parse_answer(answer, marker=marker), tree(files))


def refuses(
    answer: str, files: Mapping[str, str | bytes], *codes: str, says: tuple[str, ...] = ()
) -> Applied:
    """Nothing of the answer is done, for these reasons."""
    return check(Case("", answer, files, codes=codes, says=says))


def check(case: Case) -> Applied:
    """Apply a case and compare everything it states."""
    applied = apply_answer(parse_answer(case.answer, marker=case.marker), tree(case.files, case.modes))
    codes = tuple(problem.code.value for problem in applied.problems)
    assert codes == case.codes, [str(problem) for problem in applied.problems]
    if case.codes:
        assert applied.changes == {}
        assert applied.edits == ()
        text = "\n".join(map(str, applied.problems))
        for words in case.says:
            assert words in text
        return applied
    expected = {
        path: content.encode() if isinstance(content, str) else content
        for path, content in case.after.items()
    }
    assert {path: change.content for path, change in applied.changes.items()} == expected
    assert tuple(e.rung.value for e in applied.edits) == case.rungs
    return applied
