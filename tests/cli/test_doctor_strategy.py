"""`navigator doctor` and `config check` where the first swap could not even begin."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from navigator.cli.doctor import strategy_items
from navigator.cli.doctor_servers import serving_items
from navigator.config.paths import StatePaths
from navigator.config.settings import Settings, load_settings
from navigator.swap.base import Check
from tests.cli.boxes import Box, serving
from tests.cli.conftest import Command

_SYSTEMCTL = """\
#!/bin/sh
case "$*" in
    *--user*) echo "Failed to connect to bus: No medium found" >&2; exit 1 ;;
    *) echo "Version=252" ;;
esac
"""


@pytest.fixture
def systemctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A systemctl without a user's bus, first on the path."""
    tool = tmp_path / "tools" / "systemctl"
    tool.parent.mkdir()
    tool.write_text(_SYSTEMCTL)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tool.parent), prepend=os.pathsep)


def items(command: Command) -> dict[str, Any]:
    return {item["name"]: item for item in command.json("doctor", code=3)["items"]}


@pytest.mark.usefixtures("systemctl")
def test_a_systemd_that_does_not_answer_is_missing(command: Command) -> None:
    command.config.write_text('[swap]\nstrategy = "systemd"\n')
    found = items(command)["systemd"]
    assert found["state"] == "missing"
    assert "No medium found" in found["found"] and "enable-linger" in found["hint"]


@pytest.mark.usefixtures("systemctl")
def test_the_scope_says_which_systemd_is_asked(command: Command) -> None:
    command.config.write_text('[swap]\nstrategy = "systemd"\n[swap.systemd]\nscope = "system"\n')
    made = strategy_items(load_settings(command.config), StatePaths(command.state))
    assert [(item.name, item.state) for item in made][:2] == [("swap strategy", "ok"), ("systemd", "ok")]


@pytest.mark.parametrize("installed", [False, True])
def test_a_machine_that_ssh_does_not_reach_is_said_once(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("git", "bwrap", "sh"):
        (tools / name).symlink_to(str(shutil.which(name)))
    if installed:
        (tools / "ssh").write_text("#!/bin/sh\necho 'Permission denied' >&2; exit 255\n")
        (tools / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    command.config.write_text('[swap]\nstrategy = "systemd"\n[swap.systemd]\nhost = "box"\n')
    found = command.json("doctor", code=3)["items"]
    said = [item for item in found if "ssh is not" in item["found"] or "No connection" in item["found"]]
    assert [item["name"] for item in said] == ["ssh" if installed else "swap strategy"]


def test_two_sleepers_at_one_address(command: Command) -> None:
    command.config.write_text('[swap]\nstrategy = "sleep"\n')
    done = command.run("config", "check", code=2)
    assert "two addresses" in done.stderr and "valid" not in done.stdout
    found = items(command)["swap strategy"]
    assert found["state"] == "missing" and "two addresses" in found["found"]
    command.config.write_text('[reviewer]\nbase_url = "http://127.0.0.1:30001"\n[swap]\nstrategy = "sleep"\n')
    assert "is valid" in command.run("config", "check").stdout


@contextmanager
def ollama() -> Iterator[str]:
    """The address of an Ollama that holds its one model."""
    with serving(Box("ollama", ("qwen3-coder:30b",), loads=[("qwen3-coder:30b", 32_768)])) as box:
        yield box.url


def servers(folder: Path, strategy: str, generator: str, reviewer: str, more: str = "") -> Settings:
    path = folder / "servers.toml"
    path.write_text(
        f'[generator]\nmodel = "qwen3-coder:30b"\nbase_url = "{generator}"\n'
        f'[reviewer]\nmodel = "gpt-oss:120b"\nbase_url = "{reviewer}"\n'
        f'[swap]\nstrategy = "{strategy}"\n{more}'
    )
    return load_settings(path)


def looked(settings: Settings, folder: Path) -> dict[str, Check]:
    made = [*strategy_items(settings, StatePaths(folder)), *serving_items(settings)]
    return {item.name: item for item in made}


def test_a_managed_server_is_asked_for_its_models(tmp_path: Path) -> None:
    with ollama() as url:
        found = looked(servers(tmp_path, "managed", url, url), tmp_path)
    assert found["generator"].state == "ok"
    assert found["reviewer"].state == "missing"
    assert "serves qwen3-coder:30b, not gpt-oss:120b" in found["reviewer"].found
    assert "ollama pull gpt-oss:120b" in found["reviewer"].hint
    said = " ".join(f"{item.name} {item.found} {item.hint}" for item in found.values())
    assert "hf download" not in said and "SGLang" not in said and "memory" not in said


def test_resident_servers_have_to_be_up_and_nothing_else_is_said(tmp_path: Path) -> None:
    with ollama() as url:
        found = looked(servers(tmp_path, "resident", url, "http://127.0.0.1:9"), tmp_path)
    assert {name: item.state for name, item in found.items()} == {
        "swap strategy": "ok",
        "generator": "ok",
        "reviewer": "missing",
    }
    assert found["reviewer"].found == "No server answers at 127.0.0.1:9: connection refused."
    assert "base_url" in found["reviewer"].hint


def test_a_server_that_a_swap_starts_may_be_down(tmp_path: Path) -> None:
    argv = '[swap.command]\nargv = ["true"]\n'
    with ollama() as url:
        down = looked(servers(tmp_path, "command", url, "http://127.0.0.1:9", argv), tmp_path)
        shared = looked(servers(tmp_path, "command", url, url, argv), tmp_path)
    assert (down["reviewer"].state, down["reviewer"].found) == (
        "ok",
        "not running at http://127.0.0.1:9; a swap starts it",
    )
    assert shared["reviewer"].state == "ok" and "a swap changes it" in shared["reviewer"].found
    assert not any(" files" in name for name in (*down, *shared))  # the command knows where they are


def test_commands_that_do_not_exist_are_named_before_a_run(command: Command) -> None:
    command.config.write_text(
        '[swap]\nstrategy = "rehearsal"\n[on]\nlanded = ["true"]\nfailed = ["/nowhere/tell", "x"]\n'
    )
    found = {item["name"]: item for item in command.json("doctor")["items"]}
    assert found["events"]["state"] == "warn"
    assert found["events"]["found"] == "does not exist or is not executable: failed: /nowhere/tell"
