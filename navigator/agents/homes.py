"""Where agents work on this machine: a folder for each run, and a home that an attempt's runs share, so that a session can be
taken up again."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from navigator.process.runner import await_gone, send
from navigator.sandbox.folders import remove

_RUN = "run-"


class Homes:
    """The folders below `root`, of the state folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @asynccontextmanager
    async def lent(self, name: str) -> AsyncIterator[tuple[Path, Path]]:
        """The home of an attempt, and the folder of a run that holds it meanwhile; gone afterwards, unless `keep` was called.

        Raises:
            OSError: the disk is full.
        """
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=_RUN, dir=self._root)).resolve()
        home = scratch / "home"
        try:
            if (self._root / name).is_dir():
                (self._root / name).rename(home)
            else:
                home.mkdir(mode=0o700)
            yield home, scratch
        finally:
            await asyncio.shield(asyncio.to_thread(remove, scratch))

    def keep(self, name: str, home: Path) -> None:
        """Keep a home for the attempt's next run."""
        if (self._root / name).exists():
            remove(self._root / name)
        home.chmod(0o700)  # the agent may have taken its own mode away; without it a folder cannot be moved
        home.rename(self._root / name)

    def sweep(self, wanted: Collection[str]) -> int:
        """Remove what runs of a killed process left, and homes of attempts that are not `wanted`; returns how many."""
        if not self._root.is_dir():
            return 0
        await_gone(self._end_strays())
        left = [
            path
            for path in self._root.iterdir()
            if path.is_dir() and not path.is_symlink() and path.name not in wanted
        ]
        for path in left:
            remove(path)
        return len(left)

    def _end_strays(self) -> list[int]:
        """Kill sandboxes that a killed process left; returns them.

        bubblewrap dies with its parent from the moment on that it has asked for that. One whose parent died before is found
        by the folders of its command line, which name this state folder.
        """
        mark = os.fsencode(self._root.resolve() / _RUN)
        found = []
        for name in os.listdir("/proc"):  # noqa: PTH208
            with contextlib.suppress(OSError):
                if name.isdigit() and mark in Path("/proc", name, "cmdline").read_bytes():
                    found.append(int(name))
        for pid in found:
            send(pid, signal.SIGKILL)
        return found
