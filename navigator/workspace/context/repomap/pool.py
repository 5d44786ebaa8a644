"""A few parsing processes, and what happens when one of them dies over a file."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any

_WORKER = "navigator.workspace.context.repomap.worker"
_KEPT = ("PATH", "LANG", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")
_MOST_WORKERS = 4
_PATIENCE = 120.0
"""Seconds without an answer after which a process counts as lost. Its own limit is processor time, and far shorter."""


class WorkerLost(Exception):
    """The process ended, or fell silent, over a file."""


@dataclass(frozen=True, slots=True)
class ParseJob:
    """One file to be read: its key in the cache, the grammar's name or "", its content."""

    key: str
    language: str
    data: bytes


class Worker:
    """One parsing process, started when it is first asked."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, language: str, data: bytes) -> dict[str, Any]:
        """The tags of one file.

        Raises:
            WorkerLost: the process did not survive it; the next call starts another.
        """
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(b"%b %d\n" % ((language or "-").encode("ascii"), len(data)))
            process.stdin.write(data)
            process.stdin.flush()
            self._wait(process)
            head = process.stdout.readline()
            text = process.stdout.read(int(head)) if head.endswith(b"\n") else b""
            answer = json.loads(text)
        except (OSError, ValueError, TimeoutError) as error:
            self.close()
            raise WorkerLost from error
        if not isinstance(answer, dict):
            self.close()
            raise WorkerLost
        return answer

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            # -P: nothing is imported from the current folder. No key of the caller's environment reaches it.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", _WORKER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _KEPT if name in os.environ},
                cwd="/",
                start_new_session=True,
            )
        return self._process

    @staticmethod
    def _wait(process: subprocess.Popen[bytes]) -> None:
        """Until there is something to read. The pipe is empty before each question, so nothing waits in the buffer."""
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(_PATIENCE):
                raise TimeoutError

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


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
            self._threads.submit(_read_lane, worker.ask, lane)
            for worker, lane in zip(self._workers, lanes, strict=True)
            if lane
        ]
        return [entry for run in runs for entry in run.result()]


def _read_lane(
    ask: Callable[[str, bytes], dict[str, Any]], jobs: list[ParseJob]
) -> list[tuple[str, dict[str, Any]]]:
    return list(_answers(ask, jobs))


def _answers(
    ask: Callable[[str, bytes], dict[str, Any]], jobs: list[ParseJob]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for job in jobs:
        for language in dict.fromkeys((job.language, "")):
            try:
                yield job.key, ask(language, job.data)
                break
            except WorkerLost:
                continue
        else:
            yield job.key, {"out": "it could not be read"}
