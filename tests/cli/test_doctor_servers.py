"""`navigator doctor` and `config check`, the part about model servers: real files, real sockets, a real home."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from navigator.config.paths import StatePaths
from navigator.config.settings import Settings, load_settings
from navigator.setup.doctor import strategy_items
from navigator.setup.doctor_servers import serving_items
from navigator.setup.install import open_to_others
from navigator.setup.sglang_flags import is_vulnerable
from navigator.swap.base import Check
from navigator.swap.machine import Gpu, parse_cards
from tests.cli.boxes import Box, serving
from tests.cli.conftest import Command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home; no card, and no cache of models but ours."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("KEY", "ordinary")
    return tmp_path


def settings(folder: Path, port: int = 1, *, model: str = "Qwen/absent", more: str = "") -> Settings:
    config = folder / "config.toml"
    config.write_text(
        f'[generator]\nmodel = "{model}"\nbase_url = "http://127.0.0.1:{port}"\napi_key_env = "KEY"\n{more}\n'
        '[reviewer]\nbase_url = "http://far.example:1"\n[swap]\nstrategy = "systemd"\n'
        f'model_dirs = ["{folder / "models"}"]\n'
    )
    return load_settings(config)


def served(chosen: Settings) -> dict[str, Check]:
    return {item.name: item for item in serving_items(chosen)}


def test_no_files_and_an_unknown_model(folder: Path) -> None:
    items = served(settings(folder))
    assert items["generator files"].state == "warn"
    assert "hf download Qwen/absent" in items["generator files"].hint
    assert not any(name.startswith("reviewer files") for name in items)  # it is not on this machine
    hint = served(settings(folder, model="gen-model"))["generator files"].hint
    assert "model_dirs" in hint and "hf download" not in hint  # no name of the Hub


def test_the_files_that_are_there_and_a_unit_of_somebody_else(folder: Path) -> None:
    model = folder / "models" / "Qwen" / "big"
    model.mkdir(parents=True)
    (model / "model.safetensors").write_bytes(bytes(50_000_000))
    units = folder / "config" / "systemd" / "user"
    units.mkdir(parents=True)
    unit = units / "navigator-generator.service"
    unit.write_text("[Service]\nExecStart=/bin/sh -m sglang.launch_server \n")
    items = served(settings(folder, model="Qwen/big"))
    assert items["generator files"].found == f"0.1 GB in 1 file, {model}"
    assert "not written by Navigator" in items["generator unit"].found
    unit.write_text("[Service]\nExecStart=/absent/python -m sglang.launch_server\n")
    assert served(settings(folder))["generator unit"].state == "missing"


def test_a_running_server_s_version_is_checked(folder: Path) -> None:
    with serving(Box("sglang", ("m",), key="ordinary", info={"version": "0.5.20"})) as box:
        items = served(settings(folder, int(box.url.rpartition(":")[2])))
    assert "generator access" not in items
    assert "known vulnerabilities" in items["generator version"].found
    # Whether a post-release mended it is not known, so it counts as its release.
    assert is_vulnerable("0.5.9") and is_vulnerable("0.5.20.post1")
    assert not is_vulnerable("0.5.21") and not is_vulnerable("unknown")
    # Whether a post-release mended it is not known, so it counts as its release.
    found = {name: is_vulnerable(name) for name in ("0.5.9", "0.5.20.post1", "0.5.21", "unknown")}
    assert found == {"0.5.9": True, "0.5.20.post1": True, "0.5.21": False, "unknown": False}


def test_who_listens_where() -> None:
    with socket.socket() as inner, socket.socket() as outer, socket.socket(socket.AF_INET6) as six:
        for door, address in ((inner, "127.0.0.1"), (outer, "0.0.0.0"), (six, "::1")):
            door.bind((address, 0))
            door.listen()
        assert open_to_others(inner.getsockname()[1]) is False
        assert open_to_others(outer.getsockname()[1]) is True
        assert open_to_others(six.getsockname()[1]) is False
        closed = inner.getsockname()[1]
    assert open_to_others(closed) is None


def test_cards_as_nvidia_smi_lists_them() -> None:
    listing = "NVIDIA RTX PRO 6000, 97887, 412, 580.1\nNVIDIA H100, [N/A], 0, 1\nnonsense\nA, 10, [N/A], 2\n"
    assert parse_cards(listing) == [Gpu("NVIDIA RTX PRO 6000", 97887, 412, "580.1"), Gpu("A", 10, 0, "2")]


_SYSTEMCTL = """\
#!/bin/sh
case "$*" in
    *--user*) echo "Failed to connect to bus: No medium found" >&2; exit 1 ;;
    *) echo "Version=252" ;;
esac
"""


def items(command: Command) -> dict[str, Any]:
    return {item["name"]: item for item in command.json("doctor", code=3)["items"]}


def test_the_scope_says_which_systemd_is_asked_and_one_that_does_not_answer_is_missing(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here a user has no bus."""
    tool = tmp_path / "tools" / "systemctl"
    tool.parent.mkdir()
    tool.write_text(_SYSTEMCTL)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tool.parent), prepend=os.pathsep)
    command.config.write_text('[swap]\nstrategy = "systemd"\n')
    found = items(command)["systemd"]
    assert found["state"] == "missing"
    assert "No medium found" in found["found"] and "enable-linger" in found["hint"]
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
    with serving(
        Box("ollama", ("qwen3-coder:30b",), context=131_072, loads=[("qwen3-coder:30b", 131_072)])
    ) as box:
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
