"""Which definitions a change takes away or alters, and nothing more than that."""

from __future__ import annotations

import pytest

from navigator.journey.subject import MOST_NAMES, redefined
from navigator.model.diff import FileDiff
from tests.git.differing import difference


def names(before: str, after: str, path: str = "a.py") -> list[str]:
    return redefined(difference({path: before.encode()}, {path: after.encode()}))


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("def load(path):\n    pass\n", "def load(path, mode):\n    pass\n", ["load"]),
        ("async def load(path):\n    pass\n", "", ["load"]),
        ("class Store(Base):\n    pass\n", "class Shop(Base):\n    pass\n", ["Store"]),
        ("    def part(self):\n        pass\n", "    def part(self, x):\n        pass\n", ["part"]),
        ("func (s *Store) Load(p string) error {\n", "func (s *Store) Load(p string) {\n", ["Load"]),
        ("export async function load(p) {\n", "export async function load(p, q) {\n", ["load"]),
        ("pub fn load(p: &str) {\n", "", ["load"]),
    ],
)
def test_a_definition_that_is_gone_or_altered_is_named(before: str, after: str, found: list[str]) -> None:
    assert names(before, after) == found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "def load(path):\n    pass\n"),  # new: nobody calls it yet
        ("def load(path):\n    pass\n", "def load(path):\n    return 1\n"),  # the same to its callers
        ("def load(p):\n    pass\n\n\nx = 1\n", "x = 1\n\n\ndef load(p):\n    pass\n"),  # only moved
        ("    def __init__(self):\n", "    def __init__(self, x):\n"),  # stands everywhere
        ("x = define(path)\n", ""),
    ],
)
def test_what_no_caller_notices_is_not(before: str, after: str) -> None:
    assert names(before, after) == []


def test_a_renamed_file_is_looked_for_by_its_old_name_and_names_are_bounded() -> None:
    assert redefined([FileDiff("R", "pkg/helper.py", "pkg/tools.py")]) == ["helper"]
    many = "".join(f"def name_{n}(x):\n    pass\n" for n in range(40))
    assert len(names(many, "")) == MOST_NAMES
