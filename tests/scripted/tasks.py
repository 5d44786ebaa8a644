"""Tasks for the scripted writer: as many as a test wants, each for one file of a sample repository."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice
from typing import Any

from navigator.rehearsal.samples import SampleProject


def notes(n: int, projects: Sequence[SampleProject]) -> list[dict[str, Any]]:
    """`n` different tasks as they are queued, a project's first before another's second; few name the same file."""
    of_each = [
        cycle([path for path in project.files if path.endswith((".py", ".md"))]) for project in projects
    ]
    turns = cycle(zip(projects, of_each, strict=True))
    return [
        {"project": project.name, "text": f"Note {number}\n\nin {path}", "kind": "docs", "files": [path]}
        for number, (project, paths) in enumerate(islice(turns, n))
        for path in (next(paths),)
    ]
