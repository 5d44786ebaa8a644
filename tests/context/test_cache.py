"""The cache of tags: damaged, shared, full, unwritable."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from navigator.context import files
from navigator.context.files import TagCache

TAGS = {"refs": {}, "defs": [["f", 1, 1, "def f():"]]}


def test_what_is_put_is_there_unless_its_row_is_damaged_or_it_cannot_be_kept(tmp_path: Path) -> None:
    place = tmp_path / "map.sqlite"
    cache = TagCache(place)
    assert cache.get(["a"]) == {}
    cache.put([("a", TAGS), ("b", {"withheld": "ä\udcff"})])
    assert TagCache(place).get(["a", "b", "c"]) == {"a": TAGS, "b": {"withheld": "ä\udcff"}}
    with closing(sqlite3.connect(place)) as connection, connection:
        connection.execute("UPDATE blobs SET tags = x'00ff' WHERE key = 'b'")
    assert cache.get(["a", "b"]) == {"a": TAGS}
    nowhere = TagCache(tmp_path / "no" / "such" / "folder" / "map.sqlite")
    nowhere.put([("a", TAGS)])
    assert nowhere.get(["a"]) == {}


@pytest.mark.parametrize("damage", [b"no database at all" * 100, b""])
def test_a_file_that_is_no_database_is_recreated(tmp_path: Path, damage: bytes) -> None:
    place = tmp_path / "map.sqlite"
    place.write_bytes(damage)
    cache = TagCache(place)
    assert cache.get(["a"]) == {}
    cache.put([("a", TAGS)])
    assert cache.get(["a"]) == {"a": TAGS}


def test_it_stays_within_its_size_and_drops_what_was_read_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_ROWS", 5)
    cache = TagCache(tmp_path / "map.sqlite")
    cache.put((f"old{n}", TAGS) for n in range(5))
    cache.put((f"new{n}", TAGS) for n in range(4))
    keys = [f"old{n}" for n in range(5)] + [f"new{n}" for n in range(4)]
    assert set(cache.get(keys)) == {"old4", "new0", "new1", "new2", "new3"}
