"""`swap/model-swap.sh` with a real systemd and servers that are stand-ins: what it does, and that it does no more."""

from __future__ import annotations

import pytest

from tests.swap.desk import Desk

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("systemd")]

WHOLE = [(phase, "done") for phase in ("drain", "stop", "release", "start", "load", "health", "verify")]


def test_first_load_and_both_ways(desk: Desk) -> None:
    first = desk.swap("generator")
    assert (first.code, first.outcome) == (0, "done"), first.err
    assert first.phases == WHOLE[2:]
    assert desk.serves("generator")
    for to, origin in (("reviewer", "generator"), ("generator", "reviewer")):
        done = desk.swap(to)
        assert (done.code, done.phases) == (0, WHOLE), done.err
        assert desk.serves(to)
        assert (desk.state(to), desk.state(origin)) == ("active", "inactive")
        assert f"from={origin} to={to}" in done.out
