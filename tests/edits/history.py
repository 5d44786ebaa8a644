"""File changes of real git histories, written down as edit blocks the way a model would write them.

A hunk becomes a SEARCH/REPLACE block whose SEARCH part is grown line by line, upwards and downwards in turn, until it stands
exactly once in the file as the blocks before it left it.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from navigator.edits.parser import marker_length
from tests.edits.support import delete, rename

_PLAIN = frozenset({"100644", "100755"})
_SIDE = "000000"


@dataclass(frozen=True)
class Change:
    """One file in one commit: bytes before and after (None where there is no file), and its modes."""

    path: str
    old_path: str
    before: bytes | None
    after: bytes | None
    modes: tuple[str, str]

    @property
    def unusual(self) -> str:
        """Why this is no change of a file's content; "" for an ordinary one."""
        if any(mode not in _PLAIN for mode in self.modes if mode != _SIDE):
            return "symlink or submodule"
        if self.before == self.after and self.path == self.old_path:
            return "mode alone"
        return ""


@dataclass(frozen=True)
class Commit:
    """The changes of one commit."""

    name: str
    changes: tuple[Change, ...]


def _git(repo: Path, *args: str, feed: bytes | None = None) -> bytes:
    return subprocess.run(["git", *args], cwd=repo, input=feed, capture_output=True, check=True).stdout


def _blobs(repo: Path, names: Sequence[str]) -> dict[str, bytes]:
    out = _git(repo, "cat-file", "--batch", feed="".join(f"{name}\n" for name in names).encode())
    held: dict[str, bytes] = {}
    at = 0
    for name in names:
        end = out.index(b"\n", at)
        words = out[at:end].split()
        if words[1:2] != [b"blob"]:
            at = end + 1 + (int(words[2]) + 1 if len(words) == 3 else 0)
            continue
        size = int(words[2])
        held[name] = out[end + 1 : end + 1 + size]
        at = end + 1 + size + 1
    return held


def read_history(repo: Path) -> Iterator[Commit]:
    """Every commit that is no merge, newest first, with renames as git finds them."""
    for name in _git(repo, "rev-list", "--no-merges", "HEAD").decode().split():
        fields = _git(repo, "diff-tree", "--root", "--no-commit-id", "-r", "-z", "-M", name).split(b"\0")
        rows: list[tuple[list[str], str, str]] = []
        at = 0
        while at < len(fields) - 1:
            meta = fields[at].decode().lstrip(":").split()
            renamed = meta[4].startswith("R")
            old, new = fields[at + 1], fields[at + 2] if renamed else fields[at + 1]
            rows.append(
                (meta, old.decode("utf-8", "surrogateescape"), new.decode("utf-8", "surrogateescape"))
            )
            at += 3 if renamed else 2
        wanted = {
            sha
            for meta, _, _ in rows
            for mode, sha in ((meta[0], meta[2]), (meta[1], meta[3]))
            if mode in _PLAIN
        }
        held = _blobs(repo, sorted(wanted))
        yield Commit(
            name[:12],
            tuple(
                Change(new, old, held.get(meta[2]), held.get(meta[3]), (meta[0], meta[1]))
                for meta, old, new in rows
            ),
        )


def decoded(data: bytes) -> str:
    """As the edits read a file: UTF-8, else Latin-1."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def lines_of(data: bytes) -> list[str]:
    """Lines without their endings."""
    text = decoded(data.removeprefix(b"\xef\xbb\xbf"))
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _places(lines: Sequence[str], wanted: Sequence[str]) -> int:
    """How often `wanted` stands among the lines, overlaps included."""
    hay, needle = "\n" + "\n".join(lines) + "\n", "\n" + "\n".join(wanted) + "\n"
    count, at = 0, hay.find(needle)
    while at >= 0:
        count, at = count + 1, hay.find(needle, at + 1)
    return count


def _hunks(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]]:
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    middle = SequenceMatcher(
        None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False
    ).get_opcodes()
    return [(i + head, i2 + head, j + head, j2 + head) for tag, i, i2, j, j2 in middle if tag != "equal"]


def _block(path: str, search: Sequence[str], replace: Sequence[str], length: int) -> str:
    rows = [path, "<" * length + " SEARCH", *search, "=" * length, *replace, ">" * length + " REPLACE"]
    return "\n".join(rows) + "\n"


def _standing(current: Sequence[str], low: int, search: Sequence[str], replace: Sequence[str]) -> bool:
    """Whether lines are added round SEARCH that stand there already: then SEARCH has to hold those, too."""
    for at in range(len(replace) - len(search) + 1):
        if list(replace[at : at + len(search)]) == list(search):
            start, stop = low - at, low - at + len(replace)
            if start >= 0 and list(current[start:stop]) == list(replace):
                return True
    return False


def edit_blocks(path: str, before: bytes, after: bytes, length: int) -> list[str]:
    """The blocks that turn one text into the other, from the top down."""
    old, new = lines_of(before), lines_of(after)
    if not any(line.strip() for line in old):
        return [_block(path, (), new, length)]
    blocks: list[str] = []
    for i1, i2, j1, j2 in _hunks(old, new):
        current = [*new[:j1], *old[i1:]]
        low, high, down = j1, j1 + i2 - i1, False
        while True:
            search = current[low:high]
            replace = [*current[low:j1], *new[j1:j2], *current[j1 + i2 - i1 : high]]
            if (
                any(line.strip() for line in search)
                and _places(current, search) == 1
                and not _standing(current, low, search, replace)
            ):
                break
            if low == 0 and high == len(current):
                break
            down = not down
            if (down and high < len(current)) or low == 0:
                high += 1
            else:
                low -= 1
        blocks.append(_block(path, search, replace, length))
    return blocks


def blocks_of(change: Change) -> tuple[list[str], int]:
    """A change as blocks, and the length of their markers."""
    texts = [decoded(data) for data in (change.before, change.after) if data is not None]
    length = marker_length(texts)
    if change.after is None:
        return [delete(change.path)], length
    if change.before is None:
        return [_block(change.path, (), lines_of(change.after), length)], length
    blocks = [rename(change.old_path, change.path)] if change.path != change.old_path else []
    if change.before != change.after:
        blocks += edit_blocks(change.path, change.before, change.after, length)
    return blocks, length


def generated(files: Sequence[Path], seed: int) -> Iterator[Change]:
    """Changes without end: a few seeded edits of lines in real files, none that leaves a file's Python broken."""
    rng = random.Random(seed)
    while files:
        place = rng.choice(files)
        before = place.read_bytes()
        lines = decoded(before).split("\n")
        for _ in range(rng.randint(1, 4)):
            _edit_lines(lines, rng)
        after = "\n".join(lines).encode()
        if before == after or before.endswith(b"\n") != after.endswith(b"\n"):
            continue
        if place.suffix == ".py" and not _compiles(after):
            continue
        yield Change(place.name, place.name, before, after, ("100644", "100644"))


def _edit_lines(lines: list[str], rng: random.Random) -> None:
    at = rng.randrange(len(lines) - 1)
    kind = rng.choice(("delete", "double", "swap", "word", "insert", "blank"))
    if kind == "delete":
        del lines[at : at + rng.randint(1, 3)]
        if len(lines) < 2:
            lines[:] = ["x = 1", ""]
    elif kind == "double":
        lines[at:at] = lines[at : at + rng.randint(1, 4)]
    elif kind == "swap":
        lines[at], lines[at - 1] = lines[at - 1], lines[at]
    elif kind == "word":
        lines[at] = lines[at].replace("e", "é", 1) if "#" in lines[at] else lines[at].replace("self", "this")
    elif kind == "insert":
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        lines.insert(at, f"{indent}# note {rng.randrange(3)}")
    else:
        lines.insert(at, "")


def _compiles(source: bytes) -> bool:
    import ast

    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True
