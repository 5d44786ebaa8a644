"""What the statistics count: a rehearsal's part and a rehearsal's suggestion never become real figures."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from navigator.cascade.views.figures import measured_doubt
from navigator.config.paths import StatePaths
from navigator.domain.states import Role, TaskState
from navigator.evidence.intervals import Tables
from navigator.evidence.outcomes import Outcomes, outcomes
from navigator.evidence.uncertainty import RELATED, relations
from navigator.store.database import open_reader
from navigator.store.reads.reader import Reader
from tests.cascade.splitting import SplitBench
from tests.tui import world


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SplitBench:
    return SplitBench(tmp_path, monkeypatch)


def counted(bench: SplitBench) -> Tables[Outcomes]:
    with bench.desk.reading() as store:
        return outcomes(store.task_counts(), store.decision_counts())


@pytest.mark.parametrize("rehearsal", [True, False])
def test_the_task_of_a_part_is_counted_where_its_whole_is(bench: SplitBench, rehearsal: bool) -> None:
    parent = bench.waiting(rehearsal=rehearsal)
    part = bench.split(parent, "H4", drop_rest=True)["part"]["id"]
    bench.decide("reject", part)
    tables = counted(bench)
    there, elsewhere = tables.real, tables.rehearsal
    if rehearsal:
        there, elsewhere = elsewhere, there
    assert (there.states, elsewhere.states) == ({"rejected": 2}, {})
    assert (there.decisions, elsewhere.decisions) == ({"reject": 1}, {})


def test_a_task_of_a_rehearsals_scan_is_no_figure_until_a_model_was_asked(bench: SplitBench) -> None:
    with bench.world() as world, world.store.transaction() as tx:
        project = world.reader.project("code").id
        scan = tx.add_task(project, "Look around")
        tx.end_call(tx.begin_call(Role.GENERATOR, scan.id, 0, 0, "scan", rehearsal=True))
        accepted = tx.add_task(project, "Mend it", origin=scan.id)
        tx.add_task(project, "Asked for by hand")
    assert counted(bench).real.states == {"queued": 1}
    assert counted(bench).rehearsal.states == {"queued": 1}
    with bench.world() as world, world.store.transaction() as tx:
        tx.end_call(tx.begin_call(Role.GENERATOR, accepted.id, 0, 0, "generate"))
        tx.set_task_state(accepted.id, TaskState.CANCELLED)
    assert counted(bench).real.states == {"cancelled": 1, "queued": 1}


def test_uncertainty_is_weighed_only_where_it_is_shown_to_tell_something(tmp_path: Path) -> None:
    """In this world changes that were sent back had a higher entropy; a rehearsal's own figures say nothing of that."""
    paths = StatePaths(tmp_path / "s").ensure()
    world.fill(paths)
    with closing(open_reader(paths.database)) as connection:
        reader = Reader(connection)
        (mean, _) = relations(reader.entropy_ranks())
        assert (mean.verdict, mean.n) == (RELATED, 40)
        doubt = measured_doubt(reader, rehearsal=False)
        assert doubt is not None
        assert doubt.above > 1
        above, revised = reader.sent_back_above(mean.model, doubt.bits)
        assert revised / above > mean.revise / mean.n
        assert measured_doubt(reader, rehearsal=True) is None
