"""Markdown as lines of pieces: headings, lists, quotes, code, and the little inside a line that helps reading.

Only looks are taken from the text. Addresses stay text, images are named and not fetched, HTML is shown as it is written.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len, chop_cells

from navigator.model import patterns
from navigator.model.text import safe_line
from navigator.tui.widgets.cells import Piece, display

Line = list[Piece]

_FENCE = patterns.compile(r"^ {0,3}(`{3,}|~{3,})")
_HEADING = patterns.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_ITEM = patterns.compile(r"^(\s*)([-*+]|\d{1,4}[.)])(\s+)(.*)$")
_QUOTE = patterns.compile(r"^ {0,3}>\s?(.*)$")
_RULE = patterns.compile(r"^ {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$")
_INLINE = patterns.compile(
    r"``(?P<code2>.+?)``|`(?P<code>[^`]+)`|\*\*(?P<bold>[^\s*](?:.*?[^\s*])?)\*\*|!?\[(?P<name>[^\]]*)\]\((?P<to>[^)\s]*)[^)]*\)"
)
_LONGEST_READ = 2_000
"""Characters of a line in which bold words, code and links are looked for; the rest is shown as it is written."""

_TAB = 4
_INDENT = "  "
_MOST_INDENT = 12


def drawn(text: str, width: int) -> list[Line]:
    """The text in lines of at most `width` cells."""
    return list(_markdown_lines(text, max(8, width)))


def _markdown_lines(text: str, width: int) -> Iterator[Line]:
    fence = ""
    for raw in text.splitlines():
        line = safe_line(raw.expandtabs(_TAB)).rstrip()
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip(fence[0]).strip():
                fence = ""
                continue
            yield from _code(line, width)
        elif mark:
            fence = mark[1]
        else:
            yield from _block(line, width)


def _block(line: str, width: int) -> Iterator[Line]:
    deep = min(len(line) - len(line.lstrip()), _MOST_INDENT, width // 4)
    if not line.strip():
        yield []
    elif heading := _HEADING.match(line):
        words = "".join(text for text, _ in _inline(heading[2]))
        yield from wrapped([(words, "title" if len(heading[1]) < 3 else "strong")], width)
    elif _RULE.match(line):
        yield [("─" * width, "faint")]
    elif (item := _ITEM.match(line)) and len(item[2]) < width // 2:
        head = f"{' ' * deep}{'•' if item[2] in '-*+' else item[2]} "
        yield from wrapped(_inline(item[4]), width, [(head, "muted")], " " * len(head))
    elif quote := _QUOTE.match(line):
        yield from wrapped(_inline(quote[1]), width, [("▏ ", "faint")], "▏ ")
    elif line.startswith("    ") or line.lstrip().startswith("|"):
        # Code, the rest of a list's item, or a table: as it is written, the indentation kept.
        yield from _code(line[deep:], width, " " * deep)
    else:
        yield from wrapped(_inline(line.lstrip()), width, [(" " * deep, "")], " " * deep)


def _code(line: str, width: int, indent: str = _INDENT) -> Iterator[Line]:
    room = max(4, width - len(indent))
    for part in chop_cells(line, room) or [""]:
        yield [(indent, ""), (part, "accent")]


def _inline(text: str) -> Line:
    pieces: Line = []
    end = 0
    for match in _INLINE.finditer(text[:_LONGEST_READ]):
        pieces.append((text[end : match.start()], ""))
        end = match.end()
        if code := match["code"] or match["code2"]:
            pieces.append((code, "accent"))
        elif match["bold"] is not None:
            pieces.append((match["bold"], "strong"))
        else:
            word = "image: " if match[0].startswith("!") else ""
            name, to = match["name"], match["to"]
            pieces += [(f"{word}{name}", ""), (f" ({to})" if to and to != name else "", "muted")]
    pieces.append((text[end:], ""))
    return [piece for piece in pieces if piece[0]]


def wrapped(pieces: Line, width: int, first: Line | None = None, following: str = "") -> Iterator[Line]:
    """Pieces broken between words into lines of at most `width` cells; a word that is longer is cut.

    Args:
        first: what precedes the first line.
        following: what precedes the others.
    """
    line: Line = list(first or [])
    used = start = sum(cell_len(text) for text, _ in line)
    for word, style in _split_words(pieces):
        for part in (
            [word] if cell_len(word) <= width - len(following) else chop_cells(word, width - len(following))
        ):
            size = cell_len(part)
            if used + size > width and used > start:
                yield _trimmed(line)
                line, used = [(following, "faint" if following.strip() else "")], cell_len(following)
                start = used
                if part.isspace():
                    continue
            line.append((part, style))
            used += size
    yield _trimmed(line)


def wrap_words(text: str, width: int) -> list[str]:
    """Prose wrapped between words at `width` cells, words longer than that broken. `text` may be raw and hold newlines.

    Returns at least one row; every row is safe to draw.
    """
    paragraphs = (" ".join(display(paragraph).split()) for paragraph in text.split("\n"))
    lines = (line for words in paragraphs for line in wrapped([(words, "")], max(width, 1)))
    return ["".join(word for word, _ in line) for line in lines]


def _split_words(pieces: Line) -> Iterator[Piece]:
    """Words and the blanks between them, each with its style."""
    for text, style in pieces:
        for part in patterns.findall(r"\s+|\S+", text):
            yield part, style


def _trimmed(line: Line) -> Line:
    while line and not line[-1][0].strip():
        line = line[:-1]
    return line
