"""Keys and passwords in text: found, so that a file that holds one is never shown to a model, and redacted on every way out.

The patterns name what is unmistakable: private keys, and the tokens of well-known providers by their fixed prefixes and
lengths. A token with few different characters is a placeholder (`ghp_xxxxxxxx…`) and passes, as does one that says EXAMPLE.
Passwords have no form of their own. `Redactor` knows them by value: those of the files that no model is shown, and the
configured API keys.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from navigator.model import patterns
from navigator.model.json_text import table
from navigator.model.text import in_data

_PRIVATE_KEY = patterns.compile(
    r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|^PuTTY-User-Key-File-\d", patterns.MULTILINE
)
_LAST = r"(?:[A-Za-z0-9_]\b|-\B)"


@dataclass(frozen=True, slots=True)
class _Tokens:
    """`secrets.toml`: `words` finds tokens as whole words, `anywhere` inside of a longer word too; a group each, in the order
    of `names`. The first group of `words` is what stands before."""

    names: tuple[str, ...]
    words: patterns.Pattern[str]
    anywhere: patterns.Pattern[str]


@cache
def _tokens() -> _Tokens:
    rules = table(__package__, "secrets.toml")["tokens"]
    every = f"(?:{'|'.join(f'({rule})' for rule in rules.values())})"
    inside = every.replace("%last%", "[A-Za-z0-9_-]").replace(r"\b", "").replace(r"\B", "")
    # A colour that a terminal is told of ends in a letter right before the word: `ESC[31m`, `ESC[0;1m`.
    words = rf"(?P<before>\b|[0-9;\[]m){every.replace('%last%', _LAST)}"
    return _Tokens(
        tuple(rules), patterns.compile(words, patterns.ASCII), patterns.compile(inside, patterns.ASCII)
    )


_KEY_HEADER = patterns.compile(r"-----BEGIN ((?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?)-----")
_LONGEST_KEY = 20_000
_FEWEST_CHARACTERS = 10
_LONGEST_LOOKED_AT = 200


def secret_in(content: bytes) -> str:
    """What secret a content holds, as the reason why it is left out, with the line; "" where none is found."""
    found = find_secret(content)
    return f"{found[0]} (line {found[1]})" if found else ""


def find_secret(content: bytes) -> tuple[str, int] | None:
    """The first secret of a content: what it holds, in words, and in which line.

    The secret itself is in no answer. The time is linear in the content's length.
    """
    text = content.decode("latin-1")
    key = _PRIVATE_KEY.search(text)
    if key is not None:
        return "holds a private key", text.count("\n", 0, key.start()) + 1
    tokens = _tokens()
    for match in tokens.words.finditer(text):
        at = match.lastindex or 0
        if not _is_placeholder(match[at]):
            return f"holds what looks like {tokens.names[at - 2]}", text.count("\n", 0, match.start(at)) + 1
    return None


def secret_in_name(path: str) -> str:
    """What token of a provider's a path holds, also inside of a longer word; "" where none is found."""
    tokens = _tokens()
    for match in tokens.anywhere.finditer(path):
        if not _is_placeholder(match[0]):
            return f"its name holds what looks like {tokens.names[(match.lastindex or 0) - 1]}"
    return ""


class Redactor:
    """Replaces secrets in text that leaves Navigator: test output, errors, findings, logs, events, exports.

    Known are the providers' tokens and private keys by their form, and any value that `learn` was given. One object serves a
    process; a value that was learnt once is never shown again. Redact before cutting a text: half a key is not recognised.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: set[str] = set()
        self._size = 0
        self._known: Any = None
        self.left_out = 0
        self.learn(values)

    def learn(self, values: Iterable[str]) -> None:
        """Redact these values too, from now on.

        What is too short to be told from ordinary words is left out, and what is more than 20,000 values or 2 million
        characters in all: `left_out` counts these.
        """
        for value in {raw.strip() for raw in values} - self._values:
            if len(value) < _SHORTEST_VALUE:
                continue
            if len(self._values) >= MOST_VALUES or self._size + len(value) > _MOST_CHARACTERS:
                self.left_out += 1
                continue
            self._values.add(value)
            self._size += len(value)
            self._known = None

    def __call__(self, text: str) -> str:
        """`text` with every secret replaced by a word that says what was there."""
        text = _without_keys(self._without_values(text))
        return _tokens().words.sub(_redacted_token, text)

    def _without_values(self, text: str) -> str:
        if not self._values:
            return text
        known = self._known or _automaton(tuple(self._values))
        self._known = known
        parts: list[str] = []
        at = 0
        for last, size in known.iter_long(text):
            parts += [text[at : last + 1 - size], "[redacted]"]
            at = last + 1
        return "".join([*parts, text[at:]])

    def outgoing(self, text: str) -> str:
        """`text` as it may be sent to another machine: also without what only looks like a secret.

        That is a provider's token inside of a longer word, a password in an address, what is assigned to a name that suggests a
        secret, and long words that look drawn at random. Hashes and test data are removed with
        them: a gap in a prompt does less harm than a key in it.
        """
        text = _tokens().anywhere.sub(_redacted_anywhere, self(text))
        text = _IN_ADDRESS.sub(r"\g<before>[redacted]@", text)
        text = _HEADER.sub(_redacted_header, text)
        text = _ASSIGNED.sub(_redacted_value, text)
        return _LONG_WORD.sub(_redacted_random, text)

    def data(self, value: Any) -> Any:
        """JSON data with every string in it redacted; names of fields stay."""
        return in_data(value, self)


_SHORTEST_VALUE = 5
MOST_VALUES = 20_000
"""Values that a `Redactor` knows at most: some 60 MB of memory and half a second to learn."""
_MOST_CHARACTERS = 2_000_000


def _automaton(values: Iterable[str]) -> Any:
    """What finds the values in one pass: as they are, and as JSON writes them, since exports may hold either."""
    import ahocorasick

    known = ahocorasick.Automaton()
    for value in values:
        for form in {value, json.dumps(value)[1:-1]}:
            known.add_word(form, len(form))
    known.make_automaton()
    return known


def _without_keys(text: str) -> str:
    """The text without blocks of private keys; one that is never closed ends at the next line of dashes, or is cut."""
    parts: list[str] = []
    at = 0
    for match in _KEY_HEADER.finditer(text) if "-----BEGIN " in text else ():
        if match.start() < at:
            continue
        end = text.find("-----", match.end(), match.end() + _LONGEST_KEY + 5)
        parts += [text[at : match.start()], "[redacted: a private key]"]
        closing = f"-----END {match[1]}-----"
        at = min(match.end() + _LONGEST_KEY, len(text)) if end < 0 else end
        at += len(closing) if text.startswith(closing, at) else 0
    return "".join([*parts, text[at:]])


def _is_placeholder(token: str) -> bool:
    token = token[:_LONGEST_LOOKED_AT]
    return "EXAMPLE" in token.upper() or len(set(token)) < _FEWEST_CHARACTERS


def _redacted_token(match: patterns.Match[str]) -> str:
    at = match.lastindex or 0
    if _is_placeholder(match[at]):
        return str(match[0])
    return f"{match['before']}[redacted: {_tokens().names[at - 2]}]"


def _redacted_anywhere(match: patterns.Match[str]) -> str:
    at = match.lastindex or 0
    return str(match[0]) if _is_placeholder(match[0]) else f"[redacted: {_tokens().names[at - 1]}]"


_IN_ADDRESS = patterns.compile(r"(?i)(?P<before>\b[a-z][a-z0-9+.-]{0,20}://[^/\s:@]{0,80}:)[^@\s/]{3,200}@")
_HEADER = patterns.compile(r"(?i)(?P<before>\b(?:bearer|basic)\s+)(?P<value>[A-Za-z0-9._~+/=-]{12,})")
_ASSIGNED = patterns.compile(
    r"""(?i)(?P<before>(?:passw(?:or)?d|passphrase|pwd|secret|token|credential|(?:api|access|private|auth)[_-]?key)[\w.-]*["'\]]{0,2}"""
    r"""[ \t]*(?:=>|:=|[=:])[ \t]*(?P<quote>["'`]?))(?P<value>[^\s"'`,;()\[\]{}<>]{6,400})"""
)
_LONG_WORD = patterns.compile(r"[A-Za-z0-9+/=_-]{32,}")
_LONGEST_WORD = 4_000
_HEX = patterns.compile(r"[0-9a-fA-F]+")
_BITS_HEX, _BITS = 3.0, 4.5
"""Bits a character from which a long word counts as drawn at random; the limits that detect-secrets uses."""


def _redacted_header(match: patterns.Match[str]) -> str:
    return f"{match['before']}[redacted]" if _DIGIT.search(match["value"]) else str(match[0])


def _redacted_value(match: patterns.Match[str]) -> str:
    value = match["value"]
    if _EVERYDAY.fullmatch(value) or not (match["quote"] or _mixed(value)):
        return str(match[0])
    return f"{match['before']}[redacted]"


def _redacted_random(match: patterns.Match[str]) -> str:
    word: str = match[0]
    if len(word) > _LONGEST_WORD:
        return word
    bits = -sum(n / len(word) * math.log2(n / len(word)) for n in Counter(word).values())
    return "[redacted]" if bits >= (_BITS_HEX if _HEX.fullmatch(word) else _BITS) else word


def environment_values(environment: Mapping[str, str]) -> Iterator[str]:
    """The values of variables whose name speaks of a secret."""
    for name, value in environment.items():
        if _NAMES_A_SECRET.search(name) and len(value) >= 8 and _telling(value, named=True):
            yield value


_ASSIGNMENT = patterns.compile(
    r"""^[ \t-]*(?:export\s+|set\s+)?["']?(?P<name>[\w./:@-]+)["']?"""
    r"""[ \t]*(?:=>|:=|[=:])[ \t]*(?P<value>\S[^\r\n]*)\r?$""",
    patterns.MULTILINE,
)
_NAMES_A_SECRET = patterns.compile(r"(?i)pass|secret|token|key|pwd|cred|auth|salt|login")
_DIGIT, _LETTER = patterns.compile(r"[0-9]"), patterns.compile(r"[A-Za-z]")
_EVERYDAY = patterns.compile(
    r"(?i)true|false|none|null|yes|no|on|off|localhost|production|development|v?\d+(?:\.\d+)*"
)
_ADDRESS = patterns.compile(r"(?i)[a-z][a-z0-9+.-]{0,20}://[^/\s:@]{0,80}:(?P<word>[^@\s]{4,200})@")
_JSON_STRING = patterns.compile(r'"((?:[^"\\\n]|\\.)+)"')
_LONGEST_SECRET = 4_000
_LARGEST_FILE = 256 * 1024


def values_in(content: bytes) -> Iterator[str]:
    """The values in a file that no model is shown: of its assignments, of its JSON strings, and the lines of a key.

    A value counts when its name speaks of a secret, or when it looks drawn at random: at least eight characters with letters
    and digits mixed. Words such as `production` and `localhost` stay readable.
    """
    text = content[:_LARGEST_FILE].decode("utf-8", "replace")
    for match in _ASSIGNMENT.finditer(text):
        if len(match["value"]) > _LONGEST_SECRET:
            continue
        raw = match["value"].strip().rstrip(",;").strip()
        quoted = len(raw) > 1 and raw[0] == raw[-1] and raw[0] in "\"'`"
        value = raw[1:-1] if quoted else raw.partition(" #")[0].strip()
        if _telling(value, named=_NAMES_A_SECRET.search(match["name"]) is not None):
            yield value
            # A password inside of an address is used without the rest of it, too.
            address = _ADDRESS.match(value)
            if address is not None:
                yield address["word"]
    for match in _JSON_STRING.finditer(text):
        if len(match[1]) <= _LONGEST_SECRET and _telling(match[1], named=False):
            yield match[1]
    for line in text.splitlines():
        word = line.strip()
        if len(word) >= 16 and patterns.fullmatch(r"[A-Za-z0-9+/=_-]{16,4000}", word) and _mixed(word):
            yield word
    # `.netrc`, `.pgpass`, `.htpasswd`: fields between blanks or colons.
    for match in patterns.finditer(r"(?i)\b(?:password|login)\s+(\S{4,200})", text):
        yield match[1]
    for match in patterns.finditer(r"(?m)^[^\s:#]+(?::[^\s:]+){0,4}:([^\s:]{6,200})$", text):
        yield match[1]


def _telling(value: str, *, named: bool) -> bool:
    if _EVERYDAY.fullmatch(value):
        return False
    if named:
        return len(value) >= _SHORTEST_VALUE
    return len(value) >= 8 and _mixed(value) and " " not in value


def _mixed(value: str) -> bool:
    return _DIGIT.search(value) is not None and _LETTER.search(value) is not None
