"""Files that Navigator writes, changes and removes: identified by a checksum in their first line, shown before they change.

A file whose checksum does not fit was changed since; one without a checksum is not Navigator's. Neither is touched unasked.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from navigator.model import patterns
from navigator.model.errors import Conflict
from navigator.swap.machine import HERE, Machine

State = Literal["absent", "ours", "changed", "foreign"]
"""ours: the checksum fits. changed: it does not fit. foreign: there is none."""

WHY_LEFT_ALONE: dict[State, str] = {
    "changed": "was changed since Navigator wrote it",
    "foreign": "was not written by Navigator",
}
"""Why a file is left as it is."""

Action = Literal["create", "change", "same"]

_SEAL = patterns.compile(
    r"# Written by `navigator (?:swap install|setup)`\. Checksum of what follows: sha256 ([0-9a-f]{64})\n"
)


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One file as it should be.

    Attributes:
        path: its path.
        content: the whole text, with its checksum line if it has one.
        mode: its permission bits.
        secret: whether its content must not be shown.
        on: the machine that it is on.
    """

    path: Path
    content: str
    mode: int = 0o644
    secret: bool = False
    on: Machine = HERE


def sealed(body: str, by: str = "navigator swap install") -> str:
    """`body` under a line with its checksum and the command that wrote it."""
    digest = hashlib.sha256(body.encode()).hexdigest()
    return f"# Written by `{by}`. Checksum of what follows: sha256 {digest}\n{body}"


def state_of(path: Path, on: Machine = HERE) -> State:
    """The state of the file at `path`, by its checksum line."""
    text = read_text(path, on)
    if text is None:
        return "absent"
    match = _SEAL.match(text)
    if match is None:
        return "foreign"
    whole = hashlib.sha256(text[match.end() :].encode()).hexdigest() == match.group(1)
    return "ours" if whole else "changed"


def read_text(path: Path, on: Machine = HERE) -> str | None:
    """The file's text; None where there is none.

    Raises:
        MissingPart: it is there and cannot be read.
    """
    found = on.read(path)
    return found[0].decode(errors="replace") if found is not None else None


def action_for(planned: PlannedFile) -> Action:
    """What writing the file would do."""
    there = planned.on.read(planned.path)
    if there is None:
        return "create"
    return "same" if there == (planned.content.encode(), planned.mode) else "change"


def shown_diff(planned: PlannedFile) -> str:
    """The change as a unified diff; of a secret file only that it changes. "" where nothing does."""
    if action_for(planned) == "same":
        return ""
    there = read_text(planned.path, planned.on)
    name = f"{planned.on.host}:{planned.path}" if planned.on.host else str(planned.path)
    head = f"--- {name if there is not None else '/dev/null'}\n+++ {name} (mode {planned.mode:04o})\n"
    if planned.secret:
        return head + "(keys, not shown)\n"
    lines = difflib.unified_diff(
        (there or "").splitlines(keepends=True), planned.content.splitlines(keepends=True), n=3
    )
    return head + "".join(list(lines)[2:])


def refuse_foreign(files: list[PlannedFile]) -> None:
    """Refuse to change a file that was changed, or not written by Navigator.

    Raises:
        Conflict: naming them.
    """
    for planned in files:
        # A plain key file has no checksum line; an existing one is kept, so only its mode can change.
        if not _SEAL.match(planned.content) or action_for(planned) != "change":
            continue
        if words := WHY_LEFT_ALONE.get(state_of(planned.path, planned.on)):
            raise Conflict(
                f"{planned.path} {words}.",
                hint="Move your change into a drop-in (`systemctl edit`), or overwrite the file with --overwrite.",
            )


def write(planned: PlannedFile) -> None:
    """Write the file atomically, with its mode from the start."""
    folder_mode = 0o700 if planned.secret else 0o755
    planned.on.write(planned.path, planned.content.encode(), planned.mode, folder_mode)


def remove_empty(folder: Path) -> None:
    """Remove a folder if it is empty."""
    with contextlib.suppress(OSError):
        folder.rmdir()
