"""Files in folders that somebody else shapes: no link is followed, nothing waits, and a write replaces or is refused."""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from navigator.process.guarded import NotPlain, kind_of, read_file, walk, write_file


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A folder, with a file of the user's beside it."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "key").write_text("secret")
    made = tmp_path / "shaped"
    made.mkdir()
    return made


def bind(place: Path) -> None:
    here = os.open(place.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(f"/proc/self/fd/{here}/{place.name}")
    os.close(here)


SHAPES: dict[str, Callable[[Path], object]] = {
    "a link": lambda place: place.symlink_to("../mine/key"),
    "a FIFO": os.mkfifo,
    "a socket": bind,
    "a folder": lambda place: place.mkdir(),
    "larger than 6 bytes": lambda place: place.write_bytes(b"x" * 7),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_only_plain_files_are_read(top: Path, shape: str) -> None:
    SHAPES[shape](top / "key")
    with pytest.raises(NotPlain) as caught:
        read_file(top, "key", 6)
    assert caught.value.strerror == f"it is {shape}"
    (top / "plain").write_bytes(b"x" * 6)
    assert read_file(top, "plain", 6) == b"x" * 6


@pytest.mark.parametrize("shape", [*SHAPES, ""])
def test_a_file_is_written_in_the_place_of_whatever_is_there(top: Path, shape: str) -> None:
    if shape:
        SHAPES[shape](top / "key")
    if shape == "a folder":
        with pytest.raises(IsADirectoryError):
            write_file(top, "key", b"new")
    else:
        write_file(top, "key", b"new", 0o640)
        assert (top / "key").read_bytes() == b"new"
        assert (top / "key").lstat().st_mode & 0o777 == 0o640
    assert [path.name for path in top.iterdir()] == ["key"]
    if shape:
        with pytest.raises(FileExistsError):
            write_file(top, "key", b"newer", new=True)
        assert [path.name for path in top.iterdir()] == ["key"]
    assert (top.parent / "mine" / "key").read_text() == "secret"


@pytest.mark.parametrize("name", ["way/key", "deep/way/key"])
def test_no_part_of_the_way_is_a_link(top: Path, name: str) -> None:
    (top / "deep").mkdir()
    for way in (top / "way", top / "deep" / "way"):
        way.symlink_to(top.parent / "mine")
    acts: tuple[Callable[[], object], ...] = (
        lambda: read_file(top, name, 100),
        lambda: write_file(top, name, b"new"),
        lambda: kind_of(top, name),
    )
    for act in acts:
        with pytest.raises(NotPlain, match="way is a link, not a folder"):
            act()
    assert (top.parent / "mine" / "key").read_text() == "secret"
    assert [path.name for path in (top.parent / "mine").iterdir()] == ["key"]


@pytest.mark.parametrize("name", ["../mine/key", "/etc/passwd", "a//b", "", ".", "..", "a/../../mine/key"])
def test_names_do_not_lead_out(top: Path, name: str) -> None:
    (top / "a").mkdir()
    with pytest.raises(NotPlain, match="leads out"):
        read_file(top, name, 100)
    with pytest.raises(NotPlain, match="leads out"):
        write_file(top, name, b"new")


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    """Some thirty descriptors, and no more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(entry.name) for entry in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 30, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_walk_needs_few_descriptors_and_follows_nothing(top: Path, few_descriptors: None) -> None:
    for number in range(100):
        (top / f"{number:03}" / "inner").mkdir(parents=True)
        (top / f"{number:03}" / "inner" / "file").touch()
    (top / "link").symlink_to("../mine")
    os.mkfifo(top / "pipe")
    (top / ".git").mkdir()
    (top / ".git" / "config").touch()
    found = [path for path, _, _ in walk(top, most=1_000, deepest=5)]
    assert found == [*(f"{number:03}/inner/file" for number in range(100)), "link", "pipe"]
    assert [path for path, _, _ in walk(top, most=1_000, deepest=1)][:2] == ["000/inner", "001/inner"]
    with pytest.raises(NotPlain, match="too many files"):
        list(walk(top, most=200, deepest=5))
