"""Makes the files beside it. Needs `tokenizers` (0.23 was used), which neither Navigator nor its tests need otherwise.

`tokenizer/tokenizer.json` is a small byte-level BPE of the shape of Qwen's; `counts.json` holds texts and the number of
tokens that the `tokenizers` library itself counts for them.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
HERE = Path(__file__).parent
SOURCES = [path.read_text("utf-8") for path in sorted((HERE.parents[2] / "navigator" / "model").glob("*.py"))]
LETTERS = "abz XYZ \t\n\r  09'sé e\u0301 世界🚀{}();_=\u00a0\u200b\u1100\u1161"
CHUNKS = ["<think>", "</think>", "'LL", "\r\n\r\n", "        ", "def f(x):\n"]


def main() -> None:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=1000,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(SOURCES, trainer)
    tokenizer.add_tokens(
        [AddedToken(text, special=False, normalized=False) for text in ("<think>", "</think>")]
    )
    tokenizer.save(str(HERE / "tokenizer" / "tokenizer.json"), pretty=False)
    rng = random.Random(7)
    texts = []
    for index in range(400):
        if index % 2:
            source = rng.choice(SOURCES)
            start = rng.randrange(len(source))
            texts.append(source[start : start + rng.randrange(200)])
        else:
            pick = [
                rng.choice(LETTERS) if rng.random() < 0.9 else rng.choice(CHUNKS)
                for _ in range(rng.randrange(50))
            ]
            texts.append("".join(pick))
    rows = [[text, len(tokenizer.encode(text, add_special_tokens=False).ids)] for text in texts]
    (HERE / "counts.json").write_text(json.dumps(rows, indent=0) + "\n")


if __name__ == "__main__":
    main()
