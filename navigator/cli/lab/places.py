"""Where the lab keeps what it measured."""

from __future__ import annotations

from pathlib import Path

from navigator.config.paths import private_folder, state_dir
from navigator.domain.states import Role


def runs_file(role: Role) -> Path:
    """The runs measured for a role, in the state folder."""
    return private_folder(state_dir() / "lab") / f"speculation-{role.value}.jsonl"
