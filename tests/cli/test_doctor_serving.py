"""`navigator doctor`, the part about model servers: real files, real sockets, a real home."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from navigator.cli.doctor_servers import serving_items
from navigator.config.settings import Settings, load_settings
from navigator.setup.install import open_to_others
from navigator.setup.sglang_flags import is_vulnerable
from navigator.swap.base import Check
from navigator.swap.gpu import Gpu, parse_cards
from tests.cli.boxes import Box, serving
from tests.swap_install.support import fake_sglang


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


def looked(chosen: Settings) -> dict[str, Check]:
    return {item.name: item for item in serving_items(chosen)}


def test_no_files_and_an_unknown_model(folder: Path) -> None:
    items = looked(settings(folder))
    assert items["generator files"].state == "warn"
    assert "hf download Qwen/absent" in items["generator files"].hint
    assert not any(name.startswith("reviewer files") for name in items)  # it is not on this machine
    hint = looked(settings(folder, model="gen-model"))["generator files"].hint
    assert "model_dirs" in hint and "hf download" not in hint  # no name of the Hub


def test_the_files_that_are_there_and_a_unit_of_somebody_else(folder: Path) -> None:
    model = folder / "models" / "Qwen" / "big"
    model.mkdir(parents=True)
    (model / "model.safetensors").write_bytes(bytes(2_000_000))
    units = folder / "config" / "systemd" / "user"
    units.mkdir(parents=True)
    unit = units / "navigator-generator.service"
    unit.write_text("[Service]\nExecStart=/bin/sh -m sglang.launch_server \n")
    items = looked(settings(folder, model="Qwen/big"))
    assert items["generator files"].found == f"2.0 MB in 1 file, {model}"
    assert "not written by Navigator" in items["generator unit"].found
    unit.write_text("[Service]\nExecStart=/absent/python -m sglang.launch_server\n")
    assert looked(settings(folder))["generator unit"].state == "missing"


def test_the_sglang_that_a_unit_would_start(folder: Path) -> None:
    units = folder / "config" / "systemd" / "user"
    units.mkdir(parents=True)
    python = fake_sglang(folder / "sglang", "0.5.18")
    unit = units / "navigator-generator.service"
    unit.write_text(f"[Service]\nExecStart={python} -m sglang.launch_server --config /keys.yaml\n")
    item = looked(settings(folder))["SGLang"]
    assert item.state == "warn" and "0.5.18" in item.found and "0.5.21 or newer" in item.hint
    # A script of the user's own is not run to find out what it starts.
    unit.write_text("[Service]\nExecStart=/bin/sh -c 'exec sglang serve'\n")
    assert "SGLang" not in looked(settings(folder))


@contextmanager
def sglang(version: str = "0.5.23", key: str = "ordinary", admin: str = "administrator") -> Iterator[int]:
    """The port of a server that says what it is."""
    info = {"version": version, "api_key": key, "admin_api_key": admin}
    with serving(Box("sglang", ("m",), key=key, info=info)) as box:
        yield int(box.url.rpartition(":")[2])


@pytest.mark.parametrize(
    ("attributes", "door", "version"),
    [
        ({}, "needs an API key", "no known vulnerability"),
        ({"key": ""}, "needs no API key; any local program can use it", "no known vulnerability"),
        ({"admin": ""}, "has one key for requests and administration", "no known vulnerability"),
        ({"version": "0.5.20"}, "needs an API key", "known vulnerabilities"),
    ],
)
def test_doors_and_versions(folder: Path, attributes: dict[str, str], door: str, version: str) -> None:
    with sglang(**attributes) as port:
        items = looked(settings(folder, port))
    assert door in items["generator access"].found
    assert version in items["generator version"].found
    assert "ordinary" not in json.dumps([item.found + item.hint for item in items.values()])
    assert "administrator" not in json.dumps([item.found + item.hint for item in items.values()])


def test_versions_before_the_fixed_one_are_vulnerable() -> None:
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
