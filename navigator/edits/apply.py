"""An answer's blocks on a pinned tree: applied in memory, in order, all or nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from navigator.checks.syntax import GrammarGate
from navigator.context.source import TreeSource
from navigator.edits import refusals
from navigator.edits.ladder import SearchMatch, locate, replacement
from navigator.edits.overlay import MAX_RESULT, Entry, Overlay, TextFile, align
from navigator.edits.parser import Block, BlockKind, ParsedAnswer
from navigator.edits.paths import (
    MAX_PROBLEMS,
    BlockRefused,
    EditProblem,
    doubtful_new_path,
    listed,
    quote,
    unsafe_path,
)
from navigator.git.private import FileChange
from navigator.model.models import AppliedEdit
from navigator.model.states import Rung
from navigator.model.text import plural

MAX_BLOCK = 1_000_000
"""Characters one block may hold."""

_MAX_DIVIDERS = 50
_FULL_NO_MATCHES = 5
"""NO_MATCH messages of one answer that show the closest lines; the others are brief."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What an answer's blocks make of the tree.

    Attributes:
        changes: the paths that change, with their new bytes; empty when there is any problem.
        edits: one per block, with the rung it applied on (two for a rename: both paths); empty like `changes`.
        problems: why nothing was written, in the order of the blocks.
    """

    changes: dict[str, FileChange]
    edits: tuple[AppliedEdit, ...] = ()
    problems: tuple[EditProblem, ...] = ()


def apply_answer(answer: ParsedAnswer, source: TreeSource, shown: Collection[str] | None = None) -> Applied:
    """Apply every block to the text as the blocks before it left it; nothing is written anywhere.

    Args:
        answer: from `parse_answer`; its problems are carried over.
        source: the pinned base tree.
        shown: the files that the model was shown whole; None where that is not known. A file of the base that it saw
            nothing or a part of cannot be written whole: what it never saw would be lost.

    Returns:
        Either changes, or problems; neither only for a `NO_CHANGE` with a reason.
    """
    return _Application(answer, source, shown).run()


class _Application:
    def __init__(self, answer: ParsedAnswer, source: TreeSource, shown: Collection[str] | None) -> None:
        self.answer = answer
        self.source = source
        self.shown = shown
        self.seen: set[bytes | None] | None = None
        self.tree = Overlay(source)
        self.of = max(answer.count, len(answer.blocks))
        self.problems = list(answer.problems)
        self.edits: list[AppliedEdit] = []
        self.done: dict[tuple[str, tuple[str, ...]], int] = {}
        self.no_matches = 0

    def run(self) -> Applied:
        if not self.answer.blocks and not self.problems and self.answer.no_change is None:
            self._problem(BlockRefused("nothing"), "", 0)
        for problem in self.answer.problems:
            if problem.path and unsafe_path(problem.path) is None:
                self.tree.entry(problem.path).failed.append(problem.block)
        for block in self.answer.blocks:
            if len(self.problems) >= MAX_PROBLEMS:
                break
            try:
                self._apply(block)
            except BlockRefused as refused:
                self._problem(refused, block.path, block.number)
                if block.path in self.tree.entries:
                    self.tree.entries[block.path].failed.append(block.number)
        changes = self._finish()
        if self.edits and not changes and not self.problems:
            self._problem(BlockRefused("cancelled_out"), "", 0)
        if self.problems:
            ordered = sorted(self.problems, key=lambda problem: problem.block)
            return Applied({}, (), tuple(ordered[:MAX_PROBLEMS]))
        return Applied(changes, tuple(self.edits))

    def _problem(self, refused: BlockRefused, path: str, block: int) -> None:
        self.problems.append(EditProblem(refused.code, path, block, self.of, refused.message))

    # One block ---------------------------------------------------------------------------------------------

    def _apply(self, block: Block) -> None:
        self._require_path(block.path)
        size = sum(map(len, block.body)) + len(block.body)
        if size > MAX_BLOCK:
            raise BlockRefused("large_block", size=size, most=MAX_BLOCK)
        entry = self.tree.entry(block.path)
        if entry.refusal:
            raise BlockRefused("not_edited", path=quote(block.path), why=entry.refusal)
        if block.kind is BlockKind.DELETE:
            self._delete(block, entry)
        elif block.kind is BlockKind.RENAME:
            self._rename(block, entry)
        elif block.kind is BlockKind.WHOLE:
            self._whole(block, entry, block.body, Rung.WHOLE_FILE)
        else:
            self._search(block, entry)

    def _no_path(self, path: str, **why: str) -> BlockRefused:
        return BlockRefused("path", said=refusals.unknown_path(path, self.tree.paths(), **why))

    def _require_path(self, path: str) -> None:
        if reason := unsafe_path(path) or self.tree.blocked(path):
            raise self._no_path(path, reason=reason)

    def _require_file(self, entry: Entry) -> TextFile:
        if entry.text is None:
            raise self._no_path(entry.path, gone=entry.gone)
        return entry.text

    def _require_room(self, path: str) -> None:
        if reason := doubtful_new_path(path) or self.tree.no_room(path):
            raise self._no_path(path, reason=reason)

    def _set(self, entry: Entry, text: TextFile, block: Block, rung: Rung) -> None:
        entry.text = text
        entry.gone = ""
        entry.blocks.append(block.number)
        self.edits.append(AppliedEdit(path=entry.path, rung=rung))

    def _delete(self, block: Block, entry: Entry) -> None:
        self._require_file(entry)
        entry.text = None
        entry.gone = f"was deleted by block {block.number}"
        entry.blocks.append(block.number)
        self.edits.append(AppliedEdit(path=entry.path, rung=Rung.DELETE))

    def _rename(self, block: Block, entry: Entry) -> None:
        text = self._require_file(entry)
        target = block.target
        if target == block.path:
            raise BlockRefused("same_path")
        self._require_path(target)
        there = self.tree.entry(target)
        if there.text is not None or there.refusal:
            raise BlockRefused("new_path_exists", path=quote(target))
        entry.text = None
        try:
            self._require_room(target)
        except BlockRefused:
            entry.text = text
            raise
        entry.gone = f"was renamed to {quote(target)} by block {block.number}"
        entry.blocks.append(block.number)
        there.mode, there.origin = entry.mode, entry.origin
        self.edits.append(AppliedEdit(path=entry.path, rung=Rung.RENAME))
        self._set(there, text, block, Rung.RENAME)

    def _whole(self, block: Block, entry: Entry, content: Sequence[str], rung: Rung) -> None:
        """Make `content` the whole file: a new one, or in place of what is there, whose mode and encoding stay."""
        if entry.text is None:
            self._require_room(block.path)
        if rung is Rung.WHOLE_FILE and self._unseen(entry):
            raise BlockRefused("unseen")
        old = entry.text or TextFile()
        refusals.refuse_fenced(block.path, content)
        refusals.check_new_text(block, old, old.lines, content)
        text = whole_text(old, content)
        if entry.text is not None and text.encode() == old.encode():
            raise BlockRefused("same_content")
        self._set(entry, text, block, rung)

    def _unseen(self, entry: Entry) -> bool:
        """Whether the base has content there, or under the name it had before, that the model was not shown whole."""
        if self.shown is None:
            return False
        if self.seen is None:
            self.seen = {self.source.read(path) for path in self.shown}
        held = {data for data in (entry.base, entry.origin) if data and data.strip()}
        return bool(held - self.seen)

    def _search(self, block: Block, entry: Entry) -> None:
        dividers = block.dividers()
        if len(dividers) > _MAX_DIVIDERS:
            raise BlockRefused("dividers", count=len(dividers))
        empty = entry.text is None or not _has_words(entry.text.lines)
        if empty and not _has_words(block.body[: dividers[0]]):
            self._whole(block, entry, block.body[dividers[0] + 1 :], Rung.NEW_FILE)
            return
        text = self._require_file(entry)
        if (twin := self.done.get((block.path, block.body))) is not None:
            raise BlockRefused("twin", number=twin)
        search, replace, match = self._resolve(block, entry, text, dividers)
        if search == replace:
            raise BlockRefused("same_text")
        if len(match.starts) > 1:
            lines = listed([start + 1 for start in match.starts])
            raise BlockRefused("ambiguous", lines=lines, counting=refusals.counting(entry))
        refusals.refuse_standing(entry, text.lines, match, search, replace)
        refusals.check_new_text(block, text, search, replace)
        pieces = replacement(text.lines, match, search, replace)
        if pieces is None:
            prefix = quote(match.shift.prefix if match.shift else "")
            line = match.starts[0] + 1
            raise BlockRefused("small_indent", line=line, prefix=prefix, counting=refusals.counting(entry))
        self._set(entry, text.splice(match.starts[0], len(search), pieces), block, match.rung)
        self.done[block.path, block.body] = block.number

    def _resolve(
        self, block: Block, entry: Entry, text: TextFile, dividers: Sequence[int]
    ) -> tuple[tuple[str, ...], tuple[str, ...], SearchMatch]:
        """The divider whose upper part is in the file, and where it is."""
        parts = [(block.body[:at], block.body[at + 1 :]) for at in dividers]
        if len(parts) == 1 and _has_words(parts[0][0]) and parts[0][0] == parts[0][1]:
            raise BlockRefused("same_text")
        found = [
            (upper, lower, match)
            for upper, lower in parts
            if _has_words(upper) and (match := locate(text.lines, upper)) is not None
        ]
        if len(found) == 1:
            return found[0]
        if found:
            raise BlockRefused("which_divider", count=len(dividers))
        if not _has_words(parts[0][0]):
            # An empty SEARCH, or one of blank lines, where the file has content.
            if whole_text(text, parts[0][1]).encode() == text.encode():
                raise BlockRefused("has_content")
            raise BlockRefused("exists", lines=plural(len(text.lines), "line"))
        refusals.refuse_applied(entry, text.lines, parts)
        self.no_matches += 1
        brief = self.no_matches > _FULL_NO_MATCHES
        raise BlockRefused("no_match", said=refusals.no_match(entry, text.lines, parts[0][0], brief=brief))

    # The result ---------------------------------------------------------------------------------------------

    def _finish(self) -> dict[str, FileChange]:
        """The changes, checked as files; a path with a failed block is not judged, since its text is half made."""
        unknown = any(not problem.path for problem in self.answer.problems)
        changes: dict[str, FileChange] = {}
        grammars = GrammarGate()
        for entry in self.tree.entries.values():
            if not entry.blocks or entry.failed or unknown:
                continue
            try:
                change = _change_of(entry, grammars)
            except BlockRefused as refused:
                self._problem(refused, entry.path, entry.blocks[-1])
                continue
            if change is not None:
                changes[entry.path] = change
        return changes


def whole_text(old: TextFile, content: Sequence[str]) -> TextFile:
    """`content` as the whole file; lines that were there keep their endings, blank lines at the end do not grow."""
    most = _blank_tail(old.lines)
    spare = _blank_tail(content) - most
    kept = content[: len(content) - spare] if spare > 0 else content
    return old.splice(0, len(old.lines), align(old.lines, kept))


def _has_words(lines: Sequence[str]) -> bool:
    """Whether a line holds more than whitespace. Blank lines alone name no place in a file."""
    return any(line.strip() for line in lines)


def _blank_tail(lines: Sequence[str]) -> int:
    count = 0
    while count < len(lines) and not lines[-1 - count].strip():
        count += 1
    return count


def _change_of(entry: Entry, grammars: GrammarGate) -> FileChange | None:
    """What becomes of one path; None where the answer made the file and then took it away."""
    if entry.text is None:
        return None if entry.base is None else FileChange(None)
    data = entry.text.encode()
    if data == entry.base:
        raise BlockRefused("cancelled_out")
    if len(data) > MAX_RESULT:
        raise BlockRefused("large_file", size=len(data), most=MAX_RESULT)
    said = grammars.syntax_fault(entry.path, entry.origin, data)
    if said is not None:
        raise refusals.syntax(entry.text, said, entry.blocks)
    return FileChange(data, entry.mode)
