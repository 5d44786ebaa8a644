"""In Review: comments on lines, hunks that are chosen, search and copying; and the trees behind the diff."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from navigator.actions.notes import KeepComment
from navigator.config.paths import StatePaths
from navigator.model.diff import FileDiff, choices
from navigator.model.errors import Conflict, NavigatorError, NotFound, UsageError
from navigator.model.models import Project, Proposal
from navigator.model.states import ProposalState
from navigator.tui.base import BaseApp
from navigator.tui.diff.layout import LineComment, Side, find_file, find_line
from navigator.tui.diff.view import DiffView
from navigator.tui.review.context import ReviewContext, comment_key
from navigator.tui.verbs import send

if TYPE_CHECKING:
    from navigator.git.private import PrivateRepo


def title_of(place: KeepComment) -> str:
    """What is commented on: `billing/totals.py:24`."""
    removed = " (removed)" if place.side == "old" else ""
    return f"{place.path}:{place.line}{removed}" if place.line else place.path


def place_at_cursor(
    context: ReviewContext, proposal: str, diff: DiffView, *, between: bool, undo_key: str
) -> KeepComment:
    """The comment that is begun now: a new one on the line under the cursor, or the one that is there, to be changed.

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
    for found in context.unsent:
        if f"c{found.id}" == diff.current_key:
            known = found.model_dump(include={"path", "side", "line", "quote", "text"})
            return KeepComment(proposal=found.proposal_id, number=found.id, **known)
    at = diff.location
    if not at.path:
        raise UsageError("No line is under the cursor.")
    if at.side == "old" and between:
        raise UsageError("That line belongs to the round before; comment on it there.")
    line, quote = at.line or 0, _quote(diff)
    return KeepComment(proposal=proposal, path=at.path, side=at.side, line=line, quote=quote, text="")


def _quote(diff: DiffView) -> str:
    """The text of the line under the cursor."""
    at = diff.location
    if at.line is None:
        return ""
    ref = find_line(diff.files, at.path, at.side, at.line)
    return "" if ref is None else diff.files[ref.file].hunks[ref.hunk].lines[ref.line].text


async def save(app: BaseApp, place: KeepComment, text: str) -> None:
    """Keep a finished comment and drop its draft; an emptied one is removed. What cannot be kept stays a draft."""
    try:
        if text.strip() != place.text:
            await send(app, place.model_copy(update={"text": text.strip()}))
    except NavigatorError as error:
        app.drafts.keep(comment_key(place), text)
        app.toast(f"{error} Your text is kept as a draft.", "error")
    else:
        app.drafts.keep(comment_key(place), "")
    await app.drafts.flush()


# Looking closer in Review, as functions of the diff view: search, what is copied, which file the editor opens.


def copy_text(diff: DiffView) -> str:
    """What is copied: the finding or comment under the cursor, else the path and line."""
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
    return f"{place.path}:{place.line}" if place.line else place.path


def find_in(diff: DiffView, query: str) -> bool:
    """Put the cursor on the next line that holds the words, from the top again after the last; False for none."""
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
    path, side, number = places[(before + on_one) % len(places)]
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

    def _private(self, project: Project) -> PrivateRepo:
        from navigator.git.private import PrivateRepo

        with self._lock:
            if project.id not in self._opened:
                if not any(self._root.glob(f"{project.id}-*.git")):
                    raise NotFound(
                        f"The proposed changes of {project.name} are not in the state folder.",
                        hint="Was it copied without its private/ folder?",
                    )
                self._opened[project.id] = PrivateRepo.to_read(self._root, project)
            return self._opened[project.id]


# Choosing hunks in Review: whether they can be chosen.


OTHERWISE = "Choose hunks of the whole change (= switches), without more context (enter on a hunk's header)."
"""Why none can be chosen in a diff that is not the one the reviewer saw."""


def labels_of(files: Sequence[FileDiff]) -> list[str]:
    """Everything that can be chosen in a diff, in its order."""
    return [label for number, file in enumerate(files, 1) for label in choices(file, number)]


def why_not_chosen(
    context: ReviewContext, shown: Proposal, files: Sequence[FileDiff], *, otherwise: bool
) -> str:
    """Why hunks of what is shown cannot be chosen; "" where they can."""
    if otherwise:
        return OTHERWISE
    if shown.parent:
        return f"{shown.id} is already a part of {shown.parent}; approve or reject it."
    if not context.waiting or shown.id != context.current.id:
        return f"{shown.id} does not wait for your decision; choose hunks of one that does."
    return f"{shown.id} is a single hunk; approve or reject it." if len(labels_of(files)) == 1 else ""
