"""Two real servers under a real systemd: a swap's worst moments.

The servers run on the CPU with a tiny random model (see `tests/swap/engines.py`).
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines import sglang
from tests.swap.desk import UNITS, Desk, wait_for
from tests.swap.engines import sglang_desk
from tests.swap.streams import Stream
from tests.swap.user_systemd import UserSystemd

pytestmark = [
    pytest.mark.engines,
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.xdist_group("systemd"),
]


@pytest.fixture(scope="module")
def real(manager: UserSystemd, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Two units of SGLang, for every test of this file."""
    if reason := sglang.missing():
        pytest.skip(reason)
    desk = Desk(manager, tmp_path_factory.mktemp("real"))
    sglang_desk(desk)
    yield desk
    desk.clear()


def resident(desk: Desk) -> tuple[str, str]:
    """Who answers now, and the other."""
    role = json.loads(desk.swap("status", "--json").out)["resident"]
    if role is None:
        assert desk.swap("generator").code == 0
        role = "generator"
    return role, next(other for other in UNITS if other != role)


def long_answer(rid: str, tokens: int) -> dict[str, object]:
    messages = [{"role": "user", "content": "go on"}]
    return {"model": "any", "rid": rid, "messages": messages, "max_tokens": tokens, "ignore_eos": True}


def test_a_stream_in_flight_completes(real: Desk) -> None:
    here, there = resident(real)
    stream = Stream(real, here, long_answer("mine", 800))
    wait_for(lambda: stream.events > 5)
    done = real.swap(there)
    assert done.code == 0, done.err
    stream.thread.join(60)
    assert stream.whole
    assert '"finish_reason":"length"' in stream.last.replace(" ", "")
    assert real.state(here) == "inactive"


def test_a_stream_that_outlasts_the_drain_is_aborted_by_its_id(real: Desk) -> None:
    here, there = resident(real)
    stream = Stream(real, here, long_answer("mine", 12000))
    wait_for(lambda: stream.events > 5)
    done = real.swap(there, DRAIN_SECONDS="1", RIDS="mine")
    assert done.code == 0, done.err
    assert "1 by id" in done.detail("drain")
    assert "then all" not in done.detail("drain")
    stream.thread.join(60)
    assert '"abort"' in stream.last


def test_a_scheduler_that_is_killed(real: Desk) -> None:
    """The server goes down with it, and the swap that follows finds nothing to wait for."""
    here, there = resident(real)
    children = Path(f"/proc/{real.manager.main_pid(UNITS[here])}/task").glob("*/children")
    pids = [int(pid) for file in children for pid in file.read_text().split()]
    (scheduler,) = [pid for pid in pids if "scheduler" in Path(f"/proc/{pid}/cmdline").read_text()]
    os.kill(scheduler, signal.SIGKILL)
    done = real.swap(there, DRAIN_SECONDS="30")
    assert done.code == 0, done.err
    assert json.loads(real.swap("status", "--json").out)["resident"] == there
