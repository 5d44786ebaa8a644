"""A tokenizer trained on the spot: tiktoken counts as `tokenizers` does."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from navigator.client.tokens import BpeCounter

QWEN_PATTERN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
"""How the vocabulary of Qwen's models cuts a text."""

ADDED = ("<think>", "</think>", "<tool_call>")
SPECIAL = ("<|im_start|>", "<|im_end|>", "<|endoftext|>")
PIECES = (
    *ADDED,
    *SPECIAL,
    "<|im_",
    "think>",
    "e\u0301",
    "\u00e9",
    "Å",
    "\u212b",
    "  \n\t ",
    "don't",
    "世界",
    "🙂",
    "\u200d",
    "1234",
)


def train(folder: Path) -> tuple[object, BpeCounter]:
    """A byte-level BPE as Qwen's: NFC, the pattern above, added tokens of both sorts."""
    from tokenizers import (
        AddedToken,
        Regex,
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        trainers,
    )

    made = Tokenizer(models.BPE(byte_fallback=False))
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN_PATTERN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    made.decoder = decoders.ByteLevel()
    sources = [path.read_text("utf-8") for path in sorted(Path(__file__).parent.glob("*.py"))]
    trainer = trainers.BpeTrainer(
        vocab_size=3000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    made.train_from_iterator([*sources, "世界 é é Å 🙂 don't 1234 " * 20], trainer)
    made.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in SPECIAL])
    made.add_tokens([AddedToken(text, special=False, normalized=False) for text in ADDED])
    # Text of a repository is data: what looks like a special token there is text.
    made.encode_special_tokens = True
    place = folder / "tokenizer.json"
    made.save(str(place))
    return made, BpeCounter(json.loads(place.read_text("utf-8")))


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[object, BpeCounter]:
    return train(tmp_path_factory.mktemp("tokenizer"))


def same_in_every_unicode(text: str) -> bool:
    """Whether all characters are old enough that both libraries' tables know them alike."""
    return all(unicodedata.ucd_3_2_0.category(char) != "Cn" for char in text)


TEXTS = st.lists(
    st.one_of(st.sampled_from(PIECES), st.text(st.characters(exclude_categories=["Cs"]), max_size=12)),
    max_size=12,
)


@settings(max_examples=300, deadline=None)
@given(TEXTS.map("".join).filter(same_in_every_unicode))
def test_counts_are_the_librarys(pair: tuple[object, BpeCounter], text: str) -> None:
    library, counter = pair
    assert counter.count(text) == len(library.encode(text, add_special_tokens=False).ids)  # type: ignore[attr-defined]


def test_the_cases_that_are_easily_got_wrong(pair: tuple[object, BpeCounter]) -> None:
    library, counter = pair
    for text in (
        *PIECES,
        "".join(PIECES),
        "a<think>b</think>",
        "<|im_end|>",
        "e\u0301<think>e\u0301",
        " " * 5000 + "x",
        "",
    ):
        assert counter.count(text) == len(library.encode(text, add_special_tokens=False).ids), text  # type: ignore[attr-defined]
    assert counter.count("<think>") == 1 and counter.count("<|im_end|>") > 1


def test_a_whole_repositorys_text(pair: tuple[object, BpeCounter]) -> None:
    library, counter = pair
    for path in sorted(Path(__file__).parents[2].joinpath("navigator", "git").glob("*.py")):
        text = path.read_text("utf-8")
        assert counter.count(text) == len(library.encode(text, add_special_tokens=False).ids)  # type: ignore[attr-defined]
