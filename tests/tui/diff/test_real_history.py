"""Every commit of a real history opens in the diff view, and its text is git's own.

The history is this checkout's own; NAVIGATOR_REAL_HISTORY names another (a checkout or a bare repository).
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from navigator.git.facts import read_facts
from navigator.git.private import PrivateRepo
from navigator.model.models import Project
from navigator.tui.diff.cells import display
from navigator.tui.diff.layout import RowKind
from navigator.tui.diff.paint import NO_NEWLINE, SIGNS
from tests.tui.diff.samples import ViewApp

ROOT = Path(__file__).parents[3]
WIDTH = 400
LIMIT = int(os.environ.get("NAVIGATOR_REAL_COMMITS", "60"))

pytestmark = pytest.mark.slow


def git(repository: Path, *arguments: str) -> bytes:
    """Run git there and return its bytes."""
    return subprocess.run(["git", "-C", str(repository), *arguments], check=True, capture_output=True).stdout


@pytest.fixture(scope="module")
def repository() -> Path:
    """The history to open."""
    named = os.environ.get("NAVIGATOR_REAL_HISTORY")
    if named:
        return Path(named)
    if not (ROOT / ".git").exists():
        pytest.skip("a history: this is no checkout; NAVIGATOR_REAL_HISTORY may name one")
    return ROOT


def commits(repository: Path) -> list[tuple[str, str]]:
    """(first parent, commit), newest first."""
    lines = git(repository, "log", "--first-parent", "--format=%H %P", "-n", str(LIMIT)).decode().splitlines()
    rows = [line.split() for line in lines]
    return [(row[1], row[0]) for row in rows if len(row) > 1]


def lines_by_git(repository: Path, parent: str, commit: str) -> list[str]:
    """Signs and texts of every hunk's lines, as git prints them, file by file decoded as UTF-8 or else Latin-1."""
    patch = git(
        repository, "diff-tree", "-r", "-p", "--find-renames=100%", "--no-ext-diff", "--no-textconv", "--no-color",
        "--diff-algorithm=histogram", parent, commit,
    )  # fmt: skip
    shown: list[str] = []
    for part in (b"\n" + patch).split(b"\ndiff --git ")[1:]:
        try:
            text = part.decode()
        except UnicodeDecodeError:
            text = part.decode("latin-1")
        inside = False
        for line in text.split("\n"):
            if line.startswith("@@ "):
                inside = True
            elif inside and line.startswith("\\"):
                shown[-1] += f" ⊘ {NO_NEWLINE}"
            elif inside and line:
                shown.append(SIGNS[line[0]] + " " + display(line[1:]))
    return shown


def lines_of_view(app: ViewApp) -> list[str]:
    """Signs and texts as the view paints them, each cut at the view's width."""
    painter, layout = app.view._painter, app.view._layout
    assert painter is not None
    return [
        painter.strip(row, 0, layout.height(index)).text[painter.gutter - 2 :]
        for index, row in enumerate(layout.rows)
        if row.kind == RowKind.LINE
    ]


@pytest.mark.timeout(1800)
async def test_every_commit_shows_what_git_shows(repository: Path, tmp_path: Path) -> None:
    facts = read_facts(repository)
    private = PrivateRepo.open(tmp_path, Project(id=1, name="real", path=str(facts.path)), facts)
    opened = lines = 0
    app = ViewApp([])
    async with app.run_test(size=(WIDTH, 40)) as pilot:
        for parent, commit in commits(repository):
            app.view.show(private.diff(parent, commit))
            await pilot.pause()
            shown, expected = lines_of_view(app), lines_by_git(repository, parent, commit)
            assert len(shown) == len(expected), commit
            for painted, printed in zip(shown, expected, strict=True):
                cut = painted.rstrip()
                same = cut == printed.rstrip()
                assert same or (len(cut) > WIDTH // 2 - 20 and printed.startswith(cut[: WIDTH // 2 - 40])), (
                    commit
                )
            opened += 1
            lines += len(shown)
    print(f"{opened} commits, {lines} lines")
    assert opened
