"""What the view shows of a real difference is what git shows."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from navigator.git.diffs import parse_comparison
from navigator.tui.diff.layout import Mode, RowKind
from navigator.tui.diff.paint import NO_NEWLINE, SIGNS
from navigator.tui.widgets.cells import display
from tests.tui.diff.samples import ViewApp


def git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=repository, check=True, capture_output=True).stdout


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A patch with edits far and near, a new file, a deletion, a rename, a mode, a binary and awkward characters."""
    repository = tmp_path_factory.mktemp("repository")
    git(repository, "init", "-q")
    lines = [f"def f{n}(x):\n    return x * {n}\n\n" for n in range(80)]
    (repository / "code.py").write_text("".join(lines))
    (repository / "gone.txt").write_text("one\ntwo\n")
    (repository / "moved.txt").write_text("".join(f"line {n}\n" for n in range(30)))
    (repository / "tool.sh").write_text("echo\n")
    (repository / "open.txt").write_text("no end")
    (repository / "logo.bin").write_bytes(b"\x00\x01")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "base")
    lines[3] = "def f3(x, y):\n    return x * 3 + y\n\n"
    lines[40] = ""
    lines[70:70] = ["def new():\n    pass\n\n"]
    (repository / "code.py").write_text("".join(lines))
    (repository / "gone.txt").unlink()
    (repository / "moved.txt").unlink()
    (repository / "new name.txt").write_text("".join(f"line {n}\n" for n in range(29)) + "other\n")
    (repository / "tool.sh").chmod(0o755)
    (repository / "open.txt").write_text("no end yet")
    (repository / "logo.bin").write_bytes(b"\x00\x02")
    (repository / "awkward.py").write_text(
        "日本 = '🎉'\n\tif x:\n\x1b[31m = \u202e1\nx\u00e9\x0c\n", newline=""
    )
    (repository / "crlf.txt").write_bytes(b"a\r\nb\r\n")
    git(repository, "add", "-A")
    return git(repository, "diff", "--cached", "-M", "-z", "--raw", "-p", "--full-index")


def shown_by_git(compared: bytes) -> list[str]:
    """Signs and texts of every line of every hunk, as git prints them."""
    shown: list[str] = []
    inside = False
    for line in compared.decode("utf-8", "surrogateescape").split("\n"):
        if line.startswith("@@ "):
            inside = True
        elif line.startswith("diff --git "):
            inside = False
        elif inside and line.startswith("\\"):
            shown[-1] += f" ⊘ {NO_NEWLINE}"
        elif inside and line:
            shown.append(SIGNS[line[0]] + " " + display(line[1:]))
    return shown


@pytest.mark.parametrize("mode", ["unified", "split"])
async def test_the_view_shows_the_lines_git_shows(compared: bytes, mode: Mode) -> None:
    app = ViewApp(parse_comparison(compared).files, mode=mode)
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.pause()
        view = app.view
        painter, layout = view._painter, view._layout
        assert painter is not None
        shown: list[str] = []
        removed: list[str] = []
        for index, row in enumerate(layout.rows):
            text = painter.strip(row, 0, layout.height(index)).text
            if row.kind == RowKind.LINE:
                shown.append(text[painter.gutter - 2 :].rstrip())
            elif row.kind == RowKind.PAIR:
                # Wide characters make text shorter than its cells: the middle is where the line of the middle is.
                left, right = text.split("│", 1)
                removed.append(left[painter.gutter - 2 :].rstrip())
                shown.append(right[painter.gutter - 3 :].rstrip())
    expected = [line.rstrip() for line in shown_by_git(compared)]
    if mode == "unified":
        assert shown == expected
        return
    absent = ""
    assert [line for line in removed if line != absent] == [
        line for line in expected if line[:1] != "+" and line
    ]
    assert [line for line in shown if line != absent] == [
        line for line in expected if line[:1] != "−" and line
    ]


async def test_the_headers_tell_what_git_says_happened(compared: bytes) -> None:
    app = ViewApp(parse_comparison(compared).files)
    async with app.run_test(size=(100, 60)) as pilot:
        await pilot.pause()
        painter, layout = app.view._painter, app.view._layout
        assert painter is not None
        headers = [
            " ".join(
                painter.strip(layout.rows[index], layout.height(index) - 1, layout.height(index)).text.split()
            )
            for index in layout.file_rows
        ]
    assert headers == [
        "awkward.py new file +4 −0 1 of 8",
        "code.py +5 −5 2 of 8",
        "crlf.txt new file +2 −0 3 of 8",
        "gone.txt deleted +0 −2 4 of 8",
        "logo.bin 5 of 8",
        "new name.txt renamed from moved.txt +1 −1 6 of 8",
        "open.txt +1 −1 7 of 8",
        "tool.sh mode 100644 → 100755 8 of 8",
    ]
