"""`navigator swap install --host`, `doctor` and a session with the servers on another machine, as a user runs them."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tests.swap.desk import Desk
from tests.swap.ssh_server import HOST, SshServer
from tests.swap_install.support import Home, below, fake_sglang

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("systemd")]

INSTALL = ("swap", "install", "--host", HOST, "--profile", "qwen3.5-96gb")


@pytest.fixture
def here(box: SshServer) -> Home:
    """A home on this machine, whose `ssh` knows the other one."""
    return Home(box.folder, box.client)


def test_there_and_back(desk: Desk, here: Home, tmp_path: Path) -> None:
    home, sglang = desk.manager.home, fake_sglang(tmp_path / "sglang", "0.5.23")
    desk.clear()
    before = below(home).keys()
    install = (*INSTALL, "--sglang", str(sglang.parents[1]))
    said = here.command(*install, "--dry-run")
    assert f"+++ {HOST}:{home}/.config/systemd/user/navigator-generator.service" in said.stdout
    assert f'host = "{HOST}"' in said.stderr
    assert below(home).keys() == before

    told = json.loads(here.command(*install, "--yes", "--json").stdout)
    assert (told["host"], told["written"], told["reload"]) == (HOST, True, "")
    assert told["sglang"]["version"] == "0.5.23"
    there = {home / each["path"] for each in told["files"] if each["host"]}
    assert {str(path.relative_to(home)) for path in there} == below(home).keys() - before
    unit = (home / ".config/systemd/user/navigator-reviewer.service").read_text()
    assert f"{home}/.local/share/navigator/wait-for-vram.sh" in unit
    assert str(sglang) in unit
    assert not (home / ".config/systemd/user/navigator.service").exists()
    keys = home / ".config/navigator/keys"
    assert stat.S_IMODE(keys.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in keys.iterdir()} == {0o600}
    # The one file here: the keys, as the conductor reads them.
    (kept,) = [Path(each["path"]) for each in told["files"] if not each["host"]]
    assert kept == here.root / f".config/navigator/keys/{HOST}.env"
    assert (keys / "api.key").read_text().strip() in kept.read_text()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert desk.manager.ctl("show", "navigator-reviewer.service", "-p", "LoadState", "--value") == "loaded"

    config = here.root / "config.toml"
    here.extra["NAVIGATOR_CONFIG"] = str(config)
    config.write_text(f'[swap]\nstrategy = "systemd"\n[swap.systemd]\nhost = "{HOST}"\n')
    looked = json.loads(here.command("doctor", "--json", code=None).stdout)["items"]
    items = {item["name"]: item for item in looked}
    assert items["ssh"]["found"] == f"connected to {HOST}"
    assert items["systemd"]["state"] == "ok"
    assert items["swap script"]["found"] == f"{HOST}:{home}/.local/share/navigator/model-swap.sh"
    assert "as installed" in items["generator unit"]["found"]
    assert items["GPU there"]["state"] == "warn"
    assert "generator files" not in items  # of this machine

    script = home / ".local/share/navigator/model-swap.sh"
    script.write_text(script.read_text() + "# mine\n")
    refused = here.command(*install, "--yes", code=1)
    assert "was changed since Navigator wrote it" in refused.stderr
    said = here.command(*install, "--yes", "--overwrite")
    assert f"ssh {HOST} loginctl enable-linger" in said.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--host", "-oProxyCommand=id"), "is no host for ssh"),
        (("--host", "nowhere.invalid"), "No connection to nowhere.invalid"),
    ],
)
def test_what_is_refused(here: Home, words: tuple[str, ...], said: str) -> None:
    done = here.command("swap", "install", *words, code=None)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
