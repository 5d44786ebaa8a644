"""Reading experiments at swaps."""

from __future__ import annotations

from navigator.domain.exam import ExamCount
from navigator.domain.experiment import Experiment, Residency, ResidencyOutcome
from navigator.domain.states import LOOP_TASK_STATES, Role
from navigator.store.call_sums import UNION
from navigator.store.reads.exam import ExamReads
from navigator.store.rows import from_row, from_rows

_LOOP = ", ".join(f"'{state.value}'" for state in sorted(LOOP_TASK_STATES))
_VERDICT = "v.verdict IN ('REVISE', 'APPROVE') AND v.self_review = 0"

_FIRSTS = (
    "SELECT {0}.residency AS residency, count(*) AS n, sum(v.verdict = 'REVISE') AS hits FROM proposals a"
    " JOIN reviews v ON v.proposal_id = a.id AND v.counted = 1 AND v.role = 'reviewer'"
    f" WHERE {{0}}.residency > 0 AND a.attempt = 0 AND a.round = 0 AND a.parent IS NULL"
    f" AND a.way <> 'existing' AND {_VERDICT} GROUP BY 1"
)
"""First verdicts on first proposals, as the revise rate counts them, by the residency they were written or reviewed in."""

_EXAM = (
    "SELECT x.residency AS residency, count(*) AS n, sum((x.verdict = 'REVISE') = i.faulty) AS hits FROM exam_answers x"
    " JOIN exam_items i ON i.id = x.item_id WHERE x.residency > 0 AND x.turn = 0"
    " AND x.verdict IN ('REVISE', 'APPROVE') GROUP BY 1"
)
_OPEN = (
    "(SELECT count(DISTINCT c.task_id) FROM calls c JOIN tasks t ON t.id = c.task_id WHERE c.residency = r.id"
    f" AND c.attempt = 0 AND c.round = 0 AND t.attempt = 0 AND t.round = 0 AND t.state IN ({_LOOP})"
    " AND NOT EXISTS (SELECT 1 FROM reviews v JOIN proposals a ON a.id = v.proposal_id WHERE a.task_id = t.id"
    " AND v.role = 'reviewer'))"
)
"""Tasks first written in a residency that have no verdict yet and may get one."""
_ENDS = "86400.0 * julianday(c.ended)"
_BUSY = UNION.format(
    f"SELECT {_ENDS} AS e, {_ENDS} - c.seconds AS b FROM calls c WHERE c.residency = r.id"
    " AND c.outcome NOT IN ('started', 'lost')"
)
_TOKENS = "(SELECT total(completion_tokens) FROM calls WHERE residency = r.id AND outcome NOT IN ('started', 'lost'))"
_CALLS = "(SELECT count(*) FROM calls WHERE residency = r.id AND outcome NOT IN ('started', 'lost'))"

_HEAD = "SELECT r.number, r.arm, r.ended <> '' AS ended, "
_TAIL = " FROM residencies r{} WHERE r.experiment_id = ? AND r.began <> '' ORDER BY r.number"


class ExperimentReads(ExamReads):
    """Experiments and their residencies."""

    def experiments(self, since: str = "") -> list[Experiment]:
        """Experiments that ran at a UTC time or later, oldest first."""
        return from_rows(
            Experiment,
            self._all("SELECT * FROM experiments WHERE ended = '' OR ended >= ? ORDER BY id", since),
        )

    def running_experiment(self) -> Experiment | None:
        """The one that is not over."""
        found = self._all("SELECT * FROM experiments WHERE ended = '' ORDER BY id DESC LIMIT 1")
        return from_row(Experiment, found[0]) if found else None

    def newest_residency(self, experiment_id: int) -> Residency | None:
        """The residency that was drawn last."""
        found = self._all(
            "SELECT * FROM residencies WHERE experiment_id = ? ORDER BY number DESC LIMIT 1", experiment_id
        )
        return from_row(Residency, found[0]) if found else None

    def experiment_of(self, residency_id: int) -> tuple[Experiment, Residency] | None:
        """The experiment and the residency of that id; None for 0."""
        found = self._all("SELECT * FROM residencies WHERE id = ?", residency_id)
        if not found:
            return None
        residency = from_row(Residency, found[0])
        row = self._all("SELECT * FROM experiments WHERE id = ?", residency.experiment_id)[0]
        return from_row(Experiment, row), residency

    def residency_outcomes(self, experiment: Experiment) -> list[ResidencyOutcome]:
        """What each residency came to, in order; those whose model did not come up are left out."""
        writes = experiment.role is Role.GENERATOR
        counts = {"revise-rate": _FIRSTS.format("a" if writes else "v"), "exam": _EXAM}.get(
            experiment.outcome
        )
        if counts is not None:
            waits = _OPEN if writes else "0"
            select = f"coalesce(o.hits, 0) AS hits, coalesce(o.n, 0) AS n, {waits} AS open"
            tail = _TAIL.format(f" LEFT JOIN ({counts}) o ON o.residency = r.id")
        elif experiment.outcome == "tokens-per-second":
            select = f"{_CALLS} AS n, coalesce({_TOKENS} / nullif(({_BUSY}), 0), 0.0) AS value"
            tail = _TAIL.format("")
        else:
            select, tail = f"{_CALLS} AS n, coalesce(r.accept_length, 0.0) AS value", _TAIL.format("")
        return from_rows(ResidencyOutcome, self._all(_HEAD + select + tail, experiment.id))

    def exam_counts_by_arm(self, experiment_id: int) -> dict[str, list[ExamCount]]:
        """First answers in the residencies of an experiment, by arm; see `exam_counts`."""
        arms = [row["arm"] for row in self._all(
            "SELECT DISTINCT arm FROM residencies WHERE experiment_id = ? ORDER BY arm", experiment_id
        )]  # fmt: skip
        return {arm: self.exam_counts(residencies=(experiment_id, arm)) for arm in arms}
