"""Does read-ahead help? The same weight files read cold, and after the reader warmed them, in one run.

It proves the mechanism on the disk that is here: the ratio is this disk's against this memory's, and says nothing about
an NVMe drive or about a whole swap, where starting the server costs its own seconds.

    python benchmarks/read_ahead.py [--tiny | --full] [--mb N] [--folder DIR]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.size import sized
from navigator.model.states import Role
from navigator.swap import page_cache
from navigator.swap.page_cache import MIB
from navigator.swap.read_ahead import ReadAhead, ReadLimits

FILES = 4
ROUNDS = sized(1, 3, 3)


def forget(files: list[Path]) -> None:
    """Ask the kernel to drop the files' clean pages: what a cold start reads."""
    for path in files:
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def write_weights(folder: Path, total: int) -> list[Path]:
    """Random bytes, so that no file system may keep them as a hole or compressed."""
    files = []
    for number in range(FILES):
        path = folder / f"model-{number:05}-of-{FILES:05}.safetensors"
        with path.open("wb") as stream:
            for _ in range(total // FILES // (16 * MIB)):
                stream.write(os.urandom(16 * MIB))
        files.append(path)
    return files


def load(files: list[Path]) -> float:
    """Seconds to read everything in order, as a server does that keeps none of it."""
    buffer = bytearray(16 * MIB)
    began = time.perf_counter()
    for path in files:
        with path.open("rb", buffering=0) as stream:
            while stream.readinto(buffer):
                pass
    return time.perf_counter() - began


async def read_ahead(files: list[Path]) -> ReadAhead:
    ahead = ReadAhead({Role.REVIEWER: files}, ReadLimits(bytes_per_second=0, floor_bytes=1024 * MIB))
    await ahead.start(Role.REVIEWER)
    await ahead.wait()
    return ahead


def disk_of(folder: Path) -> str:
    """The device behind a folder, and whether the kernel calls it rotating; for the reader to judge the figures by."""
    number = folder.stat().st_dev
    device = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not device.exists():
        return "a device the kernel does not name (overlay or network)"
    device = device.resolve()
    queue = device / "queue" if (device / "queue").is_dir() else device.parent / "queue"
    try:
        kind = "rotating" if (queue / "rotational").read_text().strip() == "1" else "not rotating"
    except OSError:
        kind = "of unknown kind"
    return f"{device.name}, {kind}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=sized(64, 256, 1024))
    parser.add_argument("--folder", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        files = write_weights(folder, options.mb * MIB)
        total = sum(path.stat().st_size for path in files)
        print(f"disk: {disk_of(folder)}; {total // MIB} MiB in {FILES} files of random bytes")
        forget(files)
        if page_cache.residency(files).share > 0.05:
            print(
                "This file system keeps its pages when asked to drop them (a memory file system?): nothing to compare."
            )
            return
        cold, warm, readers = [], [], []
        for _ in range(ROUNDS):
            forget(files)
            cold.append(load(files))
            forget(files)
            report = asyncio.run(read_ahead(files)).report()
            assert report is not None and report.ended == "done", report
            readers.append(report.seconds)
            warm.append(load(files))
        share = page_cache.residency(files).share
        c, w, r = (statistics.median(each) for each in (cold, warm, readers))
        print(f"cold read        {c:7.2f} s  {total / c / 1e9:6.2f} GB/s   (reference)")
        print(f"read-ahead       {r:7.2f} s  {total / r / 1e9:6.2f} GB/s   (while the other model works)")
        print(
            f"read after it    {w:7.2f} s  {total / w / 1e9:6.2f} GB/s   {100 * share:.0f}% of it was in memory"
        )
        print(f"ratio cold / warm: {c / w:.1f}  (median of {ROUNDS} rounds)")
        print("This shows the mechanism on this disk, not an NVMe drive's speed, and no whole swap.")


if __name__ == "__main__":
    main()
