"""`[routing]`: which model writes what."""

from __future__ import annotations

from typing import Literal

from navigator.config.section import Section
from navigator.domain.states import Complexity, Role, TaskKind

WriterName = Literal["generator", "reviewer"]


class RoutingSettings(Section):
    """Task kind -> the model that writes it. What the reviewer's model writes waits for its residency and is self-reviewed.

    `complex_tasks` is a second reason to have the reviewer's model write: whatever the kind, where the task is complex.
    """

    scan: WriterName = "generator"
    implement: WriterName = "generator"
    fix: WriterName = "generator"
    refactor: WriterName = "generator"
    test: WriterName = "generator"
    docs: WriterName = "generator"
    security: WriterName = "generator"
    architecture: WriterName = "generator"
    complex_tasks: WriterName = "generator"

    def writer(self, kind: TaskKind, complexity: Complexity) -> Role:
        """The role that writes a task."""
        if complexity is Complexity.COMPLEX and self.complex_tasks == Role.REVIEWER.value:
            return Role.REVIEWER
        return Role(getattr(self, kind.value))
