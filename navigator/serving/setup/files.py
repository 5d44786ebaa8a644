"""Files that are ours to write, change and remove: recognised by a seal in their first line, shown before they change.

The seal is the checksum of what follows it. A file with a broken seal was changed by somebody, one without a seal was
never ours; neither is touched unasked.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from navigator.config.paths import write_whole
from navigator.domain.errors import Conflict, MissingPart

State = Literal["absent", "ours", "changed", "foreign"]
"""ours: with a whole seal. changed: with a seal that no longer fits. foreign: with none."""

Action = Literal["create", "change", "same"]

_SEAL = re.compile(
    r"(?:#|//) Written by `navigator swap install`\. Checksum of what follows: sha256 ([0-9a-f]{64})\n"
)


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One file as it shall be.

    Attributes:
        path: where.
        content: whole, with its seal where it has one.
        mode: its permission bits.
        secret: whether its content must not be shown.
        owner: user and group ids; None for those of this process.
    """

    path: Path
    content: str
    mode: int = 0o644
    secret: bool = False
    owner: tuple[int, int] | None = None


def sealed(body: str, comment: str = "#") -> str:
    """`body` under a line with its checksum."""
    digest = hashlib.sha256(body.encode()).hexdigest()
    return f"{comment} Written by `navigator swap install`. Checksum of what follows: sha256 {digest}\n{body}"


def state_of(path: Path) -> State:
    """Whether the file at `path` is ours."""
    text = read_text(path)
    if text is None:
        return "absent"
    match = _SEAL.match(text)
    if match is None:
        return "foreign"
    whole = hashlib.sha256(text[match.end() :].encode()).hexdigest() == match.group(1)
    return "ours" if whole else "changed"


def read_text(path: Path) -> str | None:
    """The file's text; None where there is none.

    Raises:
        MissingPart: it is there and cannot be read.
    """
    try:
        return path.read_bytes().decode(errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MissingPart(
            f"{path} cannot be read: {error.strerror}.", hint="Look at its owner and mode; as root: sudo."
        ) from error


def action_for(planned: PlannedFile) -> Action:
    """What writing the file would do."""
    there = read_text(planned.path)
    if there is None:
        return "create"
    same_mode = planned.path.stat().st_mode & 0o777 == planned.mode
    return "same" if there == planned.content and same_mode else "change"


def shown_diff(planned: PlannedFile) -> str:
    """The change as a unified diff; of a secret file only that it changes. "" where nothing does."""
    if action_for(planned) == "same":
        return ""
    there = read_text(planned.path)
    head = f"--- {planned.path if there is not None else '/dev/null'}\n+++ {planned.path} (mode {planned.mode:04o})\n"
    if planned.secret:
        return head + "(keys, not shown)\n"
    lines = difflib.unified_diff(
        (there or "").splitlines(keepends=True), planned.content.splitlines(keepends=True), n=3
    )
    return head + "".join(list(lines)[2:])


def refuse_others(files: list[PlannedFile]) -> None:
    """Stop where a file that would change is not, or no longer, as we wrote it.

    Raises:
        Conflict: naming them.
    """
    for planned in files:
        # A bare key has no seal; one that is there is kept, so only its mode can change.
        if not _SEAL.match(planned.content) or action_for(planned) != "change":
            continue
        state = state_of(planned.path)
        if state in ("changed", "foreign"):
            words = (
                "was changed since Navigator wrote it"
                if state == "changed"
                else "was not written by Navigator"
            )
            raise Conflict(
                f"{planned.path} {words}.",
                hint="Keep your change as a drop-in (`systemctl edit`), or write over it with --overwrite.",
            )


def write(planned: PlannedFile) -> None:
    """Put the file in its place, whole or not at all, with its mode and owner from the start."""
    folder = planned.path.parent
    if not folder.is_dir():
        folder.mkdir(parents=True, mode=0o700 if planned.secret else 0o755)
        if planned.owner is not None and planned.secret:
            os.chown(folder, *planned.owner)
    write_whole(planned.path, planned.content.encode(), planned.mode, planned.owner)


def remove_empty(folder: Path) -> None:
    """Remove a folder that nothing is left in; one that holds something stays."""
    with contextlib.suppress(OSError):
        folder.rmdir()
