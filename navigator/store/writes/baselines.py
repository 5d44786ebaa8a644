"""What a project's test command says of an unchanged tree: written once, and read for every proposal on it."""

from __future__ import annotations

from navigator.domain.models import Baseline, utc_now
from navigator.store.rows import dumped
from navigator.store.writes.core import TransactionCore


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
