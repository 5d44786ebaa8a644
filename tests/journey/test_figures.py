"""What the statistics count of parts, and what uncertainty weighs."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from navigator.config.paths import StatePaths
from navigator.figures.outcomes import Outcomes, outcomes
from navigator.figures.uncertainty import RELATED, relations
from navigator.sheet.measured import measured_doubt
from navigator.store.database import open_reader
from navigator.store.reads.reader import Reader
from tests.journey.splitting import SplitBench
from tests.tui import world


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SplitBench:
    return SplitBench(tmp_path, monkeypatch)


def counted(bench: SplitBench) -> Outcomes:
    with bench.desk.reading() as store:
        return outcomes(store.task_counts(), store.decision_counts())


def test_the_task_of_a_part_is_counted_beside_its_whole(bench: SplitBench) -> None:
    part = bench.split(bench.waiting(), "H4", drop_rest=True)["part"]["id"]
    bench.decide("reject", part)
    found = counted(bench)
    assert found.states == {"rejected": 2}
    assert found.decisions == {"reject": 1}


def test_uncertainty_is_weighed_only_where_it_is_shown_to_tell_something(tmp_path: Path) -> None:
    """In this world changes that were sent back had a higher entropy."""
    paths = StatePaths(tmp_path / "s").ensure()
    world.fill(paths)
    with closing(open_reader(paths.database)) as connection:
        reader = Reader(connection)
        (mean, _) = relations(reader.entropy_ranks())
        assert (mean.verdict, mean.n) == (RELATED, 40)
        doubt = measured_doubt(reader)
        assert doubt is not None
        assert doubt.above > 1
        above, revised = reader.sent_back_above(mean.model, doubt.bits)
        assert revised / above > mean.revise / mean.n
