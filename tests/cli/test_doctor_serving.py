"""`navigator doctor`, the part about model servers: real files, real sockets, a real home."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from navigator.cli.doctor.serving import serving_items
from navigator.config.settings import Settings, load_settings
from navigator.setup.host_probe import disk_speed, open_to_others
from navigator.setup.memory import Shape, budget, shape_from_config
from navigator.setup.sglang_flags import advisories_for
from navigator.swap import read_ahead
from navigator.swap.base import Check
from navigator.swap.gpu import Gpu, parse_cards
from navigator.swap.read_ahead import ReadLimits
from tests.swap_install.support import fake_sglang

QWEN35_122B = {
    "architectures": ["Qwen3_5MoeForConditionalGeneration"],
    "text_config": {
        "num_hidden_layers": 48,
        "full_attention_interval": 4,
        "num_attention_heads": 32,
        "num_key_value_heads": 2,
        "head_dim": 256,
        "hidden_size": 3072,
        "linear_num_value_heads": 64,
        "linear_num_key_heads": 16,
        "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4,
    },
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home; no card, and no cache of models but ours."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    tools = tmp_path / "tools"
    tools.mkdir()
    monkeypatch.setenv("PATH", str(tools), prepend=os.pathsep)
    monkeypatch.setenv("KEY", "ordinary")
    monkeypatch.setattr(read_ahead, "ReadLimits", lambda: ReadLimits(0, 0, 0))
    return tmp_path


def card(folder: Path, mib: int) -> None:
    tool = folder / "tools" / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\necho 'NVIDIA RTX PRO 6000, {mib}, 400, 580.1'\n")
    tool.chmod(0o755)


def settings(folder: Path, port: int = 1, *, model: str = "Qwen/absent", more: str = "") -> Settings:
    config = folder / "config.toml"
    config.write_text(
        f'[generator]\nmodel = "{model}"\nbase_url = "http://127.0.0.1:{port}"\napi_key_env = "KEY"\n{more}\n'
        '[reviewer]\nbase_url = "http://far.example:1"\n[swap]\nstrategy = "systemd"\n'
        f'model_dirs = ["{folder / "models"}"]\n'
    )
    return load_settings(config)


def looked(chosen: Settings, *, disk: bool = False) -> dict[str, Check]:
    return {item.name: item for item in serving_items(chosen, disk=disk)}


def put_model(folder: Path, size: int = 1000) -> str:
    model = folder / "models" / "Qwen" / "big"
    model.mkdir(parents=True)
    (model / "config.json").write_text(json.dumps(QWEN35_122B))
    with (model / "model.safetensors").open("wb") as stream:
        stream.truncate(size)
    return "Qwen/big"


def test_the_figures_of_the_design_s_reviewer(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(QWEN35_122B))
    shape = shape_from_config(tmp_path / "config.json")
    assert shape is not None
    # 12 layers of full attention, 2 heads of 256, keys and values, 2 bytes.
    assert shape.kv_bytes_per_token() == 24_576
    assert shape.kv_bytes_per_token(1) == 12_288
    # 36 layers: 64 heads of 128 x 128 in float32, and 3 steps of a convolution over 12,288 channels in 16 bits.
    assert shape.state_bytes() == 36 * (64 * 128 * 128 * 4 + 12_288 * 3 * 2)


@pytest.mark.parametrize(
    "broken", [{}, {"num_hidden_layers": "many"}, {"num_hidden_layers": 4, "num_attention_heads": 0}, [], "x"]
)
def test_a_config_of_an_unknown_form_is_no_shape(tmp_path: Path, broken: object) -> None:
    (tmp_path / "config.json").write_text(json.dumps(broken))
    assert shape_from_config(tmp_path / "config.json") is None


def test_what_does_not_fit_says_how_much_is_short() -> None:
    shape = Shape(source="", layers=64, full_attention_layers=64, kv_heads=8, head_dim=128)
    tight = budget(
        shape, card_mib=24564, static_fraction=0.9, weight_bytes=20 << 30, context_tokens=32768, running=1
    )
    # 22107 static - 20480 weights = 1627; a context takes 32768 * 256 KiB = 8192.
    assert (tight.at_once, tight.fits, tight.missing) == (0, False, 8192 - 1627)
    halved = budget(
        shape,
        card_mib=24564,
        static_fraction=0.9,
        weight_bytes=20 << 30,
        context_tokens=4096,
        running=1,
        kv_element=1,
    )
    assert (halved.context, halved.at_once, halved.fits) == (512, 3, True)


def test_speculation_takes_its_states_first() -> None:
    shape = shape_from_config_of(QWEN35_122B)
    plain, drafting = (
        budget(
            shape,
            card_mib=97887,
            static_fraction=0.86,
            weight_bytes=69_000_000_000,
            context_tokens=131072,
            running=8,
            draft_tokens=n,
        )
        for n in (0, 4)
    )
    taken = plain.context_room + plain.state_room - drafting.context_room - drafting.state_room
    assert abs(taken - 8 * 4 * shape.state_bytes() / (1 << 20)) <= 1


def shape_from_config_of(config: object) -> Shape:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "config.json"
        path.write_text(json.dumps(config))
        found = shape_from_config(path)
    assert found is not None
    return found


def test_memory_is_counted_from_the_files_that_are_there(folder: Path) -> None:
    model = put_model(folder, size=69_000_000_000)  # sparse: only its size is looked at
    card(folder, 97887)
    item = looked(settings(folder, model=model))["generator memory"]
    assert item.state == "ok"
    assert (
        "65804 MiB weights" in item.found
        and "3072 MiB for a context of 131072 tokens (1536 with fp8" in item.found
    )
    card(folder, 49140)
    item = looked(settings(folder, model=model))["generator memory"]
    assert item.state == "warn" and "MiB too little" in item.hint


def test_no_files_and_an_unknown_model(folder: Path) -> None:
    items = looked(settings(folder))
    assert items["generator files"].state == "warn"
    assert "hf download Qwen/absent" in items["generator files"].hint
    assert "generator memory" not in items
    assert not any(name.startswith("reviewer files") for name in items)  # it is not on this machine
    hint = looked(settings(folder, model="gen-model"))["generator files"].hint
    assert "model_dirs" in hint and "hf download" not in hint  # no name of the Hub


def test_a_units_context_that_is_shorter_than_the_settings(folder: Path) -> None:
    model = put_model(folder)
    units = folder / "config" / "systemd" / "user"
    units.mkdir(parents=True)
    unit = units / "navigator-generator.service"
    unit.write_text("[Service]\nExecStart=/bin/sh -m sglang.launch_server \\\n    --context-length 8192\n")
    items = looked(settings(folder, model=model))
    assert "--context-length 8192" in items["generator context"].found
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
    assert item.state == "warn" and "0.5.18" in item.found and "86793" not in item.found
    unit.write_text(f"[Service]\nExecStart={python} -m sglang.launch_server\n")
    assert "86793" in looked(settings(folder))["SGLang"].found
    # A script of the user's own is not run to find out what it starts.
    unit.write_text("[Service]\nExecStart=/bin/sh -c 'exec sglang serve'\n")
    assert "SGLang" not in looked(settings(folder))


def test_a_unit_with_flags_that_are_known_to_go_wrong(folder: Path) -> None:
    units = folder / "config" / "systemd" / "user"
    units.mkdir(parents=True)
    python = fake_sglang(folder / "sglang", "0.5.23")
    unit = units / "navigator-generator.service"
    start = f"[Service]\nExecStart={python} -m sglang.launch_server --speculative-algorithm NEXTN"
    chosen = settings(folder, model=put_model(folder))  # a hybrid model, by its config.json
    unit.write_text(f"{start} --mamba-radix-cache-strategy extra_buffer\n")
    item = looked(chosen)["generator flags"]
    assert item.state == "warn" and "sglang#36537" in item.found and "extra_buffer_lazy" in item.hint
    unit.write_text(f"{start} --mamba-radix-cache-strategy extra_buffer_lazy\n")
    assert "generator flags" not in looked(chosen)


def test_the_disk_is_measured_only_when_asked(folder: Path) -> None:
    model = put_model(folder)
    weights = folder / "models" / "Qwen" / "big" / "model.safetensors"
    weights.write_bytes(os.urandom(80 << 20))
    assert "generator disk" not in looked(settings(folder, model=model))
    item = looked(settings(folder, model=model), disk=True)["generator disk"]
    assert "80 MiB read" in item.found and "GB/s" in item.found


def test_a_bounded_read(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(os.urandom((40 << 20) + 123))
    measured = disk_speed([path], limit=32 << 20)
    assert measured.read == 32 << 20 and measured.seconds > 0


class SGLang(BaseHTTPRequestHandler):
    """What doctor asks of a server: its models, and what it is."""

    version, key, admin = "0.5.23", "ordinary", "administrator"
    speculation = ""

    def do_GET(self) -> None:
        if self.key and self.headers.get("Authorization") != f"Bearer {self.key}":
            self.answer(401, {"error": "Unauthorized"})
        elif self.path == "/v1/models":
            self.answer(
                200, {"object": "list", "data": [{"id": "m", "object": "model", "owned_by": "sglang"}]}
            )
        elif self.path == "/server_info":
            told = {"version": self.version, "api_key": self.key, "admin_api_key": self.admin}
            self.answer(200, told | {"speculative_algorithm": self.speculation or None})
        else:
            self.answer(404, {})

    def answer(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def serving(**attributes: str) -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (SGLang,), attributes))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("attributes", "door", "version"),
    [
        ({}, "needs an API key", "no known vulnerability"),
        ({"key": ""}, "needs no API key; any local program can use it", "no known vulnerability"),
        ({"admin": ""}, "has one key for requests and administration", "no known vulnerability"),
        ({"version": "0.5.20"}, "needs an API key", "CVE-2026-93034"),
        ({"version": "0.5.9"}, "needs an API key", "CVE-2026-15969"),
    ],
)
def test_doors_and_versions(folder: Path, attributes: dict[str, str], door: str, version: str) -> None:
    with serving(**attributes) as port:
        items = looked(settings(folder, port))
    assert door in items["generator access"].found
    assert version in items["generator version"].found
    assert "ordinary" not in json.dumps([item.found + item.hint for item in items.values()])
    assert "administrator" not in json.dumps([item.found + item.hint for item in items.values()])


def test_a_hole_that_keys_close_is_open_without_them(folder: Path) -> None:
    with serving(version="0.5.18") as port:
        assert "86793" not in looked(settings(folder, port))["generator version"].found
    with serving(version="0.5.18", key="") as port:
        assert "86793" in looked(settings(folder, port))["generator version"].found


def test_a_server_that_answers_is_asked_for_its_own_flags(folder: Path) -> None:
    with serving(version="0.5.22", speculation="NEXTN") as port:
        item = looked(settings(folder, port))["generator flags"]
    assert item.state == "warn" and "0.5.22" in item.found and "sglang#28407" in item.found
    with serving(speculation="NEXTN") as port:
        assert "generator flags" not in looked(settings(folder, port))


def test_advisories_end_with_their_last_version() -> None:
    assert len(advisories_for("0.5.9")) == 3
    # Whether a post-release mended it is not known, so it counts as its release.
    assert [each.name for each in advisories_for("0.5.20.post1")] == ["CVE-2026-93034"]
    assert advisories_for("0.5.21") == advisories_for("unknown") == []


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
