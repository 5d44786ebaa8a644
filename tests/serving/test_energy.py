"""The energy command: real processes that print watts, garbage or too much, fail, hang, or are not there."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.serving.energy import MOST_BYTES, NoReading, parse_watts, read_watts


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


@pytest.mark.parametrize(
    ("printed", "watts"),
    [("231.50\n", 231.5), ("98", 98.0), ("  12.5 \r\n 300\n", 312.5), ("0\n", 0.0), ("0.000001\n", 1e-6)],
)
async def test_the_lines_are_added_up(printed: str, watts: float) -> None:
    assert await read_watts(python(f"print({printed!r}, end='')")) == watts


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("print('[N/A]')", r"printed '\[N/A\]'"),
        ("print('231.5 W')", "not a number of watts"),
        ("print('231,5')", "not a number of watts"),
        ("print('-3')", "not a number"),
        ("print('nan')", "not a number"),
        ("print('1e3')", "not a number"),
        ("print('231.5\\n\\n12')", "printed nothing"),
        ("print('\\x1b[31m231\\x1b[0m')", "not a number"),
        ("print('٣')", "not a number"),
        ("pass", "printed nothing"),
        ("print(999999)", "more than a machine draws"),
        ("import sys; print(231); sys.exit('no driver')", "ended with code 1. no driver"),
    ],
)
async def test_everything_else_is_no_reading(code: str, said: str) -> None:
    with pytest.raises(NoReading, match=said) as caught:
        await read_watts(python(code))
    assert caught.value.hint
    assert "\x1b" not in caught.value.message


async def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NoReading, match="does not exist"):
        await read_watts((str(tmp_path / "nvidia-smi"),))
    broken = tmp_path / "broken"
    broken.write_bytes(b"\0\1\2")
    broken.chmod(0o755)
    with pytest.raises(NoReading, match="could not be started"):
        await read_watts((str(broken),))


async def gone(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        while True:
            os.kill(pid, 0)
            await asyncio.sleep(0.02)


def child(path: Path, then: str) -> tuple[str, ...]:
    return python(f"import os, time; open({str(path)!r}, 'w').write(str(os.getpid()))\n{then}")


async def test_a_program_that_hangs_is_ended(tmp_path: Path) -> None:
    with pytest.raises(NoReading, match="did not end within"):
        await read_watts(child(tmp_path / "pid", "time.sleep(600)"), seconds=1.0)
    await gone(int((tmp_path / "pid").read_text()))


async def test_a_program_that_never_stops_printing_is_ended(tmp_path: Path) -> None:
    with pytest.raises(NoReading, match=f"more than {MOST_BYTES} bytes"):
        await read_watts(child(tmp_path / "pid", "while True: print('231.5' * 100)"), seconds=60.0)
    await gone(int((tmp_path / "pid").read_text()))


async def test_a_reading_that_is_cut_off_leaves_nothing_running(tmp_path: Path) -> None:
    reading = asyncio.create_task(read_watts(child(tmp_path / "pid", "time.sleep(600)"), seconds=60.0))
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        await asyncio.sleep(0.02)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await gone(int((tmp_path / "pid").read_text()))


@given(st.binary(max_size=60))
def test_whatever_is_printed_is_a_sum_of_numbers_or_refused(printed: bytes) -> None:
    try:
        watts = parse_watts(printed)
    except NoReading:
        return
    assert watts == sum(float(line) for line in printed.split())
    assert 0 <= watts <= 100_000
