"""Findings and comments as rows of prose: a bar, what kind of remark, the words, who said it."""

from __future__ import annotations

from typing import NamedTuple

from rich.cells import cell_len

from navigator.model.models import Finding
from navigator.model.states import FindingKind, Severity
from navigator.tui.diff.cells import display, fit, wrap_words
from navigator.tui.diff.model import Annotation, Comment, FindingNote

MAX_WIDTH = 96
"""Cells of a box at most: longer lines of prose are hard to read."""

SEVERITY_GLYPHS = {Severity.BLOCKER: "◆", Severity.MAJOR: "●", Severity.MINOR: "○", Severity.NIT: "·"}
"""Shape carries the weight where colour is missing; the word always follows."""


class Piece(NamedTuple):
    """Words and the name of the style that the painter gives them."""

    text: str
    style: str


BoxLine = tuple[Piece, ...]


def box_lines(annotation: Annotation, width: int, *, collapsed: bool, elsewhere: bool) -> list[BoxLine]:
    """The lines of one box, each at most `width` cells. `elsewhere`: it does not stand under the line it is about."""
    width = max(8, min(width, MAX_WIDTH))
    if isinstance(annotation, Comment):
        return _comment(annotation, width, collapsed=collapsed, elsewhere=elsewhere)
    return _finding(annotation, width, collapsed=collapsed, elsewhere=elsewhere)


def _finding(note: FindingNote, width: int, *, collapsed: bool, elsewhere: bool) -> list[BoxLine]:
    finding = note.finding
    severity = f"severity-{finding.severity.value}"
    label = f"{SEVERITY_GLYPHS[finding.severity]} {finding.severity.value}"
    if collapsed:
        first = display(" ".join(finding.message.split()))
        room = width - cell_len(label) - 4
        return [
            (
                Piece("▸ ", "muted"),
                Piece(label, severity),
                Piece("  ", "body"),
                Piece(fit(first, room), "muted"),
            )
        ]
    about = f" · {finding.criterion.value} · {finding.kind.value}"
    if not finding.anchored:
        about += f" · {finding.why_unanchored}"
    lines = [_headline((Piece(label, severity), Piece(about, "muted")), _who(note), width)]
    if elsewhere and (place := _place(finding)):
        lines.append((Piece(fit(place, width), "muted"),))
    lines += _prose(finding.message, "body", width)
    if finding.quote and (elsewhere or finding.kind is FindingKind.MISSING):
        lines += _labelled(
            "asked for: " if finding.side == "task" else "quotes: ", finding.quote, "quote", width
        )
    if finding.trigger:
        lines += _labelled("happens when: ", finding.trigger, "body", width)
    for remark in note.remarks:
        lines += _prose(remark, "muted", width)
    return lines


def _comment(comment: Comment, width: int, *, collapsed: bool, elsewhere: bool) -> list[BoxLine]:
    author = display(comment.author)
    if collapsed:
        first = display(" ".join(comment.text.split()))
        room = width - cell_len(author) - 4
        return [(Piece("▸ ", "muted"), Piece(f"{author}: ", "author"), Piece(fit(first, room), "muted"))]
    lines: list[BoxLine] = []
    if elsewhere and comment.line is not None:
        place = fit(display(f"{comment.path}:{comment.line}"), width)
        lines.append((Piece(place, "muted"),))
    state_room = len(comment.state) + 2
    words = wrap_words(comment.text, max(8, width - cell_len(author) - 2 - state_room))
    head = (Piece(f"{author}: ", "author"), Piece(words[0], "body"))
    lines.append(_headline(head, comment.state, width))
    indent = Piece(" " * (cell_len(author) + 2), "body")
    lines += [(indent, Piece(word, "body")) for word in words[1:]]
    return lines


def _headline(left: tuple[Piece, ...], right: str, width: int) -> BoxLine:
    """`left`, and `right` at the far end where there is room for both; `left` is cut before it is lost."""
    used = sum(cell_len(piece.text) for piece in left)
    if not right:
        return _cut(left, width)
    gap = width - used - cell_len(right)
    if gap >= 2:
        return (*left, Piece(" " * gap, "body"), Piece(right, "muted"))
    return _cut((*left, Piece(f" · {right}", "muted")), width)


def _cut(pieces: tuple[Piece, ...], width: int) -> BoxLine:
    room = width
    kept: list[Piece] = []
    for text, style in pieces:
        if room <= 0:
            break
        text = fit(text, room)
        kept.append(Piece(text, style))
        room -= cell_len(text)
    return tuple(kept)


def _who(note: FindingNote) -> str:
    parts = [display(note.by)] if note.by else []
    if note.round is not None:
        parts.append(f"round {note.round}")
    return ", ".join(parts)


def _place(finding: Finding) -> str:
    """Where a finding belongs that could not be put there."""
    if finding.side == "task":
        return f"about the task, {finding.hunk}" if finding.hunk else "about the task"
    where = display(finding.path)
    if finding.line is not None:
        where += f":{finding.line}"
    return " · ".join(part for part in (where, display(finding.hunk)) if part)


def _prose(text: str, style: str, width: int) -> list[BoxLine]:
    return [(Piece(row, style),) for row in wrap_words(text, width)]


def _labelled(label: str, text: str, style: str, width: int) -> list[BoxLine]:
    """A word of introduction, then the text with its further rows under its first."""
    indent = len(label)
    if width - indent < 20:
        return _prose(label + text, style, width)
    rows = wrap_words(text, width - indent)
    return [
        (Piece(label if index == 0 else " " * indent, "muted"), Piece(row, style))
        for index, row in enumerate(rows)
    ]
