"""Reads the map's raw material: the tags of every file of one tree, from the cache or by parsing what is new."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from navigator.context.repomap.cache import TagCache
from navigator.context.repomap.extract import READ_LIMIT
from navigator.context.repomap.languages import language_of
from navigator.context.repomap.pool import ParseJob, Pool
from navigator.git.private import PrivateRepo, TreeEntry
from navigator.git.runner import GitError
from navigator.git.source import TreeSource

MOST_READ = 20_000
"""Files whose content is looked at; in a larger project the rest take part by their paths. `include` narrows a project."""

_AT_ONCE = 8 << 20
_FEW = 12


@dataclass(frozen=True, slots=True)
class Definition:
    """One definition: its name, its lines (1-based, inclusive), and the line of its name."""

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
        lines: how many; 0 where the content was not looked at.
        definitions: by line.
        refs: names that its code speaks of, with how often.
        terms: stems of all its words, with how often.
        imports: as they are written.
        out: why the file must not be shown, "" for all others. Such a file has nothing of the above.
    """

    path: str
    size: int
    language: str = ""
    lines: int = 0
    definitions: tuple[Definition, ...] = ()
    refs: Mapping[str, int] = field(default_factory=dict)
    terms: Mapping[str, int] = field(default_factory=dict)
    imports: tuple[str, ...] = ()
    out: str = ""


def read_files(source: TreeSource, cache: TagCache) -> tuple[MapFile, ...]:
    """Every path of `source.paths()` as a file of the map, in their order. Parses what the cache does not know."""
    entries = source.entries
    paths = list(source.paths())
    read = _worth_reading(paths, entries)
    keys = {path: f"{entries[path].sha}:{language_of(path)}" for path in read}
    tags = cache.get(keys.values())
    missing = {keys[path]: path for path in read if keys[path] not in tags}
    if missing:
        fresh = dict(_parse(source.private, missing, entries))
        cache.put(fresh.items())
        tags |= fresh
    absent = {"out": "its content is not in the repository"}
    return tuple(
        _file(path, entries[path].size, tags.get(keys[path], absent) if path in keys else None)
        for path in paths
    )


def _worth_reading(paths: Sequence[str], entries: Mapping[str, TreeEntry]) -> list[str]:
    small = [path for path in paths if entries[path].size <= READ_LIMIT]
    if len(small) > MOST_READ:
        small.sort(key=lambda path: (not language_of(path), path.count("/"), path))
    return small[:MOST_READ]


def _parse(
    private: PrivateRepo, missing: Mapping[str, str], entries: Mapping[str, TreeEntry]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read blobs in batches and have them parsed; memory is bounded by the batch."""
    with Pool(1 if len(missing) <= _FEW else None) as pool:
        batch: list[tuple[str, str]] = []
        size = 0
        for key, path in missing.items():
            batch.append((key, path))
            size += entries[path].size
            if size >= _AT_ONCE:
                yield from _parse_batch(private, pool, batch, entries)
                batch, size = [], 0
        yield from _parse_batch(private, pool, batch, entries)


def _parse_batch(
    private: PrivateRepo, pool: Pool, batch: Sequence[tuple[str, str]], entries: Mapping[str, TreeEntry]
) -> list[tuple[str, dict[str, Any]]]:
    try:
        blobs = private.read_blobs(entries[path].sha for _, path in batch)
    except GitError:
        # One of them is not there (a partial clone, a damaged repository): the others are, and are shown.
        blobs = {}
        for _, path in batch:
            with contextlib.suppress(GitError):
                blobs |= private.read_blobs([entries[path].sha])
    jobs = [
        ParseJob(key, language_of(path), blobs[entries[path].sha])
        for key, path in batch
        if entries[path].sha in blobs
    ]
    return pool.read(jobs)


def _file(path: str, size: int, tags: Mapping[str, Any] | None) -> MapFile:
    if tags is None:
        return MapFile(path, size)
    if tags.get("out"):
        return MapFile(path, size, out=str(tags["out"]))
    return MapFile(
        path,
        size,
        language=language_of(path),
        lines=tags["lines"],
        definitions=tuple(Definition(*entry) for entry in tags["defs"]),
        refs=tags["refs"],
        terms=tags["terms"],
        imports=tuple(tags["imports"]),
    )
