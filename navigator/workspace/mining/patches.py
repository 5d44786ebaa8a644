"""A unified diff without its repository: read strictly, and made into the files that it speaks of, as far as it shows them."""

from __future__ import annotations

from dataclasses import dataclass

from navigator.domain import patterns
from navigator.domain.errors import NavigatorError

MOST_BYTES = 2_000_000
_GAP = ["", ""]
"""Lines between two hunks of a file: what lies between them is not known."""

_HUNK = patterns.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NAME = patterns.compile(r"(?:---|\+\+\+) (?:\"(?P<quoted>(?:[^\"\\]|\\.)*)\"|(?P<plain>[^\t]*))")


class PatchRefused(NavigatorError):
    """A diff that cannot be read; the message says where."""

    code = "patch_refused"


@dataclass(frozen=True, slots=True)
class PatchHunk:
    """One hunk: where it begins on each side (from 1), and its lines there."""

    old_start: int
    new_start: int
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PatchedFile:
    """One file of a diff. `old` and `new` are its names, None on a side where it does not exist."""

    old: str | None
    new: str | None
    hunks: tuple[PatchHunk, ...]

    @property
    def path(self) -> str:
        """The new name, or the old one of a deletion."""
        return self.new or self.old or ""

    def sides(self) -> tuple[str | None, str | None]:
        """The text of both sides as far as the hunks show it, with two empty lines between hunks."""
        return (
            None if self.old is None else _joined([hunk.before for hunk in self.hunks]),
            None if self.new is None else _joined([hunk.after for hunk in self.hunks]),
        )

    def place(self, number: int) -> int:
        """A line of the new file, as a line of the shortened text; 0 where no hunk shows it."""
        above = 0
        for hunk in self.hunks:
            if hunk.new_start <= number < hunk.new_start + len(hunk.after):
                return above + number - hunk.new_start + 1
            above += len(hunk.after) + len(_GAP)
        return 0

    def applied(self, base: str) -> str:
        """The new text of a file whose whole old text is known.

        Raises:
            PatchRefused: the diff was not made from that text.
        """
        lines = base.split("\n")
        out: list[str] = []
        at = 0
        for hunk in self.hunks:
            # A hunk that only adds begins after the line it names.
            start = hunk.old_start - 1 if hunk.before else hunk.old_start
            if start < at or tuple(lines[start : start + len(hunk.before)]) != hunk.before:
                raise PatchRefused(
                    f"The diff does not fit the given text at line {hunk.old_start}.",
                    hint="Give the text that the diff was made from, or only the diff.",
                )
            out += [*lines[at:start], *hunk.after]
            at = start + len(hunk.before)
        return "\n".join([*out, *lines[at:]])


def _joined(pieces: list[tuple[str, ...]]) -> str:
    lines = [line for piece in pieces for line in (*_GAP, *piece)][len(_GAP) :]
    return "".join(f"{line}\n" for line in lines)


def read_patch(text: str) -> list[PatchedFile]:
    """The files of a unified diff, with or without git's own headers. Binary files and pure renames are left out.

    Raises:
        PatchRefused: it is no diff, a hunk does not hold what its header says, or a file occurs twice.
    """
    if len(text) > MOST_BYTES:
        raise PatchRefused(f"The diff is larger than {MOST_BYTES >> 20} MiB.", hint="Leave the row out.")
    lines = text.split("\n")
    files: list[PatchedFile] = []
    at = 0
    while at < len(lines):
        if not (lines[at].startswith("--- ") and lines[at + 1 : at + 2] and lines[at + 1].startswith("+++ ")):
            if _HUNK.match(lines[at]):
                raise PatchRefused(f"Line {at + 1} of the diff is a hunk without a file name.", hint=_FORM)
            at += 1
            continue
        old, new = _name(lines[at]), _name(lines[at + 1])
        file, at = _file(lines, at + 2, old, new)
        files.append(file)
    if not files:
        raise PatchRefused("The diff changes no lines of any file.", hint=_FORM)
    paths = [file.path for file in files]
    if len(set(paths)) < len(paths):
        raise PatchRefused("The diff has a file twice.", hint=_FORM)
    return files


_FORM = "It has to be a unified diff, as `git diff` writes it."


def _name(line: str) -> str | None:
    """The path of a `---` or `+++` line; None for /dev/null."""
    match = _NAME.match(line)
    assert match is not None
    name = match["quoted"] if match["quoted"] is not None else match["plain"].rstrip()
    if name == "/dev/null":
        return None
    name = name.partition("/")[2] if patterns.match(r"[abciwo]/", name) else name
    parts = name.split("/")
    if not name.isprintable() or any(part in {"", ".", ".."} or part.casefold() == ".git" for part in parts):
        raise PatchRefused("The diff names a path outside of a project.", hint="Leave the row out.")
    return name


def _file(lines: list[str], at: int, old: str | None, new: str | None) -> tuple[PatchedFile, int]:
    if old is None and new is None:
        raise PatchRefused(f"Line {at} of the diff names no file.", hint=_FORM)
    hunks: list[PatchHunk] = []
    while at < len(lines) and (match := _HUNK.match(lines[at])) is not None:
        hunk, at = _hunk(lines, at + 1, match)
        hunks.append(hunk)
    if not hunks:
        raise PatchRefused(f"Line {at} of the diff: no hunk follows the name of a file.", hint=_FORM)
    return PatchedFile(old, new, tuple(hunks)), at


def _hunk(lines: list[str], at: int, header: patterns.Match[str]) -> tuple[PatchHunk, int]:
    """One hunk's lines by the counts of its header, and the index after it."""
    old_left, new_left = (int(header[n]) if header[n] is not None else 1 for n in (2, 4))
    before: list[str] = []
    after: list[str] = []
    while old_left > 0 or new_left > 0:
        if at >= len(lines):
            raise PatchRefused("The diff ends within a hunk.", hint=_FORM)
        sign, text = lines[at][:1] or " ", lines[at][1:]
        at += 1
        if sign == "\\":
            continue
        if sign not in " +-":
            raise PatchRefused(f"Line {at} of the diff is neither kept, added nor removed.", hint=_FORM)
        if sign != "+":
            old_left -= 1
            before.append(text)
        if sign != "-":
            new_left -= 1
            after.append(text)
    if old_left < 0 or new_left < 0:
        raise PatchRefused(f"Line {at} of the diff: its hunk is longer than its header says.", hint=_FORM)
    at += at < len(lines) and lines[at].startswith("\\")
    return PatchHunk(int(header[1]), int(header[3]), tuple(before), tuple(after)), at
