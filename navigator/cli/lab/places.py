"""Whose server is measured, and where the lab keeps what it measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from navigator.config.paths import private_folder, state_dir
from navigator.model.states import Role


def role_option(about: str) -> Callable[[Any], Any]:
    """`--role` of the commands that measure a server and decide about it."""
    return click.option(
        "--role",
        type=click.Choice([Role.GENERATOR.value, Role.REVIEWER.value]),
        default=Role.GENERATOR.value,
        show_default=True,
        help=about,
    )


def runs_file(role: Role) -> Path:
    """The runs measured for a role, in the state folder."""
    return private_folder(state_dir() / "lab") / f"speculation-{role.value}.jsonl"
