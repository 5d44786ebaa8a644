"""The cache of tags: damaged, shared, full, unwritable."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from navigator.context.files import TagCache

TAGS = {"lines": 1, "defs": [["f", 1, 1, "def f():"]]}


def test_what_is_put_is_there_and_nothing_else(tmp_path: Path) -> None:
    cache = TagCache(tmp_path / "map.sqlite")
    assert cache.get(["a"]) == {}
    cache.put([("a", TAGS), ("b", {"out": "ä\udcff"})])
    assert TagCache(tmp_path / "map.sqlite").get(["a", "b", "c"]) == {"a": TAGS, "b": {"out": "ä\udcff"}}


@pytest.mark.parametrize("damage", [b"no database at all" * 100, b""])
def test_a_file_that_is_no_database_is_recreated(tmp_path: Path, damage: bytes) -> None:
    place = tmp_path / "map.sqlite"
    place.write_bytes(damage)
    cache = TagCache(place)
    assert cache.get(["a"]) == {}
    cache.put([("a", TAGS)])
    assert cache.get(["a"]) == {"a": TAGS}


def test_a_damaged_row_counts_as_absent(tmp_path: Path) -> None:
    cache = TagCache(tmp_path / "map.sqlite")
    cache.put([("a", TAGS), ("b", TAGS)])
    with sqlite3.connect(tmp_path / "map.sqlite") as connection:
        connection.execute("UPDATE blobs SET tags = x'00ff' WHERE key = 'a'")
    connection.close()
    assert cache.get(["a", "b"]) == {"b": TAGS}


def test_it_stays_within_its_size_and_drops_what_was_read_first(tmp_path: Path) -> None:
    cache = TagCache(tmp_path / "map.sqlite", most_rows=5)
    cache.put((f"old{n}", TAGS) for n in range(5))
    cache.put((f"new{n}", TAGS) for n in range(4))
    keys = [f"old{n}" for n in range(5)] + [f"new{n}" for n in range(4)]
    assert set(cache.get(keys)) == {"old4", "new0", "new1", "new2", "new3"}


def test_where_it_cannot_be_kept_nothing_fails(tmp_path: Path) -> None:
    cache = TagCache(tmp_path / "no" / "such" / "folder" / "map.sqlite")
    cache.put([("a", TAGS)])
    assert cache.get(["a"]) == {}
