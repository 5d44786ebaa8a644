"""Keys and passwords in text: found, so that a file that holds one is never shown to a model, and redacted on every way out.

The patterns name what is unmistakable: private keys, and the tokens of well-known providers by their fixed prefixes and
lengths. A token with few different characters is a placeholder (`ghp_xxxxxxxx…`) and passes, as does one that says EXAMPLE.
Passwords have no form of their own. `Redactor` knows them by value: those of the files that no model is shown, and the
configured API keys.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_PRIVATE_KEY = re.compile(
    rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|^PuTTY-User-Key-File-\d", re.MULTILINE
)

# name of the rule -> what stands between two characters that cannot belong to a token
_RULES = {
    "an AWS access key": rb"(?:AKIA|ASIA)[A-Z2-7]{16}",
    "an Anthropic key": rb"sk-ant-[a-z0-9]{2,10}-[A-Za-z0-9_-]{32,}",
    "an OpenAI key": rb"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{32,}|sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}",
    "a GitHub token": rb"gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,}",
    "a GitLab token": rb"gl(?:pat|ptt|dt|rt|cbt|ft|agent|oas)-[A-Za-z0-9_-]{20,}",
    "a Slack token": rb"xox[abeoprs]-[A-Za-z0-9-]{20,}|xapp-\d-[A-Z0-9]+-\d+-[a-f0-9]{30,}",
    "a Slack webhook": rb"hooks\.slack\.com/services/T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{20,}",
    "a Discord webhook": rb"discord(?:app)?\.com/api/webhooks/\d{15,}/[A-Za-z0-9_-]{50,}",
    "a Stripe key": rb"[rs]k_(?:live|prod)_[A-Za-z0-9]{20,}",
    "a Google key": rb"AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{24,}|ya29\.[A-Za-z0-9_-]{40,}",
    "a Hugging Face token": rb"hf_[A-Za-z]{34,}",
    "an npm token": rb"npm_[A-Za-z0-9]{36}",
    "a PyPI token": rb"pypi-AgE[A-Za-z0-9_-]{50,}",
    "a SendGrid key": rb"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}",
    "a DigitalOcean token": rb"do[oprt]_v1_[a-f0-9]{64}",
    "a Databricks token": rb"dapi[a-f0-9]{32}",
    "a Telegram bot token": rb"\d{8,10}:AA[A-Za-z0-9_-]{33}",
    "a Vault token": rb"hv[sbr]\.[A-Za-z0-9_-]{24,}",
    "an age key": rb"AGE-SECRET-KEY-1[A-Z0-9]{50,}",
    "an Azure storage key": rb"AccountKey=[A-Za-z0-9+/]{86}==",
    "a Terraform token": rb"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}",
}
_NAMES = tuple(_RULES)
_TOKENS = re.compile(
    # A colour that a terminal is told of ends in a letter right before the word: `ESC[31m`, `ESC[0;1m`.
    rb"(?:(?<![A-Za-z0-9_])|(?<=[0-9;\[]m))(?:"
    + b"|".join(b"(" + rule + b")" for rule in _RULES.values())
    + rb")(?![A-Za-z0-9_])"
)
_KEY_BLOCK = re.compile(
    r"-----BEGIN (?P<what>(?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?)-----(?:(?!-----).){0,20000}(?:-----END (?P=what)-----)?",
    re.DOTALL,
)
_TEXT_TOKENS = re.compile(_TOKENS.pattern.decode("ascii"))
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
    key = _PRIVATE_KEY.search(content)
    if key is not None:
        return "holds a private key", _line(content, key.start())
    for match in _TOKENS.finditer(content):
        if _is_placeholder(match[0].decode("ascii")):
            continue
        assert match.lastindex is not None
        return f"holds what looks like {_NAMES[match.lastindex - 1]}", _line(content, match.start())
    return None


def secret_in_name(path: str) -> str:
    """What token of a provider's a path holds, also inside of a longer word; "" where none is found."""
    for match in _ANYWHERE.finditer(path):
        if not _is_placeholder(match[0]):
            assert match.lastindex is not None
            return f"its name holds what looks like {_NAMES[match.lastindex - 1]}"
    return ""


def _line(content: bytes, at: int) -> int:
    return content.count(b"\n", 0, at) + 1


class Redactor:
    """Replaces secrets in text that leaves Navigator: test output, errors, findings, logs, events, exports.

    Known are the providers' tokens and private keys by their form, and any value that `learn` was given. One object serves a
    process; a value that was learnt once is never shown again. Redact before cutting a text: half a key is not recognised.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: set[str] = set()
        self._known: re.Pattern[str] | None = None
        self.learn(values)

    def learn(self, values: Iterable[str]) -> None:
        """Redact these values too, from now on. What is too short to be told from ordinary words is left out."""
        new = {
            value for value in (raw.strip() for raw in values) if len(value) >= _SHORTEST_VALUE
        } - self._values
        if not new:
            return
        self._values |= new
        # As they are, and as JSON writes them: output and exports may hold either. Longest first, so that none hides in another.
        forms = {form for value in self._values for form in (value, json.dumps(value)[1:-1])}
        self._known = re.compile("|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True)))

    def __call__(self, text: str) -> str:
        """`text` with every secret replaced by a word that says what was there."""
        if self._known is not None:
            text = self._known.sub("[redacted]", text)
        if "-----BEGIN " in text:
            text = _KEY_BLOCK.sub("[redacted: a private key]", text)
        return _TEXT_TOKENS.sub(_redacted_token, text)

    def outgoing(self, text: str) -> str:
        """`text` as it may be sent to another machine: also without what only looks like a secret.

        That is a provider's token inside of a longer word, a password in an address, what is assigned to a name that suggests a
        secret, and long words that look drawn at random. Hashes and test data are removed with
        them: a gap in a prompt does less harm than a key in it.
        """
        text = _ANYWHERE.sub(_redacted_token, self(text))
        text = _IN_ADDRESS.sub(r"\g<before>[redacted]@", text)
        text = _HEADER.sub(r"\g<before>[redacted]", text)
        text = _ASSIGNED.sub(_redacted_value, text)
        return _LONG_WORD.sub(_redacted_random, text)

    def data(self, value: Any) -> Any:
        """JSON data with every string in it redacted; names of fields stay."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, dict):
            return {key: self.data(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.data(item) for item in value]
        return value


_SHORTEST_VALUE = 5


def _is_placeholder(token: str) -> bool:
    token = token[:_LONGEST_LOOKED_AT]
    return "EXAMPLE" in token.upper() or len(set(token)) < _FEWEST_CHARACTERS


def _redacted_token(match: re.Match[str]) -> str:
    if _is_placeholder(match[0]):
        return match[0]
    assert match.lastindex is not None
    return f"[redacted: {_NAMES[match.lastindex - 1]}]"


_ANYWHERE = re.compile("|".join("(" + rule.decode("ascii") + ")" for rule in _RULES.values()))
_IN_ADDRESS = re.compile(r"(?i)(?P<before>\b[a-z][a-z0-9+.-]{0,20}://[^/\s:@]{0,80}:)[^@\s/]{3,200}@")
_HEADER = re.compile(
    r"(?i)(?P<before>\b(?:bearer|basic)\s+)(?=[a-z._~+/=-]*[0-9])[A-Za-z0-9._~+/=-]{12,4000}"
)
_ASSIGNED = re.compile(
    r"""(?i)(?P<before>(?:passw(?:or)?d|passphrase|pwd|secret|token|credential|(?:api|access|private|auth)[_-]?key)[\w.-]{0,80}["'\]]{0,2}"""
    r"""[ \t]*(?:=>|:=|[=:])[ \t]*(?P<quote>["'`]?))(?P<value>[^\s"'`,;()\[\]{}<>]{6,400})"""
)
_LONG_WORD = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{32,4000}(?![A-Za-z0-9+/=_-])")
_HEX = re.compile(r"[0-9a-fA-F]+")
_BITS_HEX, _BITS = 3.0, 4.5
"""Bits a character from which a long word counts as drawn at random; the limits that detect-secrets uses."""


def _redacted_value(match: re.Match[str]) -> str:
    value = match["value"]
    if _EVERYDAY.fullmatch(value) or not (match["quote"] or _MIXED.match(value)):
        return match[0]
    return f"{match['before']}[redacted]"


def _redacted_random(match: re.Match[str]) -> str:
    word = match[0]
    bits = -sum(n / len(word) * math.log2(n / len(word)) for n in Counter(word).values())
    return "[redacted]" if bits >= (_BITS_HEX if _HEX.fullmatch(word) else _BITS) else word


def environment_values(environment: Mapping[str, str]) -> Iterator[str]:
    """The values of variables whose name speaks of a secret."""
    for name, value in environment.items():
        if _NAMES_A_SECRET.search(name) and len(value) >= 8 and _telling(value, named=True):
            yield value


_ASSIGNMENT = re.compile(
    r"""^[ \t-]*(?:export\s+|set\s+)?["']?(?P<name>[\w./:@-]{1,200})["']?"""
    r"""[ \t]*(?:=>|:=|[=:])[ \t]*(?P<value>\S[^\r\n]{0,4000})$""",
    re.MULTILINE,
)
_NAMES_A_SECRET = re.compile(r"(?i)pass|secret|token|key|pwd|cred|auth|salt|login")
_MIXED = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])")
_EVERYDAY = re.compile(
    r"(?i)true|false|none|null|yes|no|on|off|localhost|production|development|v?\d+(?:\.\d+)*"
)
_JSON_STRING = re.compile(r'"((?:[^"\\\n]|\\.){1,4000})"')
_LARGEST_FILE = 256 * 1024


def values_in(content: bytes) -> Iterator[str]:
    """The values in a file that no model is shown: of its assignments, of its JSON strings, and the lines of a key.

    A value counts when its name speaks of a secret, or when it looks drawn at random: at least eight characters with letters
    and digits mixed. Words such as `production` and `localhost` stay readable.
    """
    text = content[:_LARGEST_FILE].decode("utf-8", "replace")
    for match in _ASSIGNMENT.finditer(text):
        raw = match["value"].strip().rstrip(",;").strip()
        quoted = len(raw) > 1 and raw[0] == raw[-1] and raw[0] in "\"'`"
        value = raw[1:-1] if quoted else raw.partition(" #")[0].strip()
        if _telling(value, named=_NAMES_A_SECRET.search(match["name"]) is not None):
            yield value
            # A password inside of an address is used without the rest of it, too.
            address = re.match(
                r"[a-z][a-z0-9+.-]{0,20}://[^/\s:@]{0,80}:(?P<word>[^@\s]{4,200})@", value, re.IGNORECASE
            )
            if address is not None:
                yield address["word"]
    for match in _JSON_STRING.finditer(text):
        if _telling(match[1], named=False):
            yield match[1]
    for line in text.splitlines():
        word = line.strip()
        if len(word) >= 16 and re.fullmatch(r"[A-Za-z0-9+/=_-]{16,4000}", word) and _MIXED.match(word):
            yield word
    # `.netrc`, `.pgpass`, `.htpasswd`: fields between blanks or colons.
    for match in re.finditer(r"(?i)\b(?:password|login)\s+(\S{4,200})", text):
        yield match[1]
    for match in re.finditer(r"(?m)^[^\s:#]{1,200}(?::[^\s:]{1,200}){0,4}:([^\s:]{6,200})$", text):
        yield match[1]


def _telling(value: str, *, named: bool) -> bool:
    if _EVERYDAY.fullmatch(value):
        return False
    if named:
        return len(value) >= _SHORTEST_VALUE
    return len(value) >= 8 and _MIXED.match(value) is not None and " " not in value
