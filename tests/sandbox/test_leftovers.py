"""What one run leaves, or one tree holds, never stops another: deep folders, odd modes, links that lead to themselves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from navigator.model.states import CheckOutcome
from navigator.sandbox import folders
from navigator.sandbox.binds import asked_mounts
from navigator.sandbox.folders import SET_ASIDE, remove, used_bytes
from navigator.sandbox.suite import sweep
from tests.sandbox.support import Bench, needs_sandbox

DEEP = 1_200
"""Of four characters each: longer than a path may be."""


def deep(folder: Path, levels: int = DEEP) -> None:
    """Folders within folders, far longer in all than a path may be, with a file of 1 MB at the bottom."""
    at = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("ddd", dir_fd=at)
        below = os.open("ddd", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    file = os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=at)
    os.write(file, b"x" * 1_000_000)
    os.close(file)
    os.close(at)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_folders_of_any_depth_and_mode_are_measured_and_removed(tmp_path: Path) -> None:
    run = tmp_path / "check-a"
    (run / "shut").mkdir(parents=True)
    (run / "shut" / "file").write_text("a")
    (run / "shut" / "shut").mkdir(mode=0)
    (run / "shut").chmod(0)
    (run / "link").symlink_to(tmp_path)
    (tmp_path / "other").write_text("stays")
    deep(run)
    opened = open_files()
    assert used_bytes(run) >= 1_000_000
    assert open_files() == opened
    assert remove(run)
    assert open_files() == opened
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_what_cannot_be_removed_is_set_aside_and_the_next_start_goes_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "check-a" / "file").mkdir(parents=True)
    (tmp_path / "check-b").mkdir()
    system = folders._system
    monkeypatch.setattr(
        folders, "_system", lambda *words: system("true" if "check-a" in words[-1] else words[0], *words[1:])
    )
    assert sweep(tmp_path) == 2
    assert [path.name.startswith(SET_ASIDE) for path in tmp_path.iterdir()] == [True]
    assert sweep(tmp_path) == 0


@pytest.mark.sandbox
@needs_sandbox
def test_tests_that_make_deep_folders_pass_and_leave_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"a.txt": "a\n"})
    script = "import os\nfor _ in range(1200): os.mkdir('ddd'); os.chdir('ddd')\nos.chmod('.', 0)"
    assert bench.run(check=f'python3 -c "{script}"').outcome is CheckOutcome.PASSED


@pytest.mark.sandbox
@needs_sandbox
def test_a_mount_follows_links_of_the_user_and_none_of_the_repository(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "sub").mkdir(parents=True)
    bench = Bench(tmp_path / "bench", {"a.txt": "a\n"})
    for name in ("data", "mine"):
        (bench.path / name).symlink_to(outside)
    mounts = bench.project.model_copy(update={"check_mounts": ("data", "data/sub", "mine", "mine/sub")})
    there, absent = asked_mounts(mounts, ["a.txt", "data"])
    assert [bind.target for bind in there] == [str(bench.path / "mine"), str(bench.path / "mine/sub")]
    assert absent == ("data", "data/sub")


def holding(bench: Bench, path: str) -> str:
    """A tree with one file at any path, made without a working tree."""
    person = "a <a@b.example> 1700000000 +0000"
    lines = f"commit refs/heads/made\ncommitter {person}\ndata 1\na\nM 100644 inline {path}\ndata 1\na\n"
    bench.private.git.run("fast-import", "--quiet", input=lines.encode())
    made = bench.private.git.run("rev-parse", "refs/heads/made").text.strip()
    return bench.private.tree_of(made)


@pytest.mark.sandbox
@needs_sandbox
@pytest.mark.parametrize(
    "path", [("d" * 200 + "/") * 30 + "a.txt", "n" * 300 + ".txt"], ids=["long", "long name"]
)
def test_a_path_that_cannot_be_checked_out_is_a_failed_check(tmp_path: Path, path: str) -> None:
    bench = Bench(tmp_path, {"a.txt": "a\n"})
    run = bench.run(holding(bench, path), check="true")
    assert run.outcome is CheckOutcome.FAILED
    assert "cannot be checked out" in run.detail
