"""Reads the map's raw material: the tags of every file of one tree, from the cache or by parsing what is new."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from navigator.context.source import TreeSource
from navigator.context.tags import READ_LIMIT, VERSION, call_grammar, language_of, tags
from navigator.git.private import PrivateRepo
from navigator.git.runner import TreeEntry
from navigator.model.json_text import read_json
from navigator.process.bounded import WorkerLost

MOST_READ = 20_000
"""Files whose content is looked at; in a larger project the rest take part by their paths. `include` narrows a project."""

_BATCH_BYTES = 8 << 20
_MOST_AT_ONCE, _FEW = 4, 12
"""Files that are parsed at once, and up to how many one after the other is quick enough."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One definition: its name, its first and last line (1-based, inclusive), and `signature`, the source line that holds the
    name."""

    name: str
    first: int
    last: int
    signature: str


@dataclass(frozen=True, slots=True)
class MapFile:
    """One file of the map.

    Attributes:
        path: from the project's root.
        size: bytes.
        language: the grammar's name, "" where there is none.
        definitions: by line.
        refs: names that its code speaks of, with how often.
        terms: stems of all its words, with how often.
        withheld: why the file is withheld, or "". A withheld file has only its path and size.
    """

    path: str
    size: int
    language: str = ""
    definitions: tuple[Definition, ...] = ()
    refs: Mapping[str, int] = field(default_factory=dict)
    terms: Mapping[str, int] = field(default_factory=dict)
    withheld: str = ""


def read_files(source: TreeSource, cache: TagCache) -> tuple[MapFile, ...]:
    """Every path of `source.paths()` as a file of the map, in their order. Parses what the cache does not know."""
    entries = source.entries
    paths = list(source.paths())
    read = _worth_reading(paths, entries)
    keys = {path: f"{entries[path].sha}:{language_of(path)}" for path in read}
    known = cache.get(keys.values())
    missing = {keys[path]: path for path in read if keys[path] not in known}
    if missing:
        fresh = dict(_parse(source.private, missing, entries))
        cache.put(fresh.items())
        known |= fresh
    return tuple(
        _file(path, entries[path].size, known[keys[path]] if path in keys else None) for path in paths
    )


def _worth_reading(paths: Sequence[str], entries: Mapping[str, TreeEntry]) -> list[str]:
    small = [path for path in paths if entries[path].size <= READ_LIMIT]
    if len(small) > MOST_READ:
        small.sort(key=lambda path: (not language_of(path), path.count("/"), path))
    return small[:MOST_READ]


def _parse(
    private: PrivateRepo, missing: Mapping[str, str], entries: Mapping[str, TreeEntry]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read blobs in batches and have them parsed side by side; memory is bounded by the batch."""
    with ThreadPoolExecutor(
        1 if len(missing) <= _FEW else min(os.cpu_count() or 1, _MOST_AT_ONCE)
    ) as threads:
        batch: dict[str, str] = {}
        size = 0
        for key, path in missing.items():
            batch[key] = path
            size += entries[path].size
            if size >= _BATCH_BYTES:
                yield from threads.map(_parse_file, *_batch_contents(private, batch, entries))
                batch, size = {}, 0
        yield from threads.map(_parse_file, *_batch_contents(private, batch, entries))


def _batch_contents(
    private: PrivateRepo, batch: Mapping[str, str], entries: Mapping[str, TreeEntry]
) -> tuple[list[str], list[str], list[bytes]]:
    """Keys, languages and contents of the files of a batch."""
    blobs = private.read_blobs(entries[path].sha for path in batch.values())
    contents = [blobs[entries[path].sha] for path in batch.values()]
    return list(batch), [language_of(path) for path in batch.values()], contents


def _parse_file(key: str, language: str, data: bytes) -> tuple[str, dict[str, Any]]:
    """A key with the tags of its file.

    A file over which the process dies is read again without its grammar; should that fail too, it takes part by its path alone.
    """
    for grammar in dict.fromkeys((language, "")):
        with contextlib.suppress(WorkerLost):
            return key, call_grammar(tags, grammar, data)
    return key, {"withheld": "it could not be read"}


def _file(path: str, size: int, tags: Mapping[str, Any] | None) -> MapFile:
    if tags is None:
        return MapFile(path, size)
    if tags.get("withheld"):
        return MapFile(path, size, withheld=str(tags["withheld"]))
    return MapFile(
        path,
        size,
        language=language_of(path),
        definitions=tuple(Definition(*entry) for entry in tags["defs"]),
        refs=tags["refs"],
        terms=tags["terms"],
    )


# Tags of blobs that were read before, in one SQLite file a project. Only a cache: losing it costs time, never an answer.
#
# A blob's tags never change, so two processes that write the same row write the same. A row that was damaged fails its own
# checksum and counts as absent; a file that is no database is replaced; one that cannot be written is read.

log = logging.getLogger(__name__)

MOST_ROWS = 60_000
"""Blobs kept; those that were read first go first."""

_WAIT_SECONDS = 2.0


class TagCache:
    """Tags by key. Methods raise nothing of SQLite's: what cannot be read is absent, what cannot be written is not kept.

    Args:
        path: the file; made where there is none.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """What is known of these blobs."""
        found: dict[str, dict[str, Any]] = {}
        wanted = json.dumps(list(keys))
        query = "SELECT key, tags FROM blobs WHERE version = ? AND key IN (SELECT value FROM json_each(?))"

        def read(connection: sqlite3.Connection) -> None:
            for key, packed in connection.execute(query, (VERSION, wanted)):
                if (tags := _unpacked(packed)) is not None:
                    found[key] = tags

        self._use(read)
        return found

    def put(self, entries: Iterable[tuple[str, dict[str, Any]]]) -> None:
        """Keep tags; what was read first goes where there are too many."""
        rows = [(key, VERSION, _packed(tags)) for key, tags in entries]

        def write(connection: sqlite3.Connection) -> None:
            connection.executemany("INSERT OR REPLACE INTO blobs VALUES (?, ?, ?)", rows)
            (count,) = connection.execute("SELECT count(*) FROM blobs").fetchone()
            oldest = "SELECT key FROM blobs ORDER BY version = ?, rowid LIMIT ?"
            connection.execute(
                f"DELETE FROM blobs WHERE key IN ({oldest})", (VERSION, max(0, count - MOST_ROWS))
            )

        self._use(write)

    def _use(self, work: Callable[[sqlite3.Connection], None]) -> None:
        """Do `work` in one transaction, as far as SQLite can."""
        try:
            with contextlib.closing(sqlite3.connect(self._path, timeout=_WAIT_SECONDS)) as connection:
                connection.execute("PRAGMA trusted_schema = OFF")
                if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'blobs'").fetchone():
                    columns = "key TEXT PRIMARY KEY, version INTEGER NOT NULL, tags BLOB NOT NULL"
                    connection.execute(f"CREATE TABLE IF NOT EXISTS blobs ({columns})")
                with connection:
                    work(connection)
        except sqlite3.OperationalError as error:  # locked, full or read-only: somebody else's doing
            log.info("the map's cache is not used: %s", error)
        except sqlite3.DatabaseError as error:
            log.warning("the map's cache %s was damaged (%s) and is rebuilt", self._path, error)
            for name in (self._path, self._path.with_name(f"{self._path.name}-journal")):
                with contextlib.suppress(OSError):
                    name.unlink()


def _packed(tags: dict[str, Any]) -> bytes:
    return zlib.compress(json.dumps(tags, separators=(",", ":")).encode("ascii"), 1)


def _unpacked(packed: object) -> dict[str, Any] | None:
    """Tags from a row, or None where it was damaged; zlib carries a checksum."""
    try:
        tags = read_json(zlib.decompress(packed)) if isinstance(packed, bytes) else None
    except (zlib.error, ValueError):
        return None
    return tags if isinstance(tags, dict) else None
