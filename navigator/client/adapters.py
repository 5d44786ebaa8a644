"""How a request picks a LoRA adapter by name: every server does it differently. Pure.

vLLM takes the adapter's name for the model's. SGLang answers any name with the base model unless the body has `lora_path`.
llama.cpp lists its base model only; its adapters are numbered in the order of its command line, and named by their files.

Sources: SGLang 0.5.23 (`serving_base.py`; an adapter's entry in `/v1/models` has a `parent`), llama.cpp (`/lora-adapters`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from navigator.client.names import same_model

Keys = Mapping[str, Any]
"""What a request's body needs beside the model's name."""


def keys_by_list(models: Sequence[Mapping[str, Any]], wanted: str) -> Keys | None:
    """By the entries of `/v1/models`: empty for a model, `lora_path` for an adapter of SGLang; None where it is not listed."""
    for entry in models:
        if same_model(wanted, entry["id"]):
            adapter = entry.get("owned_by") == "sglang" and entry.get("parent")
            return {"lora_path": entry["id"]} if adapter else {}
    return None


def keys_by_number(payload: object, wanted: str) -> Keys | None:
    """By llama.cpp's `/lora-adapters`: the one whose file has this name, all others off; None where there is none."""
    for entry in payload if isinstance(payload, list) else []:
        number, path = (entry.get("id"), entry.get("path")) if isinstance(entry, dict) else (None, None)
        if isinstance(number, int) and isinstance(path, str) and wanted in (path, PurePath(path).stem):
            return {"lora": [{"id": number, "scale": 1.0}]}
    return None
