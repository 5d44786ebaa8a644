"""What happens to calls that hang, flood or crash: real processes, really ended."""

from __future__ import annotations

import os
import re
import signal
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from navigator.process import bounded
from navigator.process.bounded import SMALL, Worker, WorkerLost, run_bounded


def nested(depth: int) -> int:
    return nested(depth + 1) if depth >= 0 else 0


def test_a_call_answers_and_its_own_errors_come_back() -> None:
    assert run_bounded(sorted, [3, 1, 2]) == [1, 2, 3]
    with pytest.raises(tomllib.TOMLDecodeError, match="line 1"):
        run_bounded(tomllib.loads, "a = = 1")


def test_a_regular_expression_that_would_run_for_years_is_ended_and_the_next_call_works() -> None:
    with pytest.raises(WorkerLost):
        run_bounded(re.match, r"(a+)+$", "a" * 64 + "b", seconds=0.3)
    assert run_bounded(len, "abc") == 3


def test_memory_and_depth_are_bounded() -> None:
    for words, options in (((bytes, 4 << 30), {}), ((nested, 0), {}), ((nested, 0), {"size": 1})):
        with pytest.raises(WorkerLost):
            run_bounded(*words, **options)
    assert run_bounded(len, "abc") == 3


def test_small_texts_are_read_in_this_process_and_large_ones_in_another() -> None:
    assert run_bounded(os.getpid, size=SMALL) == os.getpid()
    assert run_bounded(os.getpid, size=SMALL + 1) != os.getpid()


def test_a_process_that_is_stopped_counts_as_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Worker()) as worker:
        pid = worker.call(os.getpid)
        os.kill(pid, signal.SIGSTOP)
        with monkeypatch.context() as patched, pytest.raises(WorkerLost):
            patched.setattr(bounded, "_PATIENCE", 0.5)
            worker.call(len, "x" * 1_000_000)
        assert worker.call(os.getpid) != pid


def test_other_threads_run_on_while_a_call_hangs() -> None:
    with ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(run_bounded, re.match, r"(a+)+$", "a" * 64 + "b", seconds=1.0)
        turns = 0
        while not hanging.done():
            turns += 1
            time.sleep(0.005)
        assert isinstance(hanging.exception(), WorkerLost)
    assert turns > 20


def test_what_a_function_prints_does_not_garble_its_answer() -> None:
    assert run_bounded(os.write, 1, b"noise") == 5
    assert run_bounded(len, "abc") == 3


def test_no_key_of_the_environment_reaches_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_API_KEY", "abc")
    with closing(Worker()) as worker:
        assert worker.call(os.getenv, "SECRET_API_KEY") is None
