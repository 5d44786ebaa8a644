"""What a project's test command says of an unchanged tree: written once, and read for every proposal on it."""

from __future__ import annotations

import json
import sqlite3

from navigator.domain.models import Baseline, utc_now
from navigator.domain.states import CheckOutcome
from navigator.store.core import TransactionCore
from navigator.store.queries import Queries
from navigator.store.rows import dumped


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


class BaselineWrites(TransactionCore):
    """Events: baseline_set."""

    def set_baseline(self, baseline: Baseline) -> Baseline:
        """Keep a run on an unchanged tree, in place of an earlier one under the same command and environment."""
        made = baseline.model_copy(update={"at": baseline.at or utc_now()})
        self._run(
            "INSERT INTO baselines (project_id, tree, command, environment, outcome, failures, detail, seconds, at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project_id, tree, command, environment) DO UPDATE SET"
            " outcome = excluded.outcome, failures = excluded.failures, detail = excluded.detail,"
            " seconds = excluded.seconds, at = excluded.at",
            (
                made.project_id,
                made.tree,
                made.command,
                made.environment,
                made.outcome.value,
                dumped(made.failures),
                made.detail,
                made.seconds,
                made.at,
            ),
        )
        said = {"project": made.project_id, "outcome": made.outcome.value, "failures": len(made.failures)}
        self.event("baseline_set", data={**said, "seconds": made.seconds})
        return made


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
