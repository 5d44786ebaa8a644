"""Small choices that outlive the screens: theme, sorting, how diffs are shown. A JSON file in the state folder."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

from navigator.config.paths import write_private
from navigator.model.json_text import read_json

log = logging.getLogger(__name__)


class Prefs:
    """Reads once, writes when something changes. A file that cannot be read or written costs only the memory of a choice."""

    def __init__(self, root: Path) -> None:
        self._path = root / "screens.json"
        self._values: dict[str, Any] = {}
        try:
            held = read_json(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return
        if isinstance(held, dict):
            self._values = held

    def get(self, key: str, default: str) -> str:
        """A choice, or `default`."""
        value = self._values.get(key)
        return value if isinstance(value, str) else default

    def set(self, key: str, value: str) -> None:
        """Keep a choice."""
        if self._values.get(key) == value:
            return
        self._values[key] = value
        try:
            write_private(self._path, json.dumps(self._values, indent=1).encode())
        except OSError as error:
            log.warning("choices of the screens are not kept: %s", error)
