"""Comments on lines, in Review: where one is written, and keeping, changing or removing it."""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from navigator.actions.notes import KeepComment
from navigator.config.paths import StatePaths
from navigator.model.diff import FileDiff
from navigator.model.errors import Conflict, NavigatorError, NotFound, UsageError
from navigator.model.models import Project
from navigator.model.states import ProposalState
from navigator.tui.base import BaseApp
from navigator.tui.data.prefs import DraftKeeper
from navigator.tui.diff.model import LineComment, Side, find_file, find_line
from navigator.tui.diff.view import DiffView
from navigator.tui.review.context import ReviewContext, SavedComment, comment_key
from navigator.tui.verbs import send

if TYPE_CHECKING:
    from navigator.git.private import PrivateRepo


@dataclass(frozen=True, slots=True)
class CommentPlace:
    """What is being commented on. `line` is 1-based, 0 for the whole file; `changing` is the comment that is edited."""

    proposal: str
    path: str
    side: str
    line: int
    quote: str
    changing: SavedComment | None = None

    @property
    def key(self) -> str:
        """The key of its draft."""
        number = self.changing.number if self.changing is not None else 0
        return comment_key(self.proposal, self.side, self.line, self.path, number)

    @property
    def title(self) -> str:
        """`billing/totals.py:24`."""
        removed = " (removed)" if self.side == "old" else ""
        return f"{self.path}:{self.line}{removed}" if self.line else self.path


def place_at_cursor(
    context: ReviewContext, proposal: str, diff: DiffView, *, between: bool, undo_key: str
) -> CommentPlace:
    """Where a comment goes that is begun now: a new one on the line under the cursor, or the comment that is there.

    Args:
        proposal: the version shown.
        between: the diff shows what changed since the round before.
        undo_key: the key that takes a decision back, for the message.

    Raises:
        Conflict: no comment can be made here.
    """
    if context.current.state is not ProposalState.OPEN:
        raise Conflict(
            f"{context.current.id} is decided; a comment would not be sent.",
            hint=f"{undo_key} takes the decision back.",
        )
    found = next((c for c in context.comments if f"c{c.number}" == diff.current_key and not c.sent), None)
    if found is not None:
        return CommentPlace(proposal, found.path, found.side, found.line, found.quote, found)
    at = diff.location
    if not at.path:
        raise UsageError("No line is under the cursor.")
    if at.side == "old" and between:
        raise UsageError("That line belongs to the round before; comment on it there.")
    return CommentPlace(proposal, at.path, at.side, at.line or 0, _quote(diff))


def _quote(diff: DiffView) -> str:
    """The text of the line under the cursor."""
    at = diff.location
    if at.line is None:
        return ""
    ref = find_line(diff.files, at.path, at.side, at.line)
    return "" if ref is None else diff.files[ref.file].hunks[ref.hunk].lines[ref.line].text


async def save(app: BaseApp, place: CommentPlace, text: str, drafts: DraftKeeper) -> None:
    """Keep a finished comment and drop its draft; an emptied one is removed. What cannot be kept stays a draft."""
    changing, kept = place.changing, text.strip()
    try:
        if kept != (changing.text if changing is not None else ""):
            on = changing.proposal if changing is not None else place.proposal
            verb = KeepComment(
                proposal=on,
                path=place.path,
                side=place.side,
                line=place.line,
                quote=place.quote,
                text=kept,
                number=changing.number if changing is not None else 0,
            )
            await send(app, verb)
    except NavigatorError as error:
        drafts.keep(place.key, text)
        app.toast(f"{error} Your text is kept as a draft.", "error")
    else:
        drafts.keep(place.key, "")
    await drafts.flush()


# Looking closer in Review, as functions of the diff view: search, what is copied, which file the editor opens.


def copy_text(diff: DiffView) -> str:
    """What is copied: the finding, comment or hunk under the cursor, else the file's path."""
    key = diff.current_key
    for annotation in diff.annotations if key else ():
        if annotation.key != key:
            continue
        if isinstance(annotation, LineComment):
            return annotation.text
        finding = annotation.finding
        where = f"{finding.path}:{finding.line}" if finding.line else finding.path
        return ": ".join(filter(None, (where, finding.severity.value, finding.message)))
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


# Diffs and files of proposals, read from the private repositories. Everything here blocks: call it in a thread.


class Trees:
    """The private repositories of a state folder, opened once each.

    Reading a tree writes nothing. Opening one writes only where the user's repository has moved since it was last
    opened: then the file that names it is replaced, whole, by what the conductor would write there too.
    """

    def __init__(self, paths: StatePaths) -> None:
        self._root = paths.private
        self._opened: dict[int, PrivateRepo] = {}
        self._lock = threading.Lock()

    def diff(self, project: Project, a: str, b: str, context: int) -> list[FileDiff]:
        """What differs between two trees or commits, with as many unchanged lines around.

        Raises:
            NavigatorError: the repository is gone, or lacks one of them.
        """
        return self._private(project).diff(a, b, context)

    def lines(self, project: Project, tree: str, path: str) -> list[str]:
        """The lines of a file without their endings; a last line without one counts too.

        Raises:
            NotFound: the tree has no such file.
        """
        text = self.text(project, tree, path)
        lines = text.split("\n")
        return lines[:-1] if lines[-1] == "" else lines

    def text(self, project: Project, tree: str, path: str) -> str:
        """A file as text: UTF-8, else Latin-1.

        Raises:
            NotFound: the tree has no such file.
        """
        from navigator.git.diffs import decode_lines

        return decode_lines(self.content(project, tree, path))

    def content(self, project: Project, tree: str, path: str) -> bytes:
        """A file's bytes.

        Raises:
            NotFound: the tree has no such file.
        """
        private = self._private(project)
        entry = private.tree_entries(tree).get(path)
        if entry is None or entry.mode == "160000":
            raise NotFound(f"{path} is not in this version.")
        return private.read_blob(entry.sha)

    def lines_of(self, project: Project, tree: str, paths: Collection[str]) -> dict[str, list[str]]:
        """The lines of those of some files that the tree has."""
        if not paths:
            return {}
        entries = self._private(project).tree_entries(tree)
        return {path: self.lines(project, tree, path) for path in paths if path in entries}

    def _private(self, project: Project) -> PrivateRepo:
        from navigator.git.private import PrivateRepo

        with self._lock:
            if project.id not in self._opened:
                if not any(self._root.glob(f"{project.id}-*.git")):
                    raise NotFound(
                        f"The proposed changes of {project.name} are not in the state folder.",
                        hint="Was it copied without its private/ folder?",
                    )
                self._opened[project.id] = PrivateRepo.open(self._root, project)
            return self._opened[project.id]
