"""Rules about Markdown: trailing spaces, headings, languages of fences, bare addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from navigator.model import patterns
from tests.scripted.writer.rules.base import Apply, Outcome, Places

_FENCE = patterns.compile(r"^( {0,3})(`{3,}|~{3,})(.*)$")
_HEADING = patterns.compile(r"^(#{1,6})([ \t]*)(\S.*?)([ \t]+#+)?[ \t]*$")
_ADDRESS = patterns.compile(r"https?://[^\s<>`\"')\]}|]+")
_COMMAND = patterns.compile(r"^(\$ |pip |python3? |git |make |npm |uv |curl |docker |cd |export )")


def _with_fences(lines: list[str]) -> Iterator[tuple[int, str, bool]]:
    """Each line with its index and whether it is prose (outside fences and front matter)."""
    fence = ""
    front = bool(lines) and lines[0].rstrip() == "---"
    for at, line in enumerate(lines):
        if front:
            yield at, line, False
            front = not (at > 0 and line.rstrip() == "---")
            continue
        match = _FENCE.match(line)
        if fence:
            yield at, line, False
            if match and match[2].startswith(fence) and not match[3].strip():
                fence = ""
            continue
        if match:
            fence = match[2]
        yield at, line, match is None


def _line_rule(fix: Callable[[list[str], Places], list[str]]) -> Apply:
    def apply(text: str, focus: frozenset[str], skip: frozenset[int]) -> Outcome:
        places = Places(skip)
        lines = fix(text.split("\n"), places)
        return Outcome("\n".join(lines), places.changed, places.seen)

    return apply


def _trailing(lines: list[str], places: Places) -> list[str]:
    result = list(lines)
    for at, line, prose in _with_fences(lines):
        bare = line.rstrip(" \t")
        follows = at + 1 < len(lines) and bool(lines[at + 1].strip())
        hard_break = bool(bare) and line == bare + "  " and follows
        if prose and bare != line and not hard_break and places.take():
            result[at] = bare
    return result


def _headings(lines: list[str], places: Places) -> list[str]:
    result: list[str] = []
    for at, line, prose in _with_fences(lines):
        match = _HEADING.match(line) if prose else None
        title = match[3] if match else ""
        before_blank = at == 0 or not lines[at - 1].strip()
        if match is None or (not match[2] and not (title[:1].isupper() and before_blank)):
            result.append(line)
            continue
        tidy = f"{match[1]} {title}"
        after_blank = at + 1 >= len(lines) or not lines[at + 1].strip()
        if tidy == line.rstrip() and before_blank and after_blank:
            result.append(line)
            continue
        if not places.take():
            result.append(line)
            continue
        if not before_blank and result and result[-1].strip():
            result.append("")
        result.append(tidy)
        if not after_blank:
            result.append("")
    return result


def _fences(lines: list[str], places: Places) -> list[str]:
    result = list(lines)
    inside = False
    for at, line in enumerate(lines):
        match = _FENCE.match(line)
        if match is None:
            continue
        if inside:
            inside = bool(match[3].strip())
            continue
        inside = True
        if match[3].strip():
            continue
        body = []
        for later in lines[at + 1 :]:
            if _FENCE.match(later):
                break
            body.append(later)
        if places.take():
            result[at] = f"{match[1]}{match[2]}{_language(body)}"
    return result


def _language(body: list[str]) -> str:
    """A guess at what a code block holds; "text" when nothing speaks for anything else."""
    first = next((line.strip() for line in body if line.strip()), "")
    if _COMMAND.match(first):
        return "console" if first.startswith("$ ") else "bash"
    if patterns.match(r"^(import |from \w+ import |def |class |>>> )", first):
        return "python"
    if first.startswith(("{", "[{")):
        return "json"
    if patterns.match(r"^\[[\w.\"-]+\]$", first) or patterns.match(r"^\w+ = ", first):
        return "toml"
    if patterns.match(r"^[\w-]+:( |$)", first):
        return "yaml"
    return "text"


def _addresses(lines: list[str], places: Places) -> list[str]:
    result = list(lines)
    for at, line, prose in _with_fences(lines):
        if (
            not prose
            or line.startswith(("    ", "\t"))
            or patterns.match(r"^\s*\[[^\]]+\]:", line)
            or "<" in line
        ):
            continue
        result[at] = _ADDRESS.sub(partial(_linked, line=line, places=places), line)
    return result


def _linked(match: patterns.Match[str], line: str, places: Places) -> str:
    before = line[: match.start()]
    if before.count("`") % 2 or before.endswith(("(", "[", '"', "'", "=")):
        return match[0]
    address = match[0].rstrip(".,;:!?*_")
    if not places.take():
        return match[0]
    return f"<{address}>{match[0][len(address) :]}"


trailing_spaces = _line_rule(_trailing)
headings = _line_rule(_headings)
fences = _line_rule(_fences)
addresses = _line_rule(_addresses)
