from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.workspace.git.world import World, git, make_repo


@pytest.fixture(autouse=True)
def _own_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's own git configuration and identity stay out of the tests."""
    home = tmp_path / "home"
    home.mkdir()
    settings = home / ".gitconfig"
    settings.write_text(
        '[user]\n\tname = Dev Eloper\n\temail = dev@example.org\n[protocol "file"]\n\tallow = always\n'
    )
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture(scope="session")
def _first_repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("first")
    settings = folder / "settings"
    settings.write_text("[user]\n\tname = Dev Eloper\n\temail = dev@example.org\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_CONFIG_GLOBAL", str(settings))
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        return make_repo(folder / "repo")


@pytest.fixture
def repo(tmp_path: Path, _first_repo: Path) -> Path:
    """A repository with one commit: a copy, which is faster than making it."""
    copy = Path(shutil.copytree(_first_repo, tmp_path / "repo", symlinks=True))
    git(copy, "update-index", "-q", "--refresh")
    return copy


@pytest.fixture
def world(repo: Path, tmp_path: Path) -> World:
    return World(repo, tmp_path / "state")
