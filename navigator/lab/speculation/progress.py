"""What a measurement says of itself while it runs: how far it is, what follows so far."""

from __future__ import annotations

from pathlib import Path

from navigator.lab.runs import Recorder
from navigator.lab.speculation.decide import decide
from navigator.lab.speculation.plan import Plan
from navigator.lab.speculation.runner import finished
from navigator.lab.speculation.runs import read_runs
from navigator.model.errors import MissingPart

RANDOM = "The models have random weights: this tries the method, it says nothing about trained models."


def note_progress(record: Recorder, plan: Plan, results: Path) -> None:
    """Count the starts that are done, decide from them as far as that can be done."""
    record.progress(len(finished(results, plan)), len(plan.order()), "starts")
    if not results.exists():
        return
    runs = read_runs(results).runs
    sentences = []
    for target in dict.fromkeys(run.target for run in runs):
        try:
            sentences.append(decide([run for run in runs if run.target == target]).sentence)
        except MissingPart as missing:
            sentences.append(f"Nothing is decided yet. {missing.message}")
    random = RANDOM if plan.engine.random_weights else ""
    record.decided(" ".join(dict.fromkeys(sentences)), simulated=random)
