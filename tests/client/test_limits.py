"""The gate: never wider than it may be, never leaking a place, narrower after refusals."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.client.body import Limiter


async def test_first_come_first_served_and_never_too_many() -> None:
    limiter = Limiter(2)
    order: list[int] = []
    most = 0

    async def work(number: int) -> None:
        nonlocal most
        async with limiter.slot():
            order.append(number)
            most = max(most, limiter.in_flight)
            await asyncio.sleep(0)

    await asyncio.gather(*(work(number) for number in range(20)))
    assert order == list(range(20))
    assert most == 2
    assert limiter.in_flight == 0


async def test_refusals_of_one_burst_halve_once_and_successes_open_it_again() -> None:
    limiter = Limiter(8)
    slots = []
    for _ in range(4):
        async with limiter.slot() as slot:
            slots.append(slot)
    for slot in slots:
        limiter.overloaded(slot)
    assert limiter.limit == 4
    for limit in (2, 1, 1):  # one place always remains
        async with limiter.slot() as later:
            limiter.overloaded(later)
        assert limiter.limit == limit
    limiter.succeeded()
    assert limiter.limit == 2
    for _ in range(50):
        limiter.succeeded()
    assert limiter.limit == 8


def test_a_gate_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Limiter(0)


@given(st.integers(1, 4), st.lists(st.tuples(st.integers(0, 7), st.sampled_from("cosw")), max_size=60))
def test_whatever_happens_no_place_is_lost(width: int, steps: list[tuple[int, str]]) -> None:
    """Eight workers are cancelled, refused, served or given time in any order."""

    async def run() -> None:
        limiter = Limiter(width)
        leave = [asyncio.Event() for _ in range(8)]

        async def work(number: int) -> None:
            async with limiter.slot() as slot:
                assert limiter.in_flight <= width
                await leave[number].wait()
                limiter.overloaded(slot) if number % 2 else limiter.succeeded()

        tasks = [asyncio.create_task(work(number)) for number in range(8)]
        for number, step in steps:
            if step == "c":
                tasks[number].cancel()
            elif step == "o":
                leave[number].set()
            elif step == "w":
                await asyncio.sleep(0)
        for event in leave:
            event.set()
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)
        assert limiter.in_flight == 0
        assert limiter.waiting == 0
        async with limiter.slot():
            assert limiter.in_flight == 1

    asyncio.run(run())
