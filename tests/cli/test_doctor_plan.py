"""`navigator doctor --plan`: sizes by hand, the strategy that follows, and files that say what they weigh."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from navigator.setup.plan import MIB, OUTSIDE_MIB, MemoryPlan, Sized, plan
from navigator.setup.profiles import Shape, shape_from_config
from tests.cli.conftest import Command

SMALL = Sized(
    "small",
    22_000_000_000,
    True,
    "4 files",
    Shape(
        source="by hand",
        layers=40,
        full_attention_layers=10,
        kv_heads=2,
        head_dim=256,
        linear_value_heads=32,
        linear_key_heads=16,
    ),
)
LARGE = replace(
    SMALL,
    name="large",
    weight_bytes=69_000_000_000,
    shape=SMALL.shape.model_copy(
        update={"layers": 48, "full_attention_layers": 12, "linear_value_heads": 64}
    ),
)
QWEN35_35B = {
    "text_config": {
        "num_hidden_layers": 40,
        "full_attention_interval": 4,
        "num_attention_heads": 16,
        "num_key_value_heads": 2,
        "head_dim": 256,
        "linear_num_value_heads": 32,
        "linear_num_key_heads": 16,
    }
}


def planned(card: int, *, ram: int = 131_072, tokens: int = 131_072, measured: bool = True) -> MemoryPlan:
    models = [replace(model, measured=measured) for model in (SMALL, LARGE)]
    return plan(*models, card=card, ram=ram, tokens=tokens)


def test_sizes_are_those_by_hand() -> None:
    found = planned(97_887)
    # Keys and values: 2 × layers × heads × size × 2 bytes × tokens; states: 3 × 30 layers × (32·128·128·4 + 8192·3·2) bytes.
    assert [fit.contexts[0] for fit in found.fits] == [2560, 1280, 1360, 720]
    assert found.fits[0].contexts[1] == 3072
    assert SMALL.states_mib == -(-3 * 30 * (32 * 128 * 128 * 4 + 8192 * 3 * 2) // MIB)
    assert SMALL.weights_mib == 20_981
    needed = 2 * OUTSIDE_MIB + 20_981 + 65_804 + SMALL.states_mib + LARGE.states_mib + 2560 + 3072
    assert (found.fits[0].needed, found.fits[0].left) == (needed, 97_887 - needed)
    assert found.fits[0].at_once[1] == (97_887 - OUTSIDE_MIB - 65_804) // (3072 + LARGE.states_mib)


@pytest.mark.parametrize(
    ("card", "ram", "measured", "way"),
    [
        (97_887, 131_072, True, "resident"),
        (97_887, 131_072, False, "sleep"),  # other builds of the same models are larger
        (97_887, 65_536, False, "swap"),
        (110_000, 65_536, False, "resident"),
        (73_000, 131_072, True, "swap"),  # beside a second running server the larger model has no room
        (70_000, 131_072, True, "none"),
    ],
)
def test_the_strategy_follows_from_what_fits(card: int, ram: int, measured: bool, way: str) -> None:
    assert planned(card, ram=ram, measured=measured).way == way


@pytest.mark.parametrize(
    "broken", [{}, {"num_hidden_layers": "many"}, {"num_hidden_layers": 4, "num_attention_heads": 0}, [], "x"]
)
def test_a_config_of_an_unknown_form_is_no_shape(tmp_path: Path, broken: object) -> None:
    (tmp_path / "config.json").write_text(json.dumps(broken))
    assert shape_from_config(tmp_path / "config.json") is None


@pytest.fixture
def alone(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    command.config.write_text("")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    return command


def test_the_command_reads_a_folder_and_a_packaged_model(alone: Command, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(QWEN35_35B))
    plan_of = ("doctor", "--plan", "--card", "96", "--ram", "128", "--generator", str(folder))
    pair = (*plan_of, "--reviewer", "qwen3.5-122b-a10b")
    assert "weight files" in alone.run(*pair, code=2).stderr
    (folder / "model.safetensors").write_bytes(bytes(1000))
    found = alone.json(*pair)
    assert found["generator"].pop("shape")["full_attention_layers"] == 10
    assert not found["reviewer"]["measured"]
    assert found["generator"] == {
        "name": "mine",
        "weight_bytes": 1000,
        "measured": True,
        "weights_source": "1 weight files here",
    }


def test_the_command_says_what_it_does_not_know(alone: Command) -> None:
    assert "--card" in alone.run("doctor", "--plan", code=2).stderr
    unknown = alone.run("doctor", "--plan", "--card", "96", "--generator", "someone/unknown-7b", code=2)
    assert "config.json" in unknown.stderr
    assert "Add --plan." in alone.run("doctor", "--card", "96", code=2).stderr
    said = alone.run("doctor", "--plan", "--card", "96", "--ram", "128").stdout
    assert "q8_0" in said
    assert 'strategy = "sleep"' in said
