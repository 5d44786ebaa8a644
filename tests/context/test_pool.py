"""What happens when a file hangs or kills the process that parses it: a real process, really hanging, really killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from navigator.checks.syntax import GrammarGate
from navigator.context import tags
from navigator.context.repomap import RepoMap
from navigator.context.source import TreeSource
from navigator.process import bounded
from tests.git.world import World, make_repo

# A worker whose reading misbehaves over certain bytes; everything else in it is the real one.
SPOILT = """
import os, signal
from navigator.context import tags
from navigator.process import bounded
def spoilt(real):
    def reading(language, data):
        while language and b"HANG" in data:
            pass
        if language and b"CRASH" in data:
            os.kill(os.getpid(), signal.SIGSEGV)
        if b"ALWAYS" in data:
            os._exit(3)
        return real(language, data)
    return reading
tags.extract, tags.faults = spoilt(tags.extract), spoilt(tags.faults)
bounded.serve()
"""


@pytest.fixture
def spoilt(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    bounded.close_idle()
    monkeypatch.setattr(bounded, "_PROGRAM", SPOILT)
    monkeypatch.setattr(tags, "_SECONDS", 0.1)
    yield
    bounded.close_idle()


@pytest.mark.usefixtures("spoilt")
def test_a_file_that_hangs_or_crashes_the_parser_takes_part_by_its_words(tmp_path: Path) -> None:
    spoilers = {f"{name.lower()}.py": f"def {name}(): word\n".encode() for name in ("HANG", "CRASH")}
    spoilers["always.py"] = b"ALWAYS\n"
    good = {f"f{number}.py": b"def f%d(): pass\n" % number for number in range(15)}
    world = World(make_repo(tmp_path / "repo", good | spoilers), tmp_path / "state")
    source = TreeSource(world.private, world.facts.head_commit, world.project)
    found = {file.path: file for file in RepoMap(source).files}
    assert [found[path].definitions[0].name for path in good] == [path.removesuffix(".py") for path in good]
    for path in ("hang.py", "crash.py"):
        assert found[path].definitions == () and found[path].terms["word"] == 1
    assert found["always.py"].withheld == "it could not be read"
    assert {file.path: file for file in RepoMap(source).files} == found, "from the cache"


@pytest.mark.usefixtures("spoilt")
def test_a_file_that_hangs_the_parser_passes_and_two_end_the_patience() -> None:
    good, broken = b"package a\n", b"package a\nfunc {\n"
    gate = GrammarGate()
    assert gate.new_fault("a.go", good, broken + b"// HANG\n") is None
    assert gate.new_fault("a.go", good, broken) is not None
    assert gate.new_fault("b.go", good, broken + b"// HANG\n") is None
    assert gate.new_fault("a.go", good, broken) is None


def test_what_must_not_be_shown_is_told_by_its_reason() -> None:
    assert tags.tags("", b"a\0b") == {"withheld": "not text"}
    lfs = b"version https://git-lfs.github.com/spec/v1\n"
    assert tags.tags("", lfs)["withheld"] == "a pointer to a file in LFS"
    assert "private key" in tags.tags("", b"-----BEGIN RSA PRIVATE KEY-----\n")["withheld"]
