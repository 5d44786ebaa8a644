"""Make a tiny model with random weights in the Hugging Face format: 2 layers of the Qwen3 shape, about a megabyte.

    python tiny_model.py TOKENIZER.json FOLDER

Weights come from a fixed seed. The chat template and the special tokens are those of Qwen's chat format. Needs
PyTorch and transformers, which are in ../sglang-requirements.txt.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
import torchvision_operators  # noqa: F401  imported for what it declares, before transformers
from tokenizers import decoders
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

CONTEXT = 4096
WIDTH, INNER, LAYERS = 128, 256, 2
HEADS, KEY_HEADS, HEAD_WIDTH = 4, 2, 32

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def main() -> None:
    """Read the arguments, write the tokenizer and the weights."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(arguments.tokenizer), eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    tokenizer.backend_tokenizer.decoder = decoders.ByteLevel()
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(arguments.folder)
    torch.manual_seed(0)
    shape = Qwen3Config(
        vocab_size=-(-len(tokenizer) // 64) * 64,
        hidden_size=WIDTH,
        intermediate_size=INNER,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KEY_HEADS,
        head_dim=HEAD_WIDTH,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=False,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    Qwen3ForCausalLM(shape).to(torch.bfloat16).save_pretrained(arguments.folder)


if __name__ == "__main__":
    main()
