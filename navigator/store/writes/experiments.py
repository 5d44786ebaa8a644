"""Writing experiments at swaps."""

from __future__ import annotations

from navigator.domain.experiment import Experiment, Residency
from navigator.domain.models import utc_now
from navigator.store.writes.core import TransactionCore


class ExperimentWrites(TransactionCore):
    """Events: experiment_begun, experiment_ended, residency_drawn."""

    def add_experiment(self, experiment: Experiment) -> int:
        """Begin one; its `id` is not looked at."""
        number = self._insert("experiments", experiment)
        self.event("experiment_begun", data={"name": experiment.name, "arms": list(experiment.arms)})
        return number

    def end_experiment(self, experiment: Experiment, ending: str) -> None:
        """End one that runs: "decided", "undecided" or "changed"."""
        self._update("experiments", experiment.id, {"ended": utc_now(), "ending": ending})
        self.event("experiment_ended", data={"name": experiment.name, "ending": ending})

    def draw_residency(self, experiment: Experiment, number: int, arm: str) -> int:
        """Keep the arm of a residency before it begins."""
        drawn = Residency(experiment_id=experiment.id, number=number, arm=arm, drawn=utc_now())
        made = self._insert("residencies", drawn)
        self.event("residency_drawn", data={"name": experiment.name, "number": number, "arm": arm})
        return made

    def begin_residency(self, residency_id: int) -> None:
        """Its model answers."""
        self._update("residencies", residency_id, {"began": utc_now()})

    def end_residency(self, residency_id: int, accept_length: float | None = None) -> None:
        """Its model left."""
        self._update("residencies", residency_id, {"ended": utc_now(), "accept_length": accept_length})
