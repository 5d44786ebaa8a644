"""Write a model file with a real model's shapes and random weights, for llama.cpp to be timed with.

    python random_gguf.py SHAPE OUT.gguf [--favoured N]

What a step costs depends on the shapes, not on the values, so the times are a real model's and the text is noise. Only
which experts a token picks comes from the values. With `--favoured 0` every token picks on its own, which is the most
that a batch can cost. With `--favoured N` the rows of N experts in each layer's router are enlarged, so that nearly all
choices fall on those.

Matrices are Q4_K (4.5 bits a weight), the output layer is Q6_K, routers and norms are F32: close to what Q4_K_M files
hold. Needs gguf and numpy: the environment that `engines/build_llama_server.sh` makes has both.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf.constants import GGMLQuantizationType as Type

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "engines"))

from tiny_gguf import TEMPLATE, token_type  # noqa: E402

TOKENIZER = ROOT / "tests" / "client" / "data" / "tokenizer" / "tokenizer.json"
SPREAD = 0.02
"""Standard deviation of every weight."""
FAVOUR = 8.0
"""By how much the rows of favoured experts are enlarged."""
POOL_BLOCKS = 400_009
"""Random blocks that all tensors are cut from. A prime, so that no tensor's rows begin where another's do."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Shape:
    """The sizes of one model. `experts` 0 is a dense model; `linear_heads` 0 has attention in every layer."""

    arch: str
    vocabulary: int
    width: int
    layers: int
    heads: int
    key_heads: int
    head_width: int
    inner: int
    experts: int = 0
    chosen: int = 8
    shared: bool = False
    linear_heads: int = 0
    linear_key_heads: int = 16
    linear_width: int = 128
    tied: bool = False


SHAPES = {
    "qwen3.5-35b-a3b": Shape(
        "qwen35moe", 248320, 2048, 40, 16, 2, 256, 512, 256, shared=True, linear_heads=32
    ),
    "qwen3.5-122b-a10b": Shape(
        "qwen35moe", 248320, 3072, 48, 32, 2, 256, 1024, 256, shared=True, linear_heads=64
    ),
    "qwen3-30b-a3b": Shape("qwen3moe", 151936, 2048, 48, 32, 4, 128, 768, 128),
    "qwen3-0.6b": Shape("qwen3", 151936, 1024, 28, 16, 8, 128, 3072, tied=True),
    # For trying the scripts without a GPU.
    "small-hybrid": Shape(
        "qwen35moe", 8192, 256, 8, 4, 2, 64, 256, 64, shared=True, linear_heads=4, linear_key_heads=2
    ),
    "small-moe": Shape("qwen3moe", 8192, 256, 8, 4, 2, 64, 256, 64),
    "small-dense": Shape("qwen3", 8192, 256, 2, 4, 2, 64, 256, tied=True),
}


def main() -> None:
    """Read the arguments, write the file, say how long it took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("shape", choices=sorted(SHAPES))
    parser.add_argument("out", type=Path)
    parser.add_argument("--favoured", type=int, default=0, help="experts that nearly all choices fall on")
    options = parser.parse_args()
    began = time.monotonic()
    write(SHAPES[options.shape], options.shape, options.out, options.favoured)
    size, took = options.out.stat().st_size, time.monotonic() - began
    print(f"{options.out}: {size / 1e9:.2f} GB in {took:.1f} s")


def write(shape: Shape, name: str, out: Path, favoured: int) -> None:
    """Write the whole file. Tensors are made one at a time, so memory holds the largest of them and no more."""
    writer = gguf.GGUFWriter(out, shape.arch)
    add_sizes(writer, shape, name)
    add_vocabulary(writer, shape.vocabulary)
    plan = tensors(shape)
    for tensor, (kind, dimensions) in plan.items():
        stored = byte_shape(kind, dimensions)
        dtype = np.dtype(np.float32 if kind is Type.F32 else np.uint8)
        writer.add_tensor_info(tensor, stored, dtype, int(np.prod(stored)) * dtype.itemsize, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    maker = Maker(favoured)
    for tensor, (kind, dimensions) in plan.items():
        writer.write_tensor_data(maker.make(tensor, kind, dimensions))
    writer.close()


def byte_shape(kind: Type, dimensions: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions as stored: numbers for F32, bytes for everything else."""
    return dimensions if kind is Type.F32 else gguf.quant_shape_to_byte_shape(dimensions, kind)


class Maker:
    """Makes the tensors' contents, the same ones at every run."""

    def __init__(self, favoured: int) -> None:
        self._random = np.random.default_rng(0)
        self._favoured = favoured
        self._pools = {Type.Q4_K: self._q4_blocks(), Type.Q6_K: self._q6_blocks()}

    def make(self, name: str, kind: Type, dimensions: tuple[int, ...]) -> Array:
        """One tensor: random, or what its name asks for."""
        if kind is not Type.F32:
            return self._cut(kind, byte_shape(kind, dimensions))
        if "norm" in name:
            return np.ones(dimensions, np.float32)
        if name.endswith("ssm_a"):  # the speed at which the state forgets: negative
            return -self._random.uniform(0.5, 4.0, dimensions).astype(np.float32)
        values = self._random.standard_normal(dimensions, np.float32) * np.float32(SPREAD)
        if self._favoured and name.endswith("ffn_gate_inp.weight"):
            values[self._random.permutation(dimensions[0])[: self._favoured]] *= FAVOUR
        return values

    def _cut(self, kind: Type, stored: tuple[int, ...]) -> Array:
        pool = self._pools[kind]
        start, needed = int(self._random.integers(len(pool))), int(np.prod(stored)) // pool.shape[1]
        if start + needed <= len(pool):
            return pool[start : start + needed].reshape(stored)
        return np.resize(np.concatenate([pool[start:], pool[:start]]), stored)

    def _q4_blocks(self) -> Array:
        # A block is 256 weights: d and dmin as F16, 12 bytes of 6-bit scales, 128 bytes of 4-bit values. A weight is
        # d · scale · value - dmin · scale', whose deviation is about 258 d when all bits are random and dmin is 7.5 d,
        # which also makes the mean zero.
        blocks = self._random.integers(0, 256, (POOL_BLOCKS, 144), np.uint8)
        blocks[:, 0:4] = np.array([SPREAD / 258, 7.5 * SPREAD / 258], np.float16).view(np.uint8)
        return blocks

    def _q6_blocks(self) -> Array:
        # 256 weights: 128 + 64 bytes of 6-bit values, 16 signed scales, d as F16. A weight is d · scale · (value - 32),
        # whose deviation is about 1365 d.
        blocks = self._random.integers(0, 256, (POOL_BLOCKS, 210), np.uint8)
        blocks[:, 208:210] = np.array([SPREAD / 1365], np.float16).view(np.uint8)
        return blocks


def tensors(shape: Shape) -> dict[str, tuple[Type, tuple[int, ...]]]:
    """Every tensor's name, type and dimensions, rows first."""
    found: dict[str, tuple[Type, tuple[int, ...]]] = {}
    width = shape.width

    def matrix(name: str, *dimensions: int) -> None:
        found[f"{name}.weight"] = (Type.Q4_K, dimensions)

    def plain(name: str, *dimensions: int) -> None:
        found[name] = (Type.F32, dimensions)

    matrix("token_embd", shape.vocabulary, width)
    plain("output_norm.weight", width)
    if not shape.tied:
        found["output.weight"] = (Type.Q6_K, (shape.vocabulary, width))
    hybrid = shape.linear_heads > 0
    for layer in range(shape.layers):
        block = f"blk.{layer}"
        plain(f"{block}.attn_norm.weight", width)
        plain(f"{block}.{'post_attention_norm' if hybrid else 'ffn_norm'}.weight", width)
        if hybrid and (layer + 1) % 4:
            keys, values = (
                shape.linear_key_heads * shape.linear_width,
                shape.linear_heads * shape.linear_width,
            )
            matrix(f"{block}.attn_qkv", 2 * keys + values, width)
            matrix(f"{block}.attn_gate", values, width)
            plain(f"{block}.ssm_conv1d.weight", 2 * keys + values, 4)
            plain(f"{block}.ssm_dt.bias", shape.linear_heads)
            plain(f"{block}.ssm_a", shape.linear_heads)
            plain(f"{block}.ssm_beta.weight", shape.linear_heads, width)
            plain(f"{block}.ssm_alpha.weight", shape.linear_heads, width)
            plain(f"{block}.ssm_norm.weight", shape.linear_width)
            matrix(f"{block}.ssm_out", width, values)
        else:
            queries = shape.heads * shape.head_width
            # The hybrid's query matrix also holds a gate for each head.
            matrix(f"{block}.attn_q", queries * (2 if hybrid else 1), width)
            matrix(f"{block}.attn_k", shape.key_heads * shape.head_width, width)
            matrix(f"{block}.attn_v", shape.key_heads * shape.head_width, width)
            matrix(f"{block}.attn_output", width, queries)
            plain(f"{block}.attn_q_norm.weight", shape.head_width)
            plain(f"{block}.attn_k_norm.weight", shape.head_width)
        if shape.experts:
            plain(f"{block}.ffn_gate_inp.weight", shape.experts, width)
            matrix(f"{block}.ffn_gate_exps", shape.experts, shape.inner, width)
            matrix(f"{block}.ffn_up_exps", shape.experts, shape.inner, width)
            matrix(f"{block}.ffn_down_exps", shape.experts, width, shape.inner)
        if shape.shared:
            plain(f"{block}.ffn_gate_inp_shexp.weight", width)
        if shape.shared or not shape.experts:
            suffix = "_shexp" if shape.shared else ""
            matrix(f"{block}.ffn_gate{suffix}", shape.inner, width)
            matrix(f"{block}.ffn_up{suffix}", shape.inner, width)
            matrix(f"{block}.ffn_down{suffix}", width, shape.inner)
    return found


def add_sizes(writer: gguf.GGUFWriter, shape: Shape, name: str) -> None:
    """Write the sizes."""
    writer.add_name(f"random-{name}")
    writer.add_context_length(262144)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.key_heads)
    writer.add_key_length(shape.head_width)
    writer.add_value_length(shape.head_width)
    writer.add_rope_freq_base(1e7)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_K_M)
    writer.add_vocab_size(shape.vocabulary)
    if shape.experts:
        writer.add_expert_count(shape.experts)
        writer.add_expert_used_count(shape.chosen)
        writer.add_expert_feed_forward_length(shape.inner)
    else:
        writer.add_feed_forward_length(shape.inner)
    if shape.shared:
        writer.add_expert_shared_feed_forward_length(shape.inner)
    if shape.linear_heads:
        quarter = shape.head_width // 4
        writer.add_rope_dimension_count(quarter)
        third = quarter // 2 // 3 + 1
        writer.add_rope_dimension_sections([third, third, quarter // 2 - 2 * third, 0])
        writer.add_full_attention_interval(4)
        writer.add_ssm_conv_kernel(4)
        writer.add_ssm_inner_size(shape.linear_heads * shape.linear_width)
        writer.add_ssm_state_size(shape.linear_width)
        writer.add_ssm_time_step_rank(shape.linear_heads)
        writer.add_ssm_group_count(shape.linear_key_heads)


def add_vocabulary(writer: gguf.GGUFWriter, size: int) -> None:
    """Write the test tokenizer's vocabulary, filled up to `size` with tokens that no text contains."""
    spec = json.loads(TOKENIZER.read_text("utf-8"))
    added = {token["content"]: token for token in spec["added_tokens"]}
    ids = spec["model"]["vocab"] | {text: token["id"] for text, token in added.items()}
    texts = sorted(ids, key=ids.__getitem__)
    fill = [f"<|fill_{number}|>" for number in range(len(texts), size)]
    types = [token_type(added.get(text)) for text in texts] + [gguf.TokenType.UNUSED] * len(fill)
    merges = spec["model"]["merges"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(texts + fill)
    writer.add_token_types(types)
    writer.add_token_merges([pair if isinstance(pair, str) else " ".join(pair) for pair in merges])
    writer.add_eos_token_id(ids["<|im_end|>"])
    writer.add_pad_token_id(ids["<|endoftext|>"])
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)


if __name__ == "__main__":
    main()
