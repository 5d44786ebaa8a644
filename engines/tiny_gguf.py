"""Make a tiny model with random weights in llama.cpp's GGUF format: 2 layers of the Qwen3 shape, a few megabytes.

    python tiny_gguf.py TOKENIZER.json OUT.gguf

The tokenizer is a byte-level BPE in the `tokenizers` library's format, whose special tokens include those of
Qwen's chat template. Weights come from a fixed seed, so the same input gives the same file. Needs numpy and
gguf, which are in requirements.txt beside this file.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np

CONTEXT = 16384
WIDTH, INNER, LAYERS = 64, 128, 2
HEADS, KEY_HEADS, HEAD_WIDTH = 4, 2, 16
SPREAD = 0.05
"""Standard deviation of every weight: small enough that all tokens are about equally likely."""

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def main() -> None:
    """Read the arguments, write the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    writer = gguf.GGUFWriter(arguments.out, "qwen3")
    tokens = add_tokenizer(writer, json.loads(arguments.tokenizer.read_text("utf-8")))
    add_shape(writer, tokens)
    add_weights(writer, tokens)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_tokenizer(writer: gguf.GGUFWriter, spec: dict[str, Any]) -> int:
    """Write the vocabulary, the merges and the template; return the number of tokens.

    Raises:
        SystemExit: the ids have gaps, or a token of the template is missing.
    """
    added = {token["content"]: token for token in spec["added_tokens"]}
    ids = spec["model"]["vocab"] | {text: token["id"] for text, token in added.items()}
    texts = sorted(ids, key=ids.__getitem__)
    if [ids[text] for text in texts] != list(range(len(texts))):
        raise SystemExit("the tokenizer's ids have gaps")
    if missing := {"<|endoftext|>", "<|im_start|>", "<|im_end|>"} - added.keys():
        raise SystemExit(f"the tokenizer lacks {', '.join(sorted(missing))}")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(texts)
    writer.add_token_types([token_type(added.get(text)) for text in texts])
    merges = spec["model"]["merges"]
    writer.add_token_merges([pair if isinstance(pair, str) else " ".join(pair) for pair in merges])
    writer.add_eos_token_id(ids["<|im_end|>"])
    writer.add_pad_token_id(ids["<|endoftext|>"])
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
    return len(texts)


def token_type(added: dict[str, Any] | None) -> int:
    """GGUF's type of a token: a plain one, one that only steers, or one that somebody added."""
    if added is None:
        return gguf.TokenType.NORMAL
    return gguf.TokenType.CONTROL if added["special"] else gguf.TokenType.USER_DEFINED


def add_shape(writer: gguf.GGUFWriter, tokens: int) -> None:
    """Write the sizes."""
    writer.add_name("tiny-random")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_key_length(HEAD_WIDTH)
    writer.add_value_length(HEAD_WIDTH)
    writer.add_rope_freq_base(1e6)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_vocab_size(tokens)


def add_weights(writer: gguf.GGUFWriter, tokens: int) -> None:
    """Write the tensors: norms of one, everything else random."""
    random = np.random.default_rng(0)

    def noise(*shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        return (random.standard_normal(shape) * SPREAD).astype(np.float32)

    def ones(length: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        return np.ones(length, np.float32)

    writer.add_tensor("token_embd.weight", noise(tokens, WIDTH))
    writer.add_tensor("output_norm.weight", ones(WIDTH))
    writer.add_tensor("output.weight", noise(tokens, WIDTH))
    for layer in range(LAYERS):
        tensors = {
            "attn_norm": ones(WIDTH),
            "attn_q": noise(HEADS * HEAD_WIDTH, WIDTH),
            "attn_k": noise(KEY_HEADS * HEAD_WIDTH, WIDTH),
            "attn_v": noise(KEY_HEADS * HEAD_WIDTH, WIDTH),
            "attn_output": noise(WIDTH, HEADS * HEAD_WIDTH),
            "attn_q_norm": ones(HEAD_WIDTH),
            "attn_k_norm": ones(HEAD_WIDTH),
            "ffn_norm": ones(WIDTH),
            "ffn_gate": noise(INNER, WIDTH),
            "ffn_up": noise(INNER, WIDTH),
            "ffn_down": noise(WIDTH, INNER),
        }
        for name, values in tensors.items():
            writer.add_tensor(f"blk.{layer}.{name}.weight", values)


if __name__ == "__main__":
    main()
