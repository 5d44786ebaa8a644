"""A home, and an SGLang in it that has nothing but flags."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.engines import sglang as engine
from tests.swap.conftest import manager as manager
from tests.swap_install.support import Home, fake_sglang


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home whose `systemctl` finds no manager: units can be written, but nobody reads them."""
    folder = tmp_path / "home"
    folder.mkdir()
    silent = tmp_path / "silent"
    silent.mkdir()
    (silent / "systemctl").write_text("#!/bin/sh\nexit 0\n")
    (silent / "systemctl").chmod(0o755)
    return Home(folder, {"PATH": f"{silent}{os.pathsep}{os.environ['PATH']}"})


@pytest.fixture
def sglang(tmp_path: Path) -> Path:
    """The python of a stand-in for SGLang 0.5.23."""
    return fake_sglang(tmp_path / "sglang", "0.5.23")


@pytest.fixture(scope="module")
def real_sglang(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A python with the real SGLang. Its stand-in for compiled operators has to be imported before torchvision."""
    if reason := engine.missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("real")
    (folder / "sitecustomize.py").write_text("import torchvision_operators\n")
    python = folder / "python"
    python.write_text(
        f'#!/bin/sh\nPYTHONPATH="{folder}{os.pathsep}{engine.SHIM}" exec "{engine.home()}/bin/python" "$@"\n'
    )
    python.chmod(0o755)
    return python
