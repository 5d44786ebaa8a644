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
from dataclasses import replace
from typing import Any

from navigator.model.diff import FileDiff, Hunk, choices, what_happens
from navigator.model.models import Finding

KEY_LENGTH = 12


class KeyRing:
    """Keys for one residency; `secret` is drawn once and never leaves the process."""

    def __init__(self, secret: bytes | None = None) -> None:
        self._secret = secret or secrets.token_bytes(16)

    def key_for(self, texts: Sequence[str]) -> str:
        """The first key of the ring that occurs in none of `texts` (12 hex digits)."""
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


def finding_row(finding: Finding) -> dict[str, Any]:
    """A finding as prompts show it."""
    fields = {"kind", "path", "line", "quote", "severity", "criterion", "trigger", "message"}
    return finding.model_dump(mode="json", include=fields)


def with_labels(files: Sequence[FileDiff]) -> list[FileDiff]:
    """The same diff where every file has something to name: a rename or a change of mode alone gets an empty hunk `F<n>`.

    The label is that of `model.diff.choices`: the file's place in the whole diff, from 1.
    """
    return [
        file
        if file.hunks
        else replace(
            file,
            hunks=(
                Hunk(choices(file, number)[0], 0, 0, 1, 0, "" if file.binary else what_happens(file), ()),
            ),
        )
        for number, file in enumerate(files, 1)
    ]


def file_title(file: FileDiff) -> str:
    """A file's name as prompts write it, on one line whatever it is called."""
    names = [name.replace("\n", "\\n").replace("\r", "\\r") for name in (file.old_path, file.path)]
    name = " => ".join(names) if file.status.startswith("R") else names[1]
    return name + {"A": " (new file)", "D": " (deleted)"}.get(file.status[:1], "")


def _numbered(hunk: Hunk) -> str:
    """A hunk as the reviewer sees it: new-file numbers in front, none before removed lines.

    The form is `    42|+text`: six columns of number, a bar, the sign, the line.
    """
    return "\n".join(
        f"{line.new if line.kind != '-' else '':>6}|{line.kind}{line.text}" for line in hunk.lines
    )


def diff_text(files: Sequence[FileDiff]) -> str:
    """A diff as the reviewer sees it: `### path`, then each hunk under its label with new-file line numbers."""
    parts: list[str] = []
    for file in files:
        parts.append(f"### {file_title(file)}")
        if file.binary:
            parts.append("(binary)")
        for hunk in file.hunks:
            parts.append(f"@@ {hunk.label} @@ {hunk.section}".rstrip())
            if hunk.lines:
                parts.append(_numbered(hunk))
    return "\n".join(parts) + "\n"
