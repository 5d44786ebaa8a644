"""Keys and passwords that a change adds: whole private keys, providers' tokens, and values that look drawn by lot."""

from __future__ import annotations

import math
import re
from collections import Counter

from navigator.domain.secrets import find_secret

_LONGEST_LINE = 1_000
_FEWEST_BITS = 3.3
"""Bits a character: words of a language stay below it, keys of sixteen characters and more above."""

_ASSIGNED = re.compile(
    r"(?i)\b[\w.-]{0,40}(?:api_?-?key|secret|token|passw(?:or)?d|passphrase|pwd|credential|private_?-?key|access_?-?key|auth_?-?key"
    r"|client_?-?secret|signing_?-?key|encryption_?-?key)[\w.-]{0,40}[\"']?\s{0,20}(?:[:=]|=>|:=)\s*[\"'`](?P<value>[^\"'`\s]{12,200})[\"'`]"
)
_BARE = re.compile(
    r"(?i)^\s*(?:export\s+)?[\w.-]{0,40}(?:API_?KEY|SECRET|TOKEN|PASSWORD|PASSWD|PRIVATE_?KEY|ACCESS_?KEY)[\w.-]{0,40}\s*[=:]\s*(?P<value>[^\s\"'`#;,]{16,200})\s*$"
)
_IN_ADDRESS = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,20}://[^/\s:@\"']{1,80}:(?P<value>[^/\s:@\"'{}$<>]{6,200})@[\w.-]+", re.I
)
_STAND_IN = re.compile(
    r"(?i)example|change_?-?me|placeholder|your[_-]|dummy|sample|fake|test|xxxx|0000|1234567|abcdef|password|secret|redacted"
    r"|<[^>]*>|\$\{|\{\{|%\(|\*\*\*|\.\.\.|environ|getenv|process\.env|localhost|foobar|lorem"
)


def added_secret(old: str | None, new: str | None) -> str:
    """What secret the added lines hold, in words with the line's number; "" where none is found.

    The secret itself is never in the answer.
    """
    if new is None:
        return ""
    known = Counter((old or "").splitlines())
    added: list[tuple[int, str]] = []
    for number, line in enumerate(new.splitlines(), 1):
        if known[line] > 0:
            known[line] -= 1
        else:
            added.append((number, line[:_LONGEST_LINE]))
    if not added:
        return ""
    found = find_secret("\n".join(line for _, line in added).encode("utf-8", "surrogateescape"))
    if found:
        words, place = found
        return f"{words} (line {added[place - 1][0]})"
    for number, line in added:
        if _drawn_by_lot(line):
            return f"line {number} looks like a key or a password written into the text"
    return ""


def _drawn_by_lot(line: str) -> bool:
    for pattern in (_ASSIGNED, _BARE, _IN_ADDRESS):
        for match in pattern.finditer(line):
            value = match["value"]
            if pattern is _IN_ADDRESS:
                if not _STAND_IN.search(value):
                    return True
            elif not _STAND_IN.search(value) and _random(value):
                return True
    return False


def _random(value: str) -> bool:
    """Letters and digits mixed as no word is; paths, addresses, versions and names in code are none."""
    if len(value) < 16 or re.fullmatch(r"[\w.]+\(.*|[a-z]+://.*|[./~].*|[\w-]+(?:\.[\w-]+)+", value):
        return False
    kinds = sum(bool(re.search(kind, value)) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
    if kinds < 2 or not re.search("[0-9]", value):
        return False
    counts = Counter(value)
    bits = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
    return bits >= _FEWEST_BITS
