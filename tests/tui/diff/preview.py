"""The diff view in an app of its own, and reading a patch as `git diff` prints it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from textual.app import App, ComposeResult

from navigator.model.diff import DiffLine, FileDiff, Hunk
from navigator.tui.diff.layout import FindingNote, LineComment, Mode
from navigator.tui.diff.view import DiffView
from navigator.tui.theme import DEFAULT_THEME, THEMES

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")


class PreviewApp(App[None]):
    """The view alone, under any of the themes; `t` goes to the next one."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [("t", "next_theme", "Theme"), ("q", "quit", "Quit")]

    def __init__(
        self,
        files: Iterable[FileDiff],
        findings: Iterable[FindingNote] = (),
        comments: Iterable[LineComment] = (),
        *,
        mode: Mode = "unified",
        wrap: bool = False,
        theme: str = DEFAULT_THEME,
    ) -> None:
        super().__init__()
        for known in THEMES:
            self.register_theme(known)
        self.theme = theme
        self.view = DiffView(mode=mode, wrap=wrap)
        self.view.show(tuple(files), tuple(findings), tuple(comments))

    def compose(self) -> ComposeResult:
        yield self.view

    def action_next_theme(self) -> None:
        """Look at it under the next theme."""
        names = [theme.name for theme in THEMES]
        self.theme = names[(names.index(self.theme) + 1) % len(names)]


def parse_diff(text: str) -> list[FileDiff]:
    """Files of a patch as `git diff` prints it: enough for a look, no validation."""
    files: list[FileDiff] = []
    label = 0
    for part in re.split(r"^(?=diff --git )", text, flags=re.MULTILINE):
        if not part.startswith("diff --git "):
            continue
        head, *bodies = re.split(r"^(?=@@ )", part, flags=re.MULTILINE)
        hunks: list[Hunk] = []
        for body in bodies:
            label += 1
            hunks.append(_hunk(f"H{label}", body))
        files.append(_file(head, tuple(hunks)))
    return files


def _file(head: str, hunks: tuple[Hunk, ...]) -> FileDiff:
    found = re.match(r"diff --git a/(.*) b/(.*)\n", head)
    old, new = found.groups() if found else ("", "")
    status = "M"
    for sign, letter in (("new file", "A"), ("deleted file", "D"), ("rename from", "R")):
        if re.search(f"^{sign} ", head, flags=re.MULTILINE):
            status = letter
    modes = re.findall(r"^(?:old|new) mode (\d+)$", head, flags=re.MULTILINE)
    old_mode, new_mode = modes if len(modes) == 2 else ("", "")
    binary = "\nBinary files " in head or "\nGIT binary patch" in head
    return FileDiff(
        status,
        "" if status == "A" else old,
        "" if status == "D" else new,
        old_mode=old_mode,
        new_mode=new_mode,
        binary=binary,
        hunks=hunks,
    )


def _hunk(label: str, body: str) -> Hunk:
    head, *raw = body.removesuffix("\n").split("\n")
    found = _HUNK.match(head)
    if found is None:
        raise SystemExit(f"Not a hunk of a git diff: {head[:60]!r}. Give me the output of `git diff`.")
    old_start, old_count, new_start, new_count, section = found.groups(default="1")
    old, new = int(old_start), int(new_start)
    lines: list[DiffLine] = []
    for text in raw:
        match text[:1]:
            case " " | "":
                lines.append(DiffLine(" ", text[1:], old, new))
                old, new = old + 1, new + 1
            case "-":
                lines.append(DiffLine("-", text[1:], old, None))
                old += 1
            case "+":
                lines.append(DiffLine("+", text[1:], None, new))
                new += 1
            case "\\" if lines:
                last = lines[-1]
                lines[-1] = DiffLine(last.kind, last.text, last.old, last.new, no_newline=True)
    section = "" if found[5] is None else section
    return Hunk(label, int(old_start), int(old_count), int(new_start), int(new_count), section, tuple(lines))
