"""Data blocks: repository text in a prompt, between delimiters that the text itself cannot forge.

The key is a keyed hash, constant for one residency so that the server's prefix cache holds. A text that happens to
contain the key gets the next one of the ring: `KeyRing.key_for` looks at every text first.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Sequence

from navigator.domain.diff import FileDiff, numbered

KEY_LENGTH = 12


class KeyRing:
    """Keys for one residency; `secret` is drawn once and never leaves the process."""

    def __init__(self, secret: bytes | None = None) -> None:
        self._secret = secret or secrets.token_bytes(16)

    def key_for(self, texts: Sequence[str]) -> str:
        """The first key of the ring that stands in none of `texts` (12 hex digits)."""
        counter = 0
        while True:
            message = counter.to_bytes(4, "big")
            key = hmac.new(self._secret, message, hashlib.sha256).hexdigest()[:KEY_LENGTH]
            if not any(key in text for text in texts):
                return key
            counter += 1


def data_block(kind: str, key: str, content: str, /, **attributes: object) -> str:
    """`[[begin KIND KEY {…}]]`, the content, `[[end KIND KEY]]`, each marker alone on its line."""
    if content and not content.endswith("\n"):
        content += "\n"
        attributes["no_final_newline"] = True
    head = f"[[begin {kind} {key} {json.dumps(attributes, ensure_ascii=False)}]]"
    return f"{head}\n{content}[[end {kind} {key}]]"


def diff_text(files: Sequence[FileDiff]) -> str:
    """A diff as the reviewer sees it: `### path`, then each hunk under its label with new-file line numbers."""
    parts: list[str] = []
    for file in files:
        name = f"{file.old_path} => {file.new_path}" if file.status.startswith("R") else file.path
        suffix = {"A": " (new file)", "D": " (deleted)"}.get(file.status[:1], "")
        parts.append(f"### {name}{suffix}")
        if file.binary:
            parts.append("(binary)")
        for hunk in file.hunks:
            parts.append(f"@@ {hunk.label} @@ {hunk.section}".rstrip())
            parts.append(numbered(hunk))
    return "\n".join(parts) + "\n"
