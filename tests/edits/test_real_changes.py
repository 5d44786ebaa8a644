"""At least a thousand file changes of real histories, written as a model would, give the exact bytes again.

`NAVIGATOR_REAL_HISTORY` names the repository; this project's own history is read otherwise. Where that holds fewer, seeded
changes of lines in the files of installed packages make up the number.
"""

from __future__ import annotations

import os
import sysconfig
import warnings
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import pytest

from navigator.checks.syntax import syntax_check
from navigator.edits.apply import apply_answer
from navigator.edits.overlay import MAX_RESULT
from navigator.edits.parser import parse_answer
from navigator.model.states import EditCode
from tests.edits.history import (
    Change,
    Commit,
    blocks_of,
    decoded,
    generated,
    lines_of,
    read_history,
)
from tests.edits.support import Tree

LEAST = 1_000
_ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


def _endings(data: bytes) -> tuple[bool, bool, bool]:
    """Which endings a text has: CRLF, LF alone, none at its end."""
    return b"\r\n" in data, b"\n" in data.replace(b"\r\n", b""), bool(data) and not data.endswith(b"\n")


def _blank_tail(lines: list[str]) -> int:
    return next((n for n, line in enumerate(reversed(lines)) if line.strip()), len(lines))


def _inexpressible(change: Change) -> str:
    """Why edit blocks cannot say this, from the bytes alone; "" where they have to."""
    sides = [data for data in (change.before, change.after) if data is not None]
    if change.unusual:
        return change.unusual
    if change.after is None and change.before is None:
        return "symlink or submodule"
    if any(b"\0" in data or data.startswith((b"\xff\xfe", b"\xfe\xff")) for data in sides):
        return "binary"
    if any(len(data) > MAX_RESULT for data in sides):
        return "larger than the cap"
    if change.after is None:
        return ""
    if not change.before:
        text = change.after
        if text and (not text.endswith(b"\n") or b"\r\n" in text):
            return "a new or empty file with other endings than LF, or without the last"
        if _blank_tail(lines_of(text)):
            return "a new or empty file that comes to end in blank lines"
        try:
            text.decode()
        except UnicodeDecodeError:
            return "a new or empty file that is not UTF-8"
        return ""
    if change.before != change.after and lines_of(change.before) == lines_of(change.after):
        return "line endings or encoding alone"
    if change.before and change.after and _endings(change.before) != _endings(change.after):
        return "line endings change, too"
    return ""


def _fair(code: EditCode, change: Change) -> bool:
    """Whether a refusal stands on something that really is in the change."""
    after = change.after or b""
    text = decoded(after)
    if code is EditCode.SYNTAX:
        return syntax_check(change.path, after) is not None
    if code is EditCode.OMISSION:
        return (
            "..." in text
            or "…" in text
            or any(w in text.lower() for w in ("rest of", "existing", "unchanged"))
        )
    if code is EditCode.MARKER:
        whole = text + decoded(change.before or b"")
        return any(mark * 7 in whole for mark in "<=>|") or "```" in text
    if code is EditCode.ENCODING:
        return change.before is not None and decoded(change.before).encode() != change.before
    return False


def _run(changes: Iterable[tuple[str, tuple[Change, ...]]]) -> tuple[Counter[str], list[str]]:
    """Apply each group as one answer; what a gate refuses is told and the rest applied without it."""
    seen: Counter[str] = Counter()
    wrong: list[str] = []
    for name, group in changes:
        seen["changes"] += len(group)
        left: list[Change] = []
        for change in group:
            reason = _inexpressible(change)
            if reason:
                seen[f"inexpressible: {reason}"] += 1
            else:
                left.append(change)
        while left:
            left = _answer(name, left, seen, wrong)
    return seen, wrong


def _answer(name: str, group: list[Change], seen: Counter[str], wrong: list[str]) -> list[Change]:
    """One answer. Returns what is left to try once the refused files are out; nothing when it applied."""
    made = [(change, *blocks_of(change)) for change in group]
    text = "The change, file by file.\n\n"
    for _, blocks, _ in made:
        text += "\n".join(blocks) + "\n"
    files = {c.old_path: c.before for c in group if c.before is not None}
    marker = 9 if all(length == 9 for _, _, length in made) else 7
    applied = apply_answer(parse_answer(text, marker=marker), Tree(files))
    if applied.problems:
        codes = {problem.path: problem.code for problem in applied.problems}
        out = [c for c in group if c.path in codes or c.old_path in codes]
        for change in out:
            code = codes.get(change.path) or codes[change.old_path]
            if _fair(code, change):
                seen[f"refused by a gate: {code.value}"] += 1
            else:
                wrong.append(f"{name} {change.path}: {applied.problems[0]}")
        if not out:
            wrong.append(f"{name}: {applied.problems[0]}")
            return []
        return [c for c in group if c not in out]
    for change in group:
        got = applied.changes.get(change.path)
        if got is None or got.content != change.after:
            wrong.append(f"{name} {change.path}: other bytes than the commit's")
            continue
        if change.path != change.old_path and applied.changes[change.old_path].content is not None:
            wrong.append(f"{name} {change.old_path}: still there after the rename")
            continue
        seen["exact"] += 1
        seen[f"exact, {_kind(change)}"] += 1
    return []


def _kind(change: Change) -> str:
    if change.before is None:
        return "new"
    if change.after is None:
        return "deleted"
    return "renamed" if change.path != change.old_path else "edited"


def _history() -> list[tuple[str, tuple[Change, ...]]]:
    repo = Path(os.environ.get("NAVIGATOR_REAL_HISTORY", _ROOT))
    if not (repo / ".git").exists() and not (repo / "HEAD").exists():
        return []
    commits: Iterable[Commit] = read_history(repo)
    return [(commit.name, commit.changes) for commit in commits]


def _installed() -> list[Path]:
    """Source files of the packages that the tests run with, of a size that people edit."""
    folder = Path(sysconfig.get_paths()["purelib"])
    names = ("textual", "httpx", "rich", "pydantic", "click", "git", "pytest", "_pytest", "h11", "jinja2")
    found = (path for name in names for path in sorted((folder / name).rglob("*.py")))
    return [path for path in found if 400 < path.stat().st_size < 60_000]


def test_a_thousand_real_changes_give_the_exact_blob(capsys: pytest.CaptureFixture[str]) -> None:
    seen, wrong = _run(_history())
    more = Counter[str]()
    if seen["exact"] < LEAST:
        missing = LEAST - seen["exact"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            batch = [
                (f"seed {n}", (change,))
                for n, change in enumerate(islice(generated(_installed(), 7), missing + 50))
            ]
            more, further = _run(batch)
        wrong += further
    with capsys.disabled():
        print()
        for title, counts in (("history", seen), ("seeded", more)):
            for what, count in sorted(counts.items()):
                print(f"  {title}: {what}: {count}")
    assert not wrong, "\n".join(wrong[:20])
    assert seen["exact"] + more["exact"] >= LEAST
    # What the gates refuse stays the exception; otherwise they would stand in the way of ordinary work.
    refused = sum(n for counts in (seen, more) for what, n in counts.items() if what.startswith("refused"))
    assert refused <= 0.03 * (seen["changes"] + more["changes"])
