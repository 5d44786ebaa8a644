"""Faults in a change: only where it adds code, only one, and never in its tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from navigator.exam.mining import Commit, corrected, planted, read_history
from navigator.model.models import Proposal
from tests.git.world import World, commit, git, make_repo

PYTHON = b"def one(x):\n    return x\n\n\ndef two(x):\n    return 2 * x\n"
SCRIPT = b"export function one(x) {\n  return x;\n}\n"
GO = b"package main\n\nfunc one(x int) int {\n\treturn x\n}\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    files = {"app.py": PYTHON, "web/app.ts": SCRIPT, "main.go": GO, "tests/test_app.py": b"x = 1\n"}
    return World(make_repo(tmp_path / "repo", files), tmp_path / "state")


def change(world: World, **files: bytes) -> Proposal:
    names = {"app": "app.py", "ts": "web/app.ts", "go": "main.go", "test": "tests/test_app.py", "md": "a.md"}
    return world.propose({names[name]: content for name, content in files.items()})


LONGER = PYTHON.replace(b"    return x\n", b"    if x is None:\n        return 0\n    return x\n")


def test_a_mutant_differs_in_a_line_that_the_change_added(world: World) -> None:
    made = change(world, app=LONGER, test=b"x = 1\ny = 2 == 2\n")
    faults = list(planted(world.private, made.base_commit, made.tree, "seed"))
    assert faults and {fault.path for fault in faults} == {"app.py"}, "never in tests"
    assert {fault.line for fault in faults} <= {2, 3}
    assert len({fault.text for fault in faults}) == len(faults)


@pytest.mark.parametrize(
    ("name", "content", "path"),
    [
        (
            "ts",
            SCRIPT.replace(b"  return x;", b"  if (x === 0) {\n    return 1;\n  }\n  return x;"),
            "web/app.ts",
        ),
        ("go", GO.replace(b"\treturn x", b"\tif x == 0 {\n\t\treturn 1\n\t}\n\treturn x"), "main.go"),
    ],
)
def test_other_languages_have_operators_too(world: World, name: str, content: bytes, path: str) -> None:
    made = change(world, **{name: content})
    faults = list(planted(world.private, made.base_commit, made.tree, "seed"))
    assert {fault.path for fault in faults} == {path} and len({fault.kind for fault in faults}) > 1


@pytest.mark.parametrize(
    "content",
    [LONGER.replace(b"\n", b"\r\n"), LONGER.replace(b"x", b"\xe9"), b"a = 1\n" * 80_000],
    ids=["CRLF", "Latin-1", "large"],
)
def test_files_that_cannot_be_written_back_to_the_byte_are_left_alone(world: World, content: bytes) -> None:
    made = change(world, app=content)
    assert list(planted(world.private, made.base_commit, made.tree, "seed")) == []


def test_a_change_counts_as_corrected_where_a_later_fix_changed_its_lines(world: World) -> None:
    def fix(files: dict[str, bytes], subject: str) -> Commit:
        commit(world.repo, dict(files), subject)
        return read_history(world.facts, git(world.repo, "rev-parse", "HEAD"), 1)[0]

    made = change(world, app=LONGER, test=b"other\n")
    grown = fix({"app.py": LONGER}, "Fix one()")
    elsewhere = fix({"app.py": LONGER.replace(b"2 * x", b"x + x"), "main.go": GO + b"// it\n"}, "Fix two()")
    right = fix({"app.py": LONGER.replace(b"return 0", b"return 1")}, "Fix one() again")
    base, tree = made.base_commit, made.tree
    assert not corrected(world.private, base, tree, [elsewhere, grown])
    assert corrected(world.private, base, tree, [right, elsewhere])
