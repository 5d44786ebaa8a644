"""Makes `tokenizer/tokenizer.json`: a small byte-level BPE of the shape of Qwen's."""

from __future__ import annotations

from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
HERE = Path(__file__).parent
SOURCES = [path.read_text("utf-8") for path in sorted((HERE.parents[2] / "navigator" / "model").glob("*.py"))]


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


if __name__ == "__main__":
    main()
