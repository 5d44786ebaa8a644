"""From a model's answer to edit blocks. Prose is ignored; what looks like a block and is none becomes a problem."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from navigator.edits.paths import BlockRefused, EditProblem, clean_path_line, quote
from navigator.model import patterns

# The marker lines of edit blocks: which lines are markers, and which only look like them.


class BlockKind(StrEnum):
    """The word after a block's opener."""

    SEARCH = "SEARCH"
    WHOLE = "WHOLE"
    DELETE = "DELETE"
    RENAME = "RENAME"

    @property
    def closing(self) -> str:
        """The word after the block's closer."""
        return "REPLACE" if self is BlockKind.SEARCH else self.value


_OPENER = patterns.compile(r"(<{7}|<{9}) (SEARCH|WHOLE|DELETE|RENAME)")
_CLOSER = patterns.compile(r"(>{7}|>{9}) (SEARCH|REPLACE|WHOLE|DELETE|RENAME)")
_NEAR_OPENER = patterns.compile(
    r"[ \t>*+-]{0,40}<{5,40}[ \t]{0,8}(?:SEARCH|WHOLE|DELETE|RENAME)\b", patterns.IGNORECASE
)
_NEAR_CLOSER = patterns.compile(
    r"[ \t>*+-]{0,40}>{5,40}[ \t]{0,8}(?:SEARCH|REPLACE|WHOLE|DELETE|RENAME)\b", patterns.IGNORECASE
)
_LOOK = patterns.compile(r"(<|>){5,9}[ \t]*LOOK", patterns.IGNORECASE)
_FENCE = patterns.compile(r"[ \t]*(?:`{3,}[^`]*|~{3,}.*)")
_MARKER_IN_TEXT = patterns.compile(r"^(?:<{7}|={7}|>{7}|\|{7})(?:[ \t].*)?\r?$", patterns.MULTILINE)
_CONFLICT = patterns.compile(r"(?:<{7}|>{7}|\|{7})(?:[ \t].*)?")


def opener(line: str) -> tuple[BlockKind, int] | None:
    """The kind and the marker length of an opener; None for every other line."""
    match = _OPENER.fullmatch(line.rstrip(" \t"))
    return (BlockKind(match[2]), len(match[1])) if match else None


def closer(line: str) -> tuple[str, int] | None:
    """The word and the marker length of a closer; None for every other line."""
    match = _CLOSER.fullmatch(line.rstrip(" \t"))
    return (match[2], len(match[1])) if match else None


def is_divider(line: str, length: int) -> bool:
    """Whether the line is a divider of that marker length."""
    return line.rstrip(" \t") == "=" * length


def near_opener(line: str) -> bool:
    """Whether the line means to open a block: indented, of another length, in another case, or with more words."""
    return _NEAR_OPENER.match(line) is not None


def near_closer(line: str) -> bool:
    """Whether the line means to close a block, well-formed or not."""
    return _NEAR_CLOSER.match(line) is not None


def look_marker(line: str) -> str:
    """`<` for a line that opens a LOOK block, `>` for one that closes it, "" for every other line.

    Read leniently: nothing is written because of it.
    """
    match = _LOOK.fullmatch(line.strip())
    return match[1] if match else ""


def is_fence(line: str) -> bool:
    """Whether the line opens or closes a Markdown code fence."""
    return _FENCE.fullmatch(line) is not None


def is_conflict(line: str) -> bool:
    """Whether the line is one that a merge leaves in a file (the divider aside, which is a heading's underline too)."""
    return _CONFLICT.fullmatch(line) is not None


def marker_length(texts: Iterable[str]) -> int:
    """How long markers must be so that nothing shown is taken for one.

    Args:
        texts: everything of the repository that the prompt shows.

    Returns:
        9 where a text holds a seven-character marker line itself, else 7.
    """
    return 9 if any(_MARKER_IN_TEXT.search(text) for text in texts) else 7


_OUTCOME = patterns.compile(r"[\s>*#`_]*NO_CHANGE[*`_]*[ \t]*:[*`_]*(.*)")
_NUMBER_WORDS = {7: "seven", 9: "nine"}


@dataclass(frozen=True, slots=True)
class Block:
    """One well-formed block.

    Attributes:
        kind: the opener's word.
        path: the path line above it, cleaned, not yet checked.
        number: its place in the answer, from 1.
        marker: characters of its markers.
        body: the lines between opener and closer, without line endings.
        target: the new path of a RENAME.
    """

    kind: BlockKind
    path: str
    number: int
    marker: int
    body: tuple[str, ...] = ()
    target: str = ""

    def dividers(self) -> tuple[int, ...]:
        """Where the body may be cut into SEARCH and REPLACE: indexes of its divider lines."""
        return tuple(i for i, line in enumerate(self.body) if is_divider(line, self.marker))


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """What a model wrote.

    Attributes:
        blocks: the well-formed blocks, in order.
        no_change: the reason of a `NO_CHANGE:` line; None when there is none or when there are blocks.
        prose: the text outside the blocks.
        problems: what should be a block and cannot be read as one.
        count: blocks begun, well-formed or not.
        looks: the lines of its LOOK blocks.
    """

    blocks: tuple[Block, ...]
    no_change: str | None
    prose: str
    problems: tuple[EditProblem, ...]
    count: int = 0
    looks: tuple[str, ...] = ()

    @property
    def asks_to_look(self) -> bool:
        """Whether it asks for more to read and changes nothing: beside an edit, looks are ignored."""
        return bool(self.looks) and not self.blocks and not self.problems


def parse_answer(text: str, *, marker: int = 7) -> ParsedAnswer:
    """Read the edit blocks of an answer. Never raises, whatever the text.

    Args:
        text: the whole answer; LF or CRLF.
        marker: the marker length the prompt asked for, 7 or 9. Nine-character markers are always read, since
            they cannot be mistaken; seven-character ones are a problem where nine were asked for.
    """
    lines = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
    return _Parser(lines, marker).run()


class _Parser:
    """Walks the lines once. `floor` is the first line that no block has taken: path lines are sought above it no more."""

    def __init__(self, lines: list[str], marker: int) -> None:
        self.lines = lines
        self.marker = marker
        self.floor = 0
        self.count = 0
        self.blocks: list[Block] = []
        self.problems: list[EditProblem] = []
        self.taken: set[int] = set()
        self.looks: list[str] = []

    def run(self) -> ParsedAnswer:
        i = 0
        while i < len(self.lines):
            line = self.lines[i]
            if (found := opener(line)) is not None:
                i = self._block(i, *found)
            elif near_opener(line):
                i = self._near_miss(i)
            elif look_marker(line) == "<":
                i = self._look(i)
            elif closer(line) is not None:
                self._problem("", BlockRefused("stray_closer", number=i + 1, line=quote(line)), block=0)
                self._take(i, i + 1)
                i += 1
            else:
                i += 1
        no_change, prose = self._outside()
        if no_change == "" and not self.blocks and not self.problems:
            self._problem("", BlockRefused("no_reason"), block=0)
        problems = tuple(replace(problem, of=self.count) for problem in self.problems)
        if self.blocks or problems:
            no_change = None
        return ParsedAnswer(tuple(self.blocks), no_change, prose, problems, self.count, tuple(self.looks))

    def _problem(self, path: str, why: BlockRefused, *, block: int | None = None) -> None:
        number = self.count if block is None else block
        self.problems.append(EditProblem(why.code, path, number, 0, why.message))

    def _take(self, start: int, stop: int) -> None:
        """Count lines as a block's own, with the fence after it; no later path is sought in them."""
        self.taken.update(range(start, stop))
        if stop < len(self.lines) and is_fence(self.lines[stop]):
            self.taken.add(stop)
        self.floor = stop

    def _path_above(self, i: int) -> str:
        """The last line above `i` that is neither blank nor a fence, cleaned; "" when another block comes first."""
        j = i - 1
        while j >= self.floor and (not self.lines[j].strip() or is_fence(self.lines[j])):
            j -= 1
        if j < self.floor:
            return ""
        self.taken.update(k for k in range(j, i) if k == j or is_fence(self.lines[k]))
        if j - 1 >= self.floor and is_fence(self.lines[j - 1]):
            self.taken.add(j - 1)
        return clean_path_line(self.lines[j])

    def _block(self, i: int, kind: BlockKind, length: int) -> int:
        """Read one block that opens on line `i`; the index to go on from."""
        self.count += 1
        path = self._path_above(i)
        end = self._until(i + 1, lambda line: (closer(line) or opener(line) or ("", 0))[1] == length)
        closing = closer(self.lines[end]) if end < len(self.lines) else None
        if closing is None:
            ended = end == len(self.lines)
            where = "The answer ends" if ended else f"The next block begins (line {end + 1} of the answer)"
            why = BlockRefused("unclosed", where=where, closer=quote(f"{'>' * length} {kind.closing}"))
            self._problem(path, why)
            return self._leave(i, end)
        self._take(i, end + 1)
        self._add(i, end, path, kind, length, closed_by=closing == (kind.closing, length))
        return end + 1

    def _until(self, start: int, *ends: Callable[[str], object]) -> int:
        """The first line from `start` on that is one of the ends; the number of lines where none is."""
        lines = self.lines
        return next((k for k in range(start, len(lines)) if any(end(lines[k]) for end in ends)), len(lines))

    def _leave(self, i: int, end: int) -> int:
        """Count lines as those of a block that is none. The path of what begins on line `end` may be among them."""
        self._take(i, end)
        self.floor = i + 1 if end < len(self.lines) else end
        return end

    def _look(self, i: int) -> int:
        """Read one LOOK block that opens on line `i`; it ends at its closer, at the next block or with the answer."""
        end = self._until(i + 1, look_marker, opener)
        closed = end < len(self.lines) and look_marker(self.lines[end]) == ">"
        body = self.lines[i + 1 : end]
        if not closed and end < len(self.lines):
            # The line above an opener is the path of that block.
            while body and not body[-1].strip():
                body.pop()
            body = body[:-1]
        self.looks += [line for line in body if line.strip() and not is_fence(line)]
        self._take(i, i + 1 + len(body) + closed)
        return i + 1 + len(body) + closed

    def _add(self, i: int, end: int, path: str, kind: BlockKind, length: int, *, closed_by: bool) -> None:
        """Take a closed block in, or say what is wrong with it."""
        body = tuple(self.lines[i + 1 : end])
        block = Block(kind, path, self.count, length, body)
        filled = [line for line in body if line.strip() and not is_fence(line)]
        if not closed_by:
            closing = quote(f"{'>' * length} {kind.closing}")
            found = quote(self.lines[end])
            why = BlockRefused("other_closer", opener=kind.value, closer=closing, line=found)
        elif self.marker == 9 and length != 9:
            why = BlockRefused("nine_characters", opener=quote(f"{'<' * 9} {kind.value}"))
        elif not path:
            why = BlockRefused("no_path")
        elif kind is BlockKind.SEARCH and not block.dividers():
            why = BlockRefused("no_divider", divider=quote("=" * length), length=_NUMBER_WORDS[length])
        elif kind is BlockKind.DELETE and filled:
            why = BlockRefused("delete_with_lines")
        elif kind is BlockKind.RENAME and len(filled) != 1:
            why = BlockRefused("rename_without_path")
        else:
            target = clean_path_line(filled[0]) if kind is BlockKind.RENAME else ""
            self.blocks.append(replace(block, target=target))
            return
        self._problem(path, why)

    def _near_miss(self, i: int) -> int:
        """A line that means to open a block and does not: one problem, and on past what would be its closer."""
        self.count += 1
        path = self._path_above(i)
        length = 9 if self.marker == 9 else 7
        words = {"length": _NUMBER_WORDS[length], "opener": quote(f"{'<' * length} SEARCH")}
        self._problem(path, BlockRefused("no_opener", number=i + 1, line=quote(self.lines[i]), **words))
        end = self._until(i + 1, near_closer, opener, near_opener)
        if end < len(self.lines) and not near_closer(self.lines[end]):
            return self._leave(i, end)
        stop = min(end + 1, len(self.lines))
        self._take(i, stop)
        return stop

    def _outside(self) -> tuple[str | None, str]:
        """The reason of the first `NO_CHANGE:` line, and the prose without such a line."""
        prose: list[str] = []
        reason: str | None = None
        for i, line in enumerate(self.lines):
            if i in self.taken:
                continue
            match = _OUTCOME.fullmatch(line)
            if match is None or reason is not None:
                prose.append(line)
                continue
            reason = match[1].strip(" \t*`_")
            if not reason:
                rest = (self.lines[k].strip() for k in range(i + 1, len(self.lines)) if k not in self.taken)
                reason = next((text for text in rest if text and not is_fence(text)), "")
        text = patterns.sub(r"\n{3,}", "\n\n", "\n".join(prose)).strip()
        return reason, text
