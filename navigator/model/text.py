"""The one filter between untrusted characters and a terminal.

Model output, repository text, file names and server answers may hold escape sequences, C1 controls, bidi
overrides and zero-width characters. `safe_text` makes every one of them visible and inert.
Sources: Unicode general categories Cc and Cf, the property Default_Ignorable_Code_Point (DerivedCoreProperties.txt, Unicode
16), Trojan Source (CVE-2021-42574). A variation selector may follow a sign that it gives the form of an emoji; anywhere else it
could carry hidden data and is made visible.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from navigator.model import patterns

SIMULATED = "REHEARSAL: simulated; says nothing about a real model"
"""Said wherever something of a rehearsal is shown."""

_C0 = "".join(chr(c) for c in range(0x20) if c not in (0x09, 0x0A))
_OTHERS = "\x7f" + "".join(chr(c) for c in range(0x80, 0xA0)) + "\u2028\u2029\ufff9-\ufffb"
_SELECTORS = "\ufe00-\ufe0f"
_IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
INVISIBLE = patterns.compile(f"[{_IGNORABLE}]")
"""Every default-ignorable code point: a name that holds one can look exactly like another name."""
_EMOJI_BASE = "#*0-9\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff"
_UNSAFE = patterns.compile(
    f"[{patterns.escape(_C0)}{_OTHERS}{_IGNORABLE.replace(_SELECTORS, '')}\ud800-\udfff\U00013430-\U0001343f]"
    f"|(?<![{_EMOJI_BASE}])[\ufe0e\ufe0f]|[\ufe00-\ufe0d]"
)


def _visible(match: patterns.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"<U+{code:04X}>"


def safe_text(text: str) -> str:
    """`text` with every control, bidi and zero-width character made visible; tab and newline stay."""
    return _UNSAFE.sub(_visible, text)


def safe_line(text: str) -> str:
    """`safe_text` on one line: newlines and tabs are made visible or spaces, so that a table keeps its shape."""
    return safe_text(text.replace("\t", " ")).replace("\n", "\u240a")


def safe_data(value: Any) -> Any:
    """JSON data with `safe_text` applied to every string in it, names of fields included."""
    return in_data(value, safe_text, safe_text)


def in_data(value: Any, change: Callable[[str], str], name: Callable[[str], str] = lambda key: key) -> Any:
    """JSON data with `change` applied to every string in it, and `name` to the names of fields."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name(key): in_data(item, change, name) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [in_data(item, change, name) for item in value]
    return value


def is_unsafe(text: str) -> bool:
    """Whether `text` holds a character that `safe_text` would replace, a tab or a newline."""
    return _UNSAFE.search(text) is not None or "\t" in text or "\n" in text


TITLE = 72
"""Characters of a title, as git's own tools expect of a commit's first line."""


def cut_title(line: str, most: int = TITLE) -> str:
    """A title in `most` characters, cut between words where that keeps most of it. Commits bear it: no ellipsis."""
    if len(line) <= most:
        return line
    cut = line[: most + 1]
    words = cut[: cut.rfind(" ")].rstrip(" ,;:–-") if " " in cut else ""
    return words if len(words) > most // 2 else line[:most].rstrip()


def plural(count: int, noun: str) -> str:
    """`1 task`, `3,000 tasks`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def duration(seconds: float) -> str:
    """Seconds as people read them: `0.4 s`, `42 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"


def short_model(name: str) -> str:
    """What tells models of one family apart: `Qwen/Qwen3.5-122B-A10B-GPTQ -> 122B`; else the last part of the name."""
    found = patterns.search(r"(?:^|[^0-9A-Za-z.])(\d+(?:\.\d+)?[BMbm])(?:[^A-Za-z]|$)", name)
    return found[1].upper() if found else name.rsplit("/", 1)[-1]
