"""Looking closer in Review, as functions of the diff view: search, what is copied, which file the editor opens."""

from __future__ import annotations

from navigator.model.diff import FileDiff
from navigator.tui.diff.model import Comment, FindingNote, Side, find_file
from navigator.tui.diff.view import DiffView


def copy_text(diff: DiffView) -> str:
    """What is copied: the finding, comment or hunk under the cursor, else the file's path."""
    key = diff.current_key
    for annotation in diff.annotations if key else ():
        if annotation.key != key:
            continue
        if isinstance(annotation, Comment):
            return annotation.text
        return _finding_text(annotation)
    place = diff.location
    if not place.hunk:
        return place.path
    for file in diff.files:
        for hunk in file.hunks:
            if file.path == place.path and hunk.label == place.hunk:
                head = f"@@ -{hunk.old_start},{hunk.old_count} +{hunk.new_start},{hunk.new_count} @@ {hunk.section}"
                body = (f"{line.kind}{line.text}" for line in hunk.lines)
                return "\n".join([f"--- {file.path}", head.rstrip(), *body, ""])
    return ""


def _finding_text(note: FindingNote) -> str:
    finding = note.finding
    where = f"{finding.path}:{finding.line}" if finding.line else finding.path
    head = " · ".join(
        part for part in (finding.severity.value, finding.criterion.value, finding.kind.value, where) if part
    )
    quote = f"> {finding.quote}" if finding.quote else ""
    trigger = f"happens when: {finding.trigger}" if finding.trigger else ""
    return "\n".join(part for part in (head, quote, finding.message, trigger) if part)


def find_in(diff: DiffView, query: str, by: int) -> bool:
    """Put the cursor on the next line (by 1) or the one before (-1) that holds the words; wraps around."""
    wanted = query.casefold()
    place = diff.location
    places: list[tuple[str, Side, int]] = []
    before, on_one = 0, False
    for file in diff.files:
        if file.path == place.path and place.line is None:
            before = len(places)
        for line in (line for hunk in file.hunks for line in hunk.lines):
            side: Side = "old" if line.kind == "-" else "new"
            number = line.old if side == "old" else line.new
            here = (file.path, side, number) == (place.path, place.side, place.line)
            matches = number is not None and wanted in line.text.casefold()
            if here:
                before, on_one = len(places), matches
            if matches and number is not None:
                places.append((file.path, side, number))
    if not places:
        return False
    target = before + (1 if on_one else 0) if by > 0 else before - 1
    path, side, number = places[target % len(places)]
    return diff.move_to(path, side, number)


def file_at_cursor(diff: DiffView) -> tuple[str, bool]:
    """The path of the file under the cursor, and whether it is the one of the old side; "" for no file."""
    place = diff.location
    index = find_file(diff.files, place.path) if place.path else None
    file: FileDiff | None = diff.files[index] if index is not None else None
    old = place.side == "old" or (file is not None and file.status == "D")
    return (file.old_path or place.path) if old and file is not None else place.path, old
