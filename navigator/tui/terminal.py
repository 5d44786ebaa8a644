"""The user's own editor: which one, where it opens, and a file for it to open."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from rich.segment import Segment
from textual.app import App, SuspendNotSupported
from textual.color import Color
from textual.filter import LineFilter

from navigator.model.errors import MissingPart, NavigatorError
from navigator.model.json_text import table
from navigator.model.text import is_unsafe, safe_line


def editor_words(environment: Mapping[str, str] | None = None) -> list[str]:
    """The command of the user's editor: $VISUAL, else $EDITOR.

    Raises:
        MissingPart: neither is set, or what it names is not here.
    """
    known = os.environ if environment is None else environment
    chosen = known.get("VISUAL", "").strip() or known.get("EDITOR", "").strip()
    if not chosen:
        raise MissingPart("No editor is set.", hint="Set $VISUAL or $EDITOR, for example EDITOR=nano.")
    try:
        words = shlex.split(chosen)
    except ValueError as error:
        raise MissingPart(f"$VISUAL or $EDITOR is not valid: {error}.", hint="Check its quotes.") from error
    if shutil.which(words[0], path=known.get("PATH")) is None:
        raise MissingPart(
            f"The editor {words[0]} is not installed.", hint="Set $VISUAL or $EDITOR to one that is."
        )
    return words


def editor_command(words: Sequence[str], file: Path, line: int | None = None) -> list[str]:
    """The whole command that opens `file`, at `line` where the editor is known to take one."""
    known = table(__package__, "editors.toml").get(PurePosixPath(words[0]).name, {})
    wait = known.get("wait")
    command = [*words, *([wait] if wait is not None and wait not in words else [])]
    form = known.get("line", "{file}") if line else "{file}"
    return [*command, *(word.format(file=file, line=line) for word in form.split())]


@contextmanager
def borrowed(name: str, content: bytes, *, writable: bool = False) -> Iterator[Path]:
    """A copy of a file in a folder of its own, with its own last name so that editors colour it; gone afterwards.

    Args:
        name: a path of a proposal; only its last part is used, with what could lead elsewhere replaced.
        content: the bytes.
        writable: False for a copy to read: what is written there would be lost.
    """
    last = "".join(c if c.isalnum() or c in "._- " else "_" for c in name.rpartition("/")[2]).strip(". ")
    with tempfile.TemporaryDirectory(prefix="navigator-") as folder:
        file = Path(folder) / (last or "file")
        file.write_bytes(content)
        file.chmod(0o600 if writable else 0o400)
        yield file


def run_editor(command: Sequence[str]) -> None:
    """Run it on this terminal to its end.

    Raises:
        NavigatorError: it could not be started, or ended with an error.
    """
    from navigator.process.runner import foreground

    try:
        code = foreground(command)
    except OSError as error:
        raise NavigatorError(f"{command[0]} could not be started: {error.strerror}.") from error
    if code:
        raise NavigatorError(f"{command[0]} ended with exit code {code}.")


def open_in_editor(
    app: App[None], name: str, content: bytes, line: int | None = None, *, writable: bool = False
) -> bytes:
    """Lend the terminal to the user's editor on a copy of a file; returns what the file then holds.

    Raises:
        NavigatorError: there is no editor, or it could not run.
    """
    words = editor_words()
    with borrowed(name, content, writable=writable) as file:
        try:
            with app.suspend():
                run_editor(editor_command(words, file, line))
        except SuspendNotSupported as error:
            raise NavigatorError(
                "The editor cannot open: this terminal does not support suspending."
            ) from error
        app.refresh()
        return file.read_bytes()


# What reaches the terminal: the filter that every line passes.
#
# Widgets use `safe_text` on what they show, which makes control characters readable. The filter is the last gate: no control,
# bidi or zero-width character passes, whatever widget let it through. It keeps the width of a line: what was made visible takes
# its room from the end of the line.


class InertFilter(LineFilter):
    """Makes every untrusted character of a line inert."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same segments, or new ones where a character was unsafe."""
        if not any(is_unsafe(segment.text) for segment in segments if not segment.control):
            return segments
        made = [
            segment if segment.control else Segment(safe_line(segment.text), segment.style)
            for segment in segments
        ]
        return Segment.adjust_line_length(made, Segment.get_line_length(segments), pad=False)
