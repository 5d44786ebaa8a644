"""Makes tiny LoRA adapters with random weights, in the two formats that servers read: GGUF, and PEFT's folder of safetensors.

Both are written by hand: neither library is among what the tests need. The weights are large, so that with an adapter the same
model says something else.
"""

from __future__ import annotations

import json
import random
import struct
from array import array
from collections.abc import Mapping
from pathlib import Path

RANK, ALPHA, SPREAD = 4, 32.0, 1.0
_ALIGNED = 32
_STRING, _FLOAT = 8, 6
Tensors = dict[str, tuple[tuple[int, ...], bytes]]
"""By name, rows and columns, and the numbers as 32-bit floats, row by row."""


def noise(seed: int, layers: int, width: int, inner: int, first: str, second: str) -> Tensors:
    """The two matrices of each layer's downward projection; `first` and `second` name them with `{layer}` filled in."""
    dice = random.Random(seed)

    def drawn(*shape: int) -> tuple[tuple[int, ...], bytes]:
        count = shape[0] * shape[1]
        return shape, array("f", (dice.gauss(0, SPREAD) for _ in range(count))).tobytes()

    found: Tensors = {}
    for layer in range(layers):
        found[first.format(layer=layer)] = drawn(RANK, inner)
        found[second.format(layer=layer)] = drawn(width, RANK)
    return found


def write_gguf(path: Path, seed: int, *, layers: int = 2, width: int = 64, inner: int = 128) -> Path:
    """An adapter for `engines/tiny_gguf.py`'s model, as llama.cpp reads it."""
    name = "blk.{layer}.ffn_down.weight."
    tensors = noise(seed, layers, width, inner, name + "lora_a", name + "lora_b")
    words = {"general.type": "adapter", "general.architecture": "qwen3", "adapter.type": "lora"}
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(words) + 1)
    for key, value in words.items():
        head += _text(key) + struct.pack("<I", _STRING) + _text(value)
    head += _text("adapter.lora.alpha") + struct.pack("<If", _FLOAT, ALPHA)
    data = b""
    for key, (shape, raw) in tensors.items():
        # GGUF names the innermost dimension first.
        head += _text(key) + struct.pack("<IQQIQ", 2, shape[1], shape[0], 0, len(data))
        data += raw + b"\0" * (-len(raw) % _ALIGNED)
    path.write_bytes(head + b"\0" * (-len(head) % _ALIGNED) + data)
    return path


def _text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def write_peft(folder: Path, seed: int, base: Path) -> Path:
    """An adapter for the model in the folder `base`, as SGLang and vLLM read it."""
    shape = json.loads((base / "config.json").read_text("utf-8"))
    name = "base_model.model.model.layers.{layer}.mlp.down_proj."
    sizes = shape["num_hidden_layers"], shape["hidden_size"], shape["intermediate_size"]
    tensors = noise(seed, *sizes, name + "lora_A.weight", name + "lora_B.weight")
    folder.mkdir(parents=True)
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": str(base),
        "r": RANK,
        "lora_alpha": ALPHA,
        "target_modules": ["down_proj"],
        "bias": "none",
    }
    (folder / "adapter_config.json").write_text(json.dumps(config))
    (folder / "adapter_model.safetensors").write_bytes(_safetensors(tensors))
    return folder


def _safetensors(tensors: Mapping[str, tuple[tuple[int, ...], bytes]]) -> bytes:
    head: dict[str, object] = {}
    data = b""
    for name, (shape, raw) in tensors.items():
        head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    words = json.dumps(head).encode()
    return struct.pack("<Q", len(words)) + words + data
