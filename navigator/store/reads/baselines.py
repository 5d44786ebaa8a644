"""What a project's test command says of an unchanged tree: reading it."""

from __future__ import annotations

import json
import sqlite3

from navigator.domain.models import Baseline
from navigator.domain.states import CheckOutcome
from navigator.store.reads.queries import Queries


class BaselineReads(Queries):
    """Queries over baselines."""

    def baseline(self, project_id: int, tree: str, command: str, environment: str) -> Baseline | None:
        """What is known of one tree under one command and environment; None where it was never run."""
        found = self._all(
            "SELECT * FROM baselines WHERE project_id = ? AND tree = ? AND command = ? AND environment = ?",
            project_id,
            tree,
            command,
            environment,
        )
        return baseline_from(found[0]) if found else None

    def newest_baseline(self, project_id: int) -> Baseline | None:
        """The project's last run on an unchanged tree, whatever its command was then."""
        found = self._all(
            "SELECT * FROM baselines WHERE project_id = ? ORDER BY at DESC, id DESC LIMIT 1", project_id
        )
        return baseline_from(found[0]) if found else None


def baseline_from(row: sqlite3.Row) -> Baseline:
    """One row of the table as a model."""
    return Baseline(
        project_id=row["project_id"],
        tree=row["tree"],
        command=row["command"],
        environment=row["environment"],
        outcome=CheckOutcome(row["outcome"]),
        failures=tuple(json.loads(row["failures"])),
        detail=row["detail"],
        seconds=row["seconds"],
        at=row["at"],
    )
