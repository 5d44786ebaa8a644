"""The state folder: private, and with a socket that the kernel takes."""

from __future__ import annotations

import os
import socket
import stat
import sys
from pathlib import Path

import pytest

from navigator.config.paths import (
    SOCKET_PATH_LIMIT,
    StatePaths,
    config_path,
    state_dir,
    typed_path,
    write_private,
)
from navigator.model.errors import ConfigError


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_home_of_nobody_stays_as_it_was_typed() -> None:
    assert typed_path("~no-such-user/src") == Path("~no-such-user/src").absolute()
    assert typed_path("~/src") == Path.home() / "src"


def test_the_state_folder_is_made_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    previous = os.umask(0)
    try:
        monkeypatch.setenv("NAVIGATOR_STATE", str(tmp_path / "a" / "b"))
        paths = StatePaths(state_dir()).ensure()
    finally:
        os.umask(previous)
    folders = (paths.root, paths.private, paths.backups, paths.rehearsal)
    assert {mode(folder) for folder in folders} == {0o700}
    paths.root.chmod(0o755)
    paths.private.chmod(0o777)
    paths.ensure()  # one of ours that was opened is closed again
    assert {mode(folder) for folder in folders} == {0o700}


def test_a_file_or_a_shared_folder_with_other_things_is_refused_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "letter.txt").write_text("dear")
    home.chmod(0o755)
    monkeypatch.setenv("NAVIGATOR_STATE", str(home))
    with pytest.raises(ConfigError, match="holds other files"):
        state_dir()
    assert mode(home) == 0o755
    monkeypatch.setenv("NAVIGATOR_STATE", str(home / "letter.txt"))
    with pytest.raises(ConfigError, match="not a folder"):
        state_dir()


def test_defaults_follow_the_platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NAVIGATOR_STATE", "NAVIGATOR_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert state_dir() == tmp_path / "state" / "navigator"
    assert config_path() == tmp_path / "config" / "navigator" / "config.toml"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", "relative")  # does not count, says the specification
    monkeypatch.delenv("XDG_CONFIG_HOME")
    assert state_dir() == tmp_path / ".local" / "state" / "navigator"
    assert config_path() == tmp_path / ".config" / "navigator" / "config.toml"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert state_dir() == config_path().parent == tmp_path / "Library" / "Application Support" / "navigator"


def test_a_user_without_a_home_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NAVIGATOR_STATE", "NAVIGATOR_CONFIG", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 2)  # of whom /etc/passwd knows nothing
    for find in (state_dir, config_path):
        with pytest.raises(ConfigError, match="no home folder"):
            find()


def test_relative_and_home_paths_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NAVIGATOR_STATE", "here")
    assert state_dir() == tmp_path / "here"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NAVIGATOR_CONFIG", "~/c.toml")
    assert config_path() == tmp_path / "c.toml"


def test_write_private_replaces_whole_files(tmp_path: Path) -> None:
    target = tmp_path / "note"
    target.write_text("old")
    target.chmod(0o644)
    write_private(target, b"new")
    assert target.read_bytes() == b"new"
    assert mode(target) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["note"]


def bindable(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(path))
    path.unlink()
    return True


def deep(tmp_path: Path) -> StatePaths:
    root = tmp_path / ("d" * 60) / ("e" * 60)
    return StatePaths(root).ensure()


def test_a_short_path_is_used_as_it_is(tmp_path: Path) -> None:
    exact = SOCKET_PATH_LIMIT - len("/conductor.sock") - len(os.fsencode(tmp_path)) - 1
    root = tmp_path / ("x" * exact)
    root.mkdir(mode=0o700)
    assert StatePaths(root).socket == root / "conductor.sock"
    assert bindable(StatePaths(root).socket)
    longer = tmp_path / ("x" * (exact + 1))
    longer.mkdir(mode=0o700)
    assert StatePaths(longer).socket.parent != longer


def test_a_long_path_moves_to_a_short_one_that_every_client_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = deep(tmp_path)
    chosen = paths.socket
    try:
        assert mode(chosen.parent) == 0o700
        assert bindable(chosen)
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        chosen.parent.rmdir()  # as after a reboot
        assert StatePaths(paths.root).socket == chosen
        assert deep(tmp_path / "f").socket != chosen
    finally:
        chosen.parent.rmdir()
        deep(tmp_path / "f").socket.parent.rmdir()


def test_a_link_in_place_of_the_short_folder_is_refused(tmp_path: Path) -> None:
    paths = deep(tmp_path)
    folder = paths.socket.parent
    folder.rmdir()
    (tmp_path / "mine").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "mine")
    try:
        with pytest.raises(ConfigError, match="not a folder of yours alone"):
            _ = paths.socket
    finally:
        folder.unlink()
