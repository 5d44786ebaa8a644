"""Whether a file's content holds a key or a password: such a file is never sent, listed with its words, or mapped.

The rules name what is unmistakable: whole private keys, and the tokens of well-known providers by their fixed beginnings and
lengths. A token with few different characters is a placeholder (`ghp_xxxxxxxx…`) and passes, as does one that says EXAMPLE.
Passwords without a form of their own cannot be told from other words; `.navigatorignore` is for files that hold these.
"""

from __future__ import annotations

import re

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
    rb"(?<![A-Za-z0-9_])(?:"
    + b"|".join(b"(" + rule + b")" for rule in _RULES.values())
    + rb")(?![A-Za-z0-9_])"
)
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
        token = match[0][:_LONGEST_LOOKED_AT]
        if b"EXAMPLE" in token.upper() or len(set(token)) < _FEWEST_CHARACTERS:
            continue
        assert match.lastindex is not None
        return f"holds what looks like {_NAMES[match.lastindex - 1]}", _line(content, match.start())
    return None


def _line(content: bytes, at: int) -> int:
    return content.count(b"\n", 0, at) + 1
