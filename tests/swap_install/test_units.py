"""The rendered units before systemd itself: read, verified, started, stopped, taken back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.swap.user_systemd import UserSystemd
from tests.swap_install.support import Home, fake_sglang, profile_with

UNITS = ("navigator-generator.service", "navigator-reviewer.service")
PATIENCE = 60.0


@pytest.fixture
def at_home(manager: UserSystemd, tmp_path: Path) -> Home:
    """`navigator swap install` in the home of a systemd that runs."""
    yield Home(manager.home, {**manager.environment, "NAVIGATOR_STATE": str(tmp_path / "state")})
    manager.forget()
    shutil.rmtree(manager.home / ".config" / "navigator", ignore_errors=True)


@pytest.mark.parametrize("profile", ["qwen3.5-96gb", "qwen3-24gb"])
def test_systemd_finds_nothing_to_complain_about(tmp_path: Path, profile: str) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd: apt install systemd")
    if os.geteuid() != 0:
        pytest.skip("root: only root can run them")
    python = fake_sglang(tmp_path / "sglang", "0.5.23")
    home = Home(tmp_path, {})
    # Exit code 1: no manager runs here that could be told.
    home.run("--profile", profile, "--sglang", str(python), "--yes", code=None)
    units = sorted(home.units.glob("*.service"))
    assert len(units) == 2
    (tmp_path / "run").mkdir(mode=0o700)
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", *map(str, units)],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run")},
    )
    # Of units that are there beside ours it may say what it likes.
    about_ours = [line for line in done.stderr.splitlines() if "navigator" in line]
    assert about_ours == []


def test_installed_units_are_read_start_their_server_and_go(
    at_home: Home, manager: UserSystemd, tmp_path: Path
) -> None:
    python = fake_sglang(tmp_path / "sglang", "0.5.23")
    model = '/models/a $trange "name" 100% of it'
    own = profile_with(tmp_path, "generator", model)
    at_home.run("--profile", str(own), "--sglang", str(python), "--yes")
    for unit in UNITS:
        assert manager.ctl("show", unit, "-p", "LoadState", "--value") == "loaded"
        assert manager.ctl("show", unit, "-p", "KillMode", "--value") == "mixed"
    told = tmp_path / "told.json"
    for unit in UNITS:
        dropin = at_home.units / f"{unit}.d" / "test.conf"
        dropin.parent.mkdir()
        dropin.write_text(f"[Service]\nEnvironment=TOLD={told}\n")
    manager.ctl("daemon-reload")
    try:
        _check_running(at_home, manager, told, model)
    finally:
        for unit in UNITS:
            shutil.rmtree(at_home.units / f"{unit}.d")


def _check_running(at_home: Home, manager: UserSystemd, told: Path, model: str) -> None:
    manager.ctl("start", UNITS[0])
    words, environment = _told(told)
    # Quotes, dollars and per cents come out as they went in.
    assert words[words.index("--model-path") + 1] == model
    loader = words[words.index("--model-loader-extra-config") + 1]
    assert json.loads(loader) == {"enable_multithread_load": True, "num_threads": 16}
    assert words[words.index("--host") + 1] == "127.0.0.1"
    assert environment["SGLANG_MAMBA_CONV_DTYPE"] == "float16"
    assert environment["HF_HUB_OFFLINE"] == "1"
    cache = Path(environment["SGLANG_CACHE_DIR"])
    assert cache.is_dir() and cache.stat().st_mode & 0o077 == 0
    # Neither key is where every user of the machine can read it.
    line = Path(f"/proc/{manager.main_pid(UNITS[0])}/cmdline").read_bytes().decode()
    for name in ("api.key", "admin.key"):
        assert (at_home.keys / name).read_text().strip() not in line
    assert words[words.index("--config") + 1] == str(at_home.keys / "sglang.yaml")

    refused = at_home.command("forget", "--yes", code=1)
    assert f"{UNITS[0]} is still running" in refused.stdout
    assert (at_home.units / UNITS[0]).exists()

    told.unlink()
    manager.ctl("start", UNITS[1])
    _told(told)
    assert manager.state(UNITS[0]) in ("inactive", "failed")
    assert manager.state(UNITS[1]) == "active"

    manager.ctl("stop", UNITS[1])
    at_home.command("forget", "--yes")
    for unit in UNITS:
        assert manager.ctl("show", unit, "-p", "LoadState", "--value") in ("not-found", "bad-setting")
    assert not (at_home.config / "navigator").exists()


def _told(path: Path) -> tuple[list[str], dict[str, Any]]:
    """What the server that was started was called with."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if path.exists() and path.read_text():
            words, environment = json.loads(path.read_text())
            return words, environment
        time.sleep(0.05)
    raise AssertionError("the unit's server did not start")


@pytest.mark.parametrize(
    ("free", "need", "code"), [("900", 800, 0), ("900", 1000, 1), ("500\n1200", 1000, 0), ("[N/A]", 1000, 0)]
)
def test_waiting_for_memory(tmp_path: Path, free: str, need: int, code: int) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\nprintf '{free}\\n'\n")
    tool.chmod(0o755)
    script = Path(__file__).parents[2] / "swap/units/wait-for-vram.sh"
    done = subprocess.run(
        ["/bin/sh", str(script), str(need), "0"],
        capture_output=True,
        text=True,
        env={"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
    )
    assert done.returncode == code
    assert (f"{need} are needed" in done.stderr) == bool(code)
