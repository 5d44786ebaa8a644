"""Files parsed side by side in worker processes, and what happens when one of them dies over a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from navigator.context.repomap.extract import tags
from navigator.process.bounded.run import Worker, WorkerLost

_MOST_WORKERS = 4
_MEMORY = 3 << 30
_SECONDS = 2.0
_BYTES_A_SECOND = 100_000


@dataclass(frozen=True, slots=True)
class ParseJob:
    """One file to be read: its key in the cache, the grammar's name or "", its content."""

    key: str
    language: str
    data: bytes


def ask(worker: Worker, function: Any, language: str, data: bytes) -> Any:
    """Call a grammar on one file, for as long as its size allows.

    Raises:
        WorkerLost: the process did not survive it.
    """
    seconds = _SECONDS + len(data) / _BYTES_A_SECOND
    try:
        return worker.call(function, language, data, seconds=seconds, memory=_MEMORY)
    except WorkerLost:
        raise
    except Exception as error:
        raise WorkerLost from error  # a grammar that cannot be loaded is as good as none


class Pool:
    """Workers side by side; use it in `with`.

    Args:
        workers: how many; as many as there are processors, at most 4, where not given.
    """

    def __init__(self, workers: int | None = None) -> None:
        count = workers or min(os.cpu_count() or 1, _MOST_WORKERS)
        self._workers = [Worker() for _ in range(count)]
        self._threads = ThreadPoolExecutor(count)

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown()
        for worker in self._workers:
            worker.close()

    def read(self, jobs: Iterable[ParseJob]) -> list[tuple[str, dict[str, Any]]]:
        """Each job's key with its tags, in no particular order.

        A file over which the process dies is read again without its grammar; should that fail too, it takes part by its
        path alone.
        """
        lanes: list[list[ParseJob]] = [[] for _ in self._workers]
        loads = [0] * len(lanes)
        # The largest first, each to whoever has least to do.
        for job in sorted(jobs, key=lambda job: -len(job.data)):
            lane = loads.index(min(loads))
            lanes[lane].append(job)
            loads[lane] += len(job.data) + 500
        runs = [
            self._threads.submit(lambda *args: list(_answers(*args)), worker, lane)
            for worker, lane in zip(self._workers, lanes, strict=True)
            if lane
        ]
        return [entry for run in runs for entry in run.result()]


def _answers(worker: Worker, jobs: list[ParseJob]) -> Iterator[tuple[str, dict[str, Any]]]:
    for job in jobs:
        for language in dict.fromkeys((job.language, "")):
            try:
                yield job.key, ask(worker, tags, language, job.data)
                break
            except WorkerLost:
                continue
        else:
            yield job.key, {"out": "it could not be read"}
