"""The diff between two sets of files, in the shape that git's takes."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher

from navigator.model.diff import DiffLine, FileDiff, Hunk


def decoded(data: bytes) -> str:
    """Text as it is shown: UTF-8, else Latin-1, with LF."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n")


def difference(before: Mapping[str, bytes], now: Mapping[str, bytes], context: int = 3) -> list[FileDiff]:
    """The diff of two sets of files in the shape git's takes, labels counted through."""
    files: list[FileDiff] = []
    count = 0
    for path in sorted({*before, *now}):
        if before.get(path) == now.get(path):
            continue
        old = decoded(before.get(path, b"")).splitlines()
        new = decoded(now.get(path, b"")).splitlines()
        hunks: list[Hunk] = []
        for group in SequenceMatcher(a=old, b=new, autojunk=False).get_grouped_opcodes(context):
            count += 1
            lines: list[DiffLine] = []
            for tag, i1, i2, j1, j2 in group:
                if tag == "equal":
                    lines += [DiffLine(" ", old[i], i + 1, j1 + i - i1 + 1) for i in range(i1, i2)]
                    continue
                lines += [DiffLine("-", old[i], i + 1, None) for i in range(i1, i2)]
                lines += [DiffLine("+", new[j], None, j + 1) for j in range(j1, j2)]
            first, last = group[0], group[-1]
            hunks.append(
                Hunk(
                    f"H{count}",
                    first[1] + 1,
                    last[2] - first[1],
                    first[3] + 1,
                    last[4] - first[3],
                    "",
                    tuple(lines),
                )
            )
        status = "A" if path not in before else "D" if path not in now else "M"
        files.append(FileDiff(status, path, path, hunks=tuple(hunks)))
    return files
