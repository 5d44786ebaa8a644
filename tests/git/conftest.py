from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.git.world import World, git, make_repo


@pytest.fixture(autouse=True)
def _own_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home folder for each test, since some change the user's configuration."""
    (tmp_path / "home").mkdir()
    shutil.copy(Path.home() / ".gitconfig", tmp_path / "home")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture(scope="session")
def _first_repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repo(tmp_path_factory.mktemp("first") / "repo")


@pytest.fixture
def repo(tmp_path: Path, _first_repo: Path) -> Path:
    """A repository with one commit: a copy, which is faster than making it."""
    copy = Path(shutil.copytree(_first_repo, tmp_path / "repo", symlinks=True))
    git(copy, "update-index", "-q", "--refresh")
    return copy


@pytest.fixture
def world(repo: Path, tmp_path: Path) -> World:
    return World(repo, tmp_path / "state")
