"""A writer's reading of its own change against the reviewer's."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from navigator.domain.states import Verdict
from navigator.evidence.self_review import OwnRow, own_readings

A, R, U = Verdict.APPROVE, Verdict.REVISE, Verdict.UNREVIEWED


def test_agreement_and_what_each_saw_alone() -> None:
    pairs = [(A, A)] * 5 + [(R, R)] * 2 + [(A, R)] * 3 + [(R, A)] * 1 + [(U, R), (A, U)]
    found = own_readings(OwnRow(own, reviewer) for own, reviewer in pairs).real
    assert (found.agreed.k, found.agreed.n) == (7, 11)
    assert (found.caught.k, found.caught.n) == (2, 5)
    assert (found.alone.k, found.alone.n) == (1, 6)
    assert found.unread == 2
    assert found.agreed.low < 7 / 11 < found.agreed.high


def test_a_rehearsals_pairs_stand_apart() -> None:
    tables = own_readings([OwnRow(A, A), OwnRow(R, A, rehearsal=True)])
    assert (tables.real.agreed.n, tables.rehearsal.agreed.n) == (1, 1)
    assert (tables.real.agreed.k, tables.rehearsal.agreed.k) == (1, 0)


@given(st.lists(st.builds(OwnRow, st.sampled_from(Verdict), st.sampled_from(Verdict), st.booleans())))
def test_every_pair_is_counted_once(rows: list[OwnRow]) -> None:
    tables = own_readings(rows)
    counted = [table.agreed.n + table.unread for table in (tables.real, tables.rehearsal)]
    assert sum(counted) == len(rows)
    for table in (tables.real, tables.rehearsal):
        assert table.caught.n + table.alone.n == table.agreed.n
        assert table.agreed.k == table.caught.k + (table.alone.n - table.alone.k)
