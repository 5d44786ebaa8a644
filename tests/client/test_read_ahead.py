"""Read-ahead on real files and the kernel's real page cache."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from navigator.model.states import Role
from navigator.process.keeper import descendants
from navigator.swap import page_cache
from navigator.swap.page_cache import MIB
from navigator.swap.read_ahead import ReadAhead, ReadLimits, ReadReport
from navigator.swap.weights import model_folder, total_bytes, weight_files

SIZE = 24 * MIB


def cold(files: list[Path], size: int) -> list[Path]:
    """Weight files that really lie on a disk and are not in the cache."""
    for path in files:
        path.write_bytes(os.urandom(size))
    for path in files:
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if page_cache.residency(files).resident:
        pytest.skip("page cache: this file system does not empty it when asked")
    return files


@pytest.fixture
def weights(tmp_path: Path) -> list[Path]:
    return cold([tmp_path / f"model-0000{number}-of-00002.safetensors" for number in (1, 2)], SIZE)


def reader(files: list[Path], **limits: int) -> ReadAhead:
    chosen = {"bytes_per_second": 0, "floor_bytes": 0, **limits}
    return ReadAhead({Role.REVIEWER: files}, ReadLimits(**chosen))


async def read(ahead: ReadAhead, role: Role = Role.REVIEWER) -> ReadReport:
    """To its end, and what it says of it."""
    await ahead.start(role)
    await ahead.wait()
    found = ahead.report()
    assert found is not None
    return found


def test_residency_is_what_was_read(weights: list[Path], tmp_path: Path) -> None:
    with weights[0].open("rb") as stream:
        stream.read()
    seen = page_cache.residency(weights)
    assert seen.known
    assert (seen.total, seen.resident) == (2 * SIZE, SIZE)
    (tmp_path / "empty").touch()
    seen = page_cache.residency([tmp_path / "empty", tmp_path / "absent"])
    assert (seen.total, seen.resident) == (0, 0)


async def test_reads_everything_and_says_so(weights: list[Path]) -> None:
    report = await read(reader(weights))
    assert (report.ended, report.warm_before) == ("done", 0)
    assert 0.8 < report.warm_after / (2 * SIZE) <= 1  # the kernel may have dropped some pages again
    # The kernel reads on beyond what is asked for, so the reader finds some of it there.
    assert 0 < report.read_bytes <= report.weight_bytes == 2 * SIZE


def test_what_is_there_is_not_read_again(weights: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    # The kernel drops pages when it likes, between two looks too: what is there is said here, what is read is real.
    there = weights[0].stat().st_ino

    def said(descriptor: int, size: int, offset: int) -> bool:
        return os.fstat(descriptor).st_ino == there

    monkeypatch.setattr(page_cache, "_is_resident", said)
    order = {"files": [str(path) for path in weights], "limit": 0, "rate": 0, "floor": 0}
    assert page_cache._read_all(order) == (SIZE, "done")
    assert page_cache._read_all(order | {"files": order["files"][:1]}) == (0, "done")


async def test_warm_files_start_no_process(weights: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = page_cache.CachedBytes(2 * SIZE, 2 * SIZE)
    monkeypatch.setattr(page_cache, "residency", lambda _: whole)

    async def never(*_: object, **__: object) -> None:
        raise AssertionError("a reader was started for files that are all in memory")

    monkeypatch.setattr("navigator.swap.read_ahead.running", never)
    found = await read(reader(weights))
    assert (found.ended, found.read_bytes) == ("done", 0)


async def test_no_more_is_read_than_there_is_room_for(
    weights: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_cache, "available_bytes", lambda: 16 * MIB)
    report = await read(reader(weights))
    assert (report.ended, report.read_bytes) == ("limit", 16 * MIB)
    # The first files come first, since a server loads them first. The kernel may read a little beyond, and take pages back.
    assert page_cache.residency(weights[:1]).resident >= 15 * MIB
    assert page_cache.residency(weights[1:]).resident == 0


async def test_no_room_above_the_floor_reads_nothing(weights: list[Path]) -> None:
    report = await read(reader(weights, floor_bytes=1 << 60))
    assert (report.ended, report.read_bytes) == ("no room", 0)
    assert page_cache.residency(weights).resident == 0


def test_the_floor_stops_a_reader_at_work(
    weights: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Memory that shrinks below the floor while it reads: the second look finds too little.
    left = iter([100, 10])
    monkeypatch.setattr(page_cache, "available_bytes", lambda: next(left))
    monkeypatch.setattr(page_cache, "_LOOK_EVERY", 16 * MIB)
    order = {"files": [str(path) for path in weights], "limit": 0, "rate": 0, "floor": 50}
    assert page_cache._read_all(order) == (16 * MIB, "memory")
    assert '"read": 0' in capsys.readouterr().out


async def test_stop_kills_the_reader_at_once(weights: list[Path]) -> None:
    ahead = reader(weights, bytes_per_second=MIB)  # it would take 48 seconds
    await ahead.start(Role.REVIEWER)
    process = await _reader_process()
    await ahead.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    report = ahead.report()
    assert report is not None
    assert report.ended == "stopped"
    assert page_cache.residency(weights).resident < 2 * SIZE


async def test_the_same_role_again_continues_and_another_one_takes_over(weights: list[Path]) -> None:
    ahead = ReadAhead(
        {Role.REVIEWER: weights[:1], Role.GENERATOR: weights[1:]},
        ReadLimits(bytes_per_second=MIB, floor_bytes=0),
    )
    await ahead.start(Role.REVIEWER)
    first = await _reader_process()
    await ahead.start(Role.REVIEWER)
    assert await _reader_process() == first
    await ahead.start(Role.GENERATOR)
    assert await _reader_process() != first
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    await ahead.stop()


async def test_a_reader_that_dies_is_reported(weights: list[Path]) -> None:
    ahead = reader(weights, bytes_per_second=MIB)
    await ahead.start(Role.REVIEWER)
    os.kill(await _reader_process(), signal.SIGKILL)
    await ahead.wait()
    assert (report := ahead.report()) is not None
    assert report.ended == "failed"


async def test_a_role_without_files(weights: list[Path]) -> None:
    assert (await read(reader(weights), Role.GENERATOR)).ended == "no files"


async def _reader_process() -> int:
    for _ in range(500):
        for child in descendants(os.getpid())[1:]:
            if page_cache.__file__.encode() in Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0"):
                return child
        await asyncio.sleep(0.01)
    raise AssertionError("no reader was started")


# Where a model's files are


def test_a_snapshot_in_the_hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    repository = tmp_path / "models--Qwen--Qwen3-32B-AWQ"
    commits = {"old": "a" * 40, "main": "b" * 40}
    blob = repository / "blobs" / "cafe"
    blob.parent.mkdir(parents=True)
    blob.write_bytes(b"weights")
    for commit in commits.values():
        (repository / "snapshots" / commit).mkdir(parents=True)
    (repository / "snapshots" / commits["main"] / "model.safetensors").symlink_to(blob)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commits["main"])
    assert model_folder("Qwen/Qwen3-32B-AWQ") == repository / "snapshots" / commits["main"]
    assert weight_files("Qwen/Qwen3-32B-AWQ") == [blob]
    assert total_bytes([blob]) == 7


def test_folders_of_models_come_before_the_cache(tmp_path: Path) -> None:
    both = tmp_path / "models" / "Qwen" / "Qwen3-32B-AWQ"
    both.mkdir(parents=True)
    for name in ("b.safetensors", "a.safetensors", "c.gguf"):
        (both / name).write_bytes(b"x")
    found = weight_files("Qwen/Qwen3-32B-AWQ", [str(tmp_path / "models")])
    assert [path.name for path in found] == ["a.safetensors", "b.safetensors"]


def test_a_gguf_file_and_names_that_lead_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"x")
    assert weight_files(str(tmp_path / "model.gguf")) == [tmp_path / "model.gguf"]
    assert weight_files("../etc", [str(tmp_path)]) == []
    assert weight_files("a/../../b", [str(tmp_path)]) == []
    assert weight_files("Qwen/absent", [str(tmp_path)]) == []
