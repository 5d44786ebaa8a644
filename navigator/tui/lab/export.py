"""A run as the contents of a file."""

from __future__ import annotations

import csv
import io
import json

from navigator.lab.runs import LabRun
from navigator.tui.lab.draw import run_lines
from navigator.tui.statistics.export import as_text

ENDINGS = (".csv", ".json", ".txt")
"""What a run can be written as."""

_WIDTH = 100


def contents(run: LabRun, ending: str) -> str:
    """One run in the format of an ending."""
    if ending == ".csv":
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(("run", "plot", "label", "value", "low", "high", "n", "unit", "note", "simulated"))
        for plot in run.plots:
            for point in plot.points:
                figures = (point.value, point.low, point.high, point.n, plot.unit, point.note)
                writer.writerow((run.name, plot.title, point.label, *figures, run.simulated))
        return stream.getvalue()
    if ending == ".json":
        return json.dumps(run.document(), indent=2, ensure_ascii=True) + "\n"
    return as_text(run_lines(run, _WIDTH))
