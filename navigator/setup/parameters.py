"""How many parameters a model's config.json describes, and how many bytes they take. Pure arithmetic, from layer sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from navigator.model.json_text import read_json


def weights_from_config(path: Path) -> int | None:
    """Bytes of the weights that a config.json describes; None where it says too little.

    Embeddings, norms and the router count with 16 bits, all else with the bits of `quantization_config`. Scales, a vision tower
    and draft heads are left out, so the files are some per cent larger.
    """
    try:
        whole: dict[str, Any] = read_json(path.read_bytes())
        config: dict[str, Any] = whole.get("text_config", whole)
        quantised = whole.get("quantization_config") or config.get("quantization_config") or {}
        method = str(quantised.get("quant_method", ""))
        bits = int(quantised.get("bits") or (8 if "fp8" in method else 4 if "awq" in method else 16))
        linear, embedded = _parameters(config)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return linear * bits // 8 + embedded * 2


def _parameters(config: dict[str, Any]) -> tuple[int, int]:
    """Parameters of the layers, and of the embeddings."""
    hidden, layers = int(config["hidden_size"]), int(config["num_hidden_layers"])
    kinds = config.get("layer_types")
    interval = config.get("full_attention_interval")
    full = (
        sum(kind == "full_attention" for kind in kinds)
        if isinstance(kinds, list)
        else layers // int(interval)
        if interval
        else layers
    )
    heads = int(config["num_attention_heads"])
    head = int(config.get("head_dim") or hidden // heads)
    keys = int(config.get("num_key_value_heads", heads))
    gate = heads * head if config.get("attn_output_gate") else 0
    attention = hidden * (2 * heads * head + gate + 2 * keys * head)
    state = int(config.get("linear_value_head_dim", 128))
    values = int(config.get("linear_num_value_heads", 0)) * state
    queries = int(config.get("linear_num_key_heads", 0)) * state
    recurrent = hidden * (3 * values + 2 * queries)
    embedded = int(config["vocab_size"]) * hidden * (1 if config.get("tie_word_embeddings") else 2)
    mlp = 3 * hidden * int(config.get("intermediate_size") or 0)
    experts = int(config.get("num_experts") or config.get("num_local_experts") or 0)
    if experts:
        each = int(config.get("moe_intermediate_size") or config["intermediate_size"])
        shared = int(config.get("shared_expert_intermediate_size") or 0)
        mlp = 3 * hidden * (experts * each + shared)
        embedded += layers * hidden * experts
    if not mlp:
        raise KeyError("intermediate_size")
    return full * attention + (layers - full) * (recurrent if values else attention) + layers * mlp, embedded
