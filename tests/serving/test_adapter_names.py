"""How a request picks an adapter, from what each server lists; what the servers do with it is in `tests/engines`."""

from __future__ import annotations

from typing import Any

import pytest

from navigator.serving.client.adapters import keys_by_list, keys_by_number
from navigator.serving.swap.strategies.rehearsal import RehearsalStrategy

BASE = {"id": "Qwen/Qwen3", "owned_by": "sglang", "parent": None}
ADAPTER = {"id": "write", "owned_by": "sglang", "parent": "Qwen/Qwen3"}
NUMBERED = [{"id": 0, "path": "/a/write.gguf", "scale": 0.0}, {"id": 1, "path": "/a/read.gguf", "scale": 0.0}]


@pytest.mark.parametrize(
    ("models", "wanted", "keys"),
    [
        ([BASE, ADAPTER], "write", {"lora_path": "write"}),
        ([BASE, ADAPTER], "Qwen/Qwen3", {}),
        ([BASE, ADAPTER], "read", None),
        ([BASE, ADAPTER | {"owned_by": "vllm"}], "write", {}),
        ([], "write", None),
    ],
)
def test_by_the_list_of_models(models: list[dict[str, Any]], wanted: str, keys: object) -> None:
    assert keys_by_list(models, wanted) == keys


@pytest.mark.parametrize(
    ("payload", "wanted", "number"),
    [
        (NUMBERED, "read", 1),
        (NUMBERED, "/a/write.gguf", 0),
        (NUMBERED, "rea", None),
        ([{"id": "0", "path": "read.gguf"}, {"path": "read.gguf"}, 7, None], "read", None),
        ({"error": {"code": 400}}, "read", None),
        (None, "read", None),
    ],
)
def test_by_llamas_numbers(payload: object, wanted: str, number: int | None) -> None:
    keys = keys_by_number(payload, wanted)
    assert keys == (None if number is None else {"lora": [{"id": number, "scale": 1.0}]})


def test_rehearsed_swaps_of_different_speeds_are_kept_apart(tmp_path: Any) -> None:
    names = [RehearsalStrategy(tmp_path / "r", time_scale=scale).recorded for scale in (1.0, 0.25, 0)]
    assert names == ["rehearsal", "rehearsal ×0.25", "rehearsal ×0"]
