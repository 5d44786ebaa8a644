"""Makes exam items of the rows of a file: from diffs alone, in a repository of the exam's own. Nothing of them is run."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from navigator.cascade.dependencies import Dependencies
from navigator.cascade.exam.making import keep_name
from navigator.cascade.exam.repository import exam_repository
from navigator.cascade.exam.rows import Numbered, Row, RowRefused, read_rows
from navigator.cascade.exam.wording import neutral_words
from navigator.domain.errors import NavigatorError, UsageError
from navigator.domain.exam import ExamItem
from navigator.domain.models import Project, utc_now
from navigator.domain.states import ExamSource
from navigator.domain.text import safe_line, safe_text
from navigator.workspace.edits.source_protocol import FileChange
from navigator.workspace.git.private import PrivateRepo
from navigator.workspace.mining.guard import why_withheld
from navigator.workspace.mining.patches import PatchedFile, read_patch
from navigator.workspace.mining.reversal import commit_of

_LARGEST = 256 * 1024 * 1024
_MOST_CHANGED = 3_000
"""Changed lines of an item; a larger one would take a residency's whole share."""


def read_file(path: str) -> list[Numbered]:
    """The rows of a file.

    Raises:
        UsageError: it cannot be read, or is neither JSON nor JSON lines.
    """
    try:
        if Path(path).stat().st_size > _LARGEST:
            raise UsageError(f"{path} is larger than {_LARGEST >> 20} MiB.", hint="Split it.")
        return list(read_rows(Path(path).read_text("utf-8")))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", hint="Check the path.") from error
    except (UnicodeDecodeError, RowRefused) as error:
        raise UsageError(f"{path} is no list of rows: {error}.", hint="docs/exam.md has the form.") from error


def import_row(deps: Dependencies, found: Numbered) -> bool:
    """Store one row as an item; returns whether it is new. Runs git: call it in a thread.

    Raises:
        RowRefused: why it is none.
    """
    if found.row is None:
        raise RowRefused(found.refused)
    try:
        private, stand_in = exam_repository(deps.paths.private)
        item = _item(private, stand_in, found.row)
        private.keep(keep_name(item.origin), item.tree, item.base_commit)
    except NavigatorError as error:
        raise RowRefused(error.message.removesuffix(".")) from error
    evidence = {"id": found.row.id, **found.evidence}
    with deps.store.transaction() as tx:
        made = tx.add_exam_item(item.model_copy(update={"evidence": deps.redact.data(evidence)}))
    return made is not None


def _item(private: PrivateRepo, stand_in: Project, row: Row) -> ExamItem:
    files = read_patch(row.diff)
    empty = private.git.run("mktree", input=b"", env=private.apart()).text
    old = private.write_tree(empty, _contents(files, row, new=False))
    new = private.write_tree(empty, _contents(files, row, new=True))
    base = commit_of(private, old)
    words = safe_text(row.text), safe_line(row.title), safe_text(row.summary)
    if why := why_withheld(private, stand_in, base, new, "\n".join(words)):
        raise RowRefused(why)
    shown = private.diff(base, new, 0)
    changed = sum(file.added + file.removed for file in shown)
    if not 0 < changed <= _MOST_CHANGED:
        raise RowRefused(f"it changes {changed} lines; an item has 1 to {_MOST_CHANGED}")
    line, end = _place(files, row)
    text, title = neutral_words(shown)
    return ExamItem(
        source=ExamSource.IMPORTED,
        faulty=row.faulty,
        origin=f"imported:{hashlib.sha256(row.diff.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}",
        text=words[0].strip() or text,
        kind=row.kind,
        complexity=row.complexity,
        base_commit=base,
        tree=new,
        title=words[1].strip() or title,
        summary=words[2],
        path=row.path if row.faulty else "",
        line=line,
        end_line=end,
        changed_lines=changed,
        created=utc_now(),
    )


def _contents(files: Sequence[PatchedFile], row: Row, *, new: bool) -> dict[str, FileChange]:
    """The files of one side."""
    found: dict[str, FileChange] = {}
    for file in files:
        path = file.new if new else file.old
        if path is None:
            continue
        whole = row.base.get(file.old or "")
        text = file.sides()[new] if whole is None else file.applied(whole) if new else whole
        found[path] = FileChange((text or "").encode("utf-8", "surrogatepass"))
    return found


def _place(files: Sequence[PatchedFile], row: Row) -> tuple[int, int]:
    """The fault's first and last line in the item's own file; 0 where it is not known.

    Raises:
        RowRefused: the diff does not show that place.
    """
    if not row.faulty or not row.path:
        return 0, 0
    file = next((one for one in files if one.path == row.path), None)
    if file is None:
        raise RowRefused(f"path: the diff does not change {safe_line(row.path)}")
    if not row.line:
        return 0, 0
    last = max(row.line, row.end_line)
    if file.old is not None and file.old in row.base:
        return row.line, last
    first = file.place(row.line)
    if not first:
        raise RowRefused(f"line: the diff does not show line {row.line} of {safe_line(row.path)}")
    return first, max(first, file.place(last))
