"""Seals: what is ours is recognised, what was touched is noticed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from navigator.model.errors import ConfigError, MissingPart
from navigator.setup.files import PlannedFile, sealed, shown_diff, state_of, write
from navigator.setup.install import carry_out, flags_of_unit
from navigator.setup.render import quoted


@settings(deadline=None, max_examples=10)
@given(body=st.text(), at=st.integers(0), char=st.characters(codec="utf-8"))
def test_any_change_breaks_the_seal(
    tmp_path_factory: pytest.TempPathFactory, body: str, at: int, char: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "sealed"
    body = body.encode(errors="replace").decode()
    text = sealed(body)
    path.write_bytes(text.encode())
    assert state_of(path) == "ours"
    start = len(text) - len(body)
    place = start + at % (len(body) + 1)
    path.write_bytes((text[:place] + char + text[place:]).encode())
    assert state_of(path) == "changed"


def test_other_states(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert state_of(path) == "absent"
    path.write_bytes(b"\xff\xfe")
    assert state_of(path) == "foreign"
    path.write_text("")
    assert state_of(path) == "foreign"


def test_a_file_has_its_mode_from_the_start(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        write(PlannedFile(tmp_path / "keys" / "key", "secret\n", 0o600, secret=True))
    finally:
        os.umask(old)
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "keys" / "key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in (tmp_path / "keys").iterdir()] == ["key"]


def test_a_secret_is_not_in_its_diff(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("old-word\n")
    said = shown_diff(PlannedFile(path, "new-word\n", 0o600, secret=True))
    assert "-word" not in said and str(path) in said


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(MissingPart, match="cannot be written"):
        carry_out([PlannedFile(tmp_path / "absent", "x"), PlannedFile(Path("/proc/navigator/x"), "x")])
    assert (tmp_path / "absent").read_text() == "x"


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]) | st.just(" "), max_size=30))
def test_a_quoted_word_is_one_word_of_its_own_text(word: str) -> None:
    out = quoted(word)
    inner = out[1:-1] if out.startswith('"') else out
    # Undo systemd's quoting by its rules: C-style escapes, then specifiers and variables.
    undone = inner.replace("$$", "$").replace("%%", "%").replace('\\"', '"').replace("\\\\", "\\")
    assert undone == word
    assert out.startswith('"') or (" " not in out and out)


@pytest.mark.parametrize("word", ["a\nExecStartPre=/bin/evil", "a\x00b", "a\x1b[31m"])
def test_no_control_character_reaches_a_unit(word: str) -> None:
    with pytest.raises(ConfigError):
        quoted(word)


def test_flags_are_read_back_from_a_unit() -> None:
    text = (
        "x\nExecStart=/p/python -m sglang.launch_server \\\n    --port 1 \\\n    --enable-metrics \\\n"
        '    --model-path "/a b" \\\n    --last=2\nKillMode=mixed --no\n'
    )
    assert flags_of_unit(text) == {
        "--port": "1",
        "--enable-metrics": "",
        "--model-path": "/a b",
        "--last": "2",
    }
    assert flags_of_unit("[Unit]\n") == {}
