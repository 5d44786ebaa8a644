"""A real systemd, two units that run stand-in servers, and the script: one desk for the tests of a swap."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.swap import ssh_server as sshd
from tests.swap.desk import Desk
from tests.swap.ssh_server import SshServer
from tests.swap.user_systemd import UserSystemd, missing, user_systemd


@pytest.fixture(scope="session")
def manager() -> Iterator[UserSystemd]:
    if reason := missing():
        pytest.skip(reason)
    # Not below pytest's own folder: the path of a socket has room for 107 characters.
    with (
        tempfile.TemporaryDirectory(prefix="nav-sd-") as folder,
        user_systemd(Path(folder) / "home") as running,
    ):
        yield running


@pytest.fixture
def desk(manager: UserSystemd, tmp_path: Path) -> Iterator[Desk]:
    made = Desk(manager, tmp_path)
    yield made
    made.clear()


@pytest.fixture
def box(desk: Desk, tmp_path: Path) -> Iterator[SshServer]:
    """The machine with the desk's units, as one that is reached by ssh."""
    if reason := sshd.missing():
        pytest.skip(reason)
    folder = tmp_path / "ssh"
    folder.mkdir()
    locks = {
        "NAVIGATOR_SWAP_LOCK": str(desk.folder / "lock"),
        "NAVIGATOR_SWAP_LOG": str(desk.folder / "swap.log"),
    }
    with sshd.ssh_server(folder, **(desk.manager.environment | locks)) as server:
        yield server
