"""Token counts: equal to those of the `tokenizers` library with the same file."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from navigator.context.tokens import BpeCounter, UnsupportedTokenizer, load_counter
from navigator.model.errors import ConfigError

FILE = Path(__file__).parents[1] / "client" / "data" / "tokenizer" / "tokenizer.json"
SPEC = json.loads(FILE.read_text("utf-8"))
ROOT = Path(__file__).parents[2]

PIECES = (
    *("<think>", "</think>", "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|im_", "think>"),
    *(
        "e\u0301",
        "\u00e9",
        "Å",
        "\u212b",
        "  \n\t ",
        "don't",
        "'LL",
        "世界",
        "🙂",
        "\u200d",
        "1234",
        "\r\n\r\n",
    ),
)


@pytest.fixture(scope="module")
def library() -> Callable[[str], int]:
    """Counts by the library. Text of a repository is data: what looks like a special token there is text."""
    made = Tokenizer.from_file(str(FILE))
    made.encode_special_tokens = True
    return lambda text: len(made.encode(text, add_special_tokens=False).ids)


def same_in_every_unicode(text: str) -> bool:
    """Whether all characters are old enough that both libraries' tables know them alike."""
    return all(unicodedata.ucd_3_2_0.category(char) != "Cn" for char in text)


TEXTS = st.lists(
    st.one_of(st.sampled_from(PIECES), st.text(st.characters(exclude_categories=["Cs"]), max_size=12)),
    max_size=12,
)


@settings(max_examples=100)
@given(TEXTS.map("".join).filter(same_in_every_unicode))
def test_counts_are_the_librarys(library: Callable[[str], int], text: str) -> None:
    assert load_counter(str(FILE.parent)).count(text) == library(text)


def test_a_whole_repositorys_text_and_what_is_easily_got_wrong(library: Callable[[str], int]) -> None:
    counter = load_counter(str(FILE.parent))
    assert counter.exact
    assert counter.why == ""
    sources = [path.read_text("utf-8") for path in (ROOT / "navigator/git").glob("*.py")]
    odd = ("".join(PIECES), "a<think>b</think>", "e\u0301<think>e\u0301", " " * 5000 + "x", "")
    for text in (*odd, *sources):
        assert counter.count(text) == library(text), text[:80]
    assert counter.count("<think>") == 1
    assert counter.count("<|im_end|>") > 1


def test_enormous_runs_are_counted() -> None:
    counter = load_counter(str(FILE.parent))
    assert counter.count(" " * 1_000_000 + "x") >= 1_000
    assert counter.count("a" * 300_000) >= 1_000


@given(st.text(st.characters()))
def test_no_text_breaks_a_counter(text: str) -> None:
    exact, estimated = load_counter(str(FILE.parent)), load_counter("")
    assert 0 <= exact.count(text) <= 4 * len(text)
    assert (estimated.count(text) > 0) == bool(text)


def with_parts(**parts: Any) -> dict[str, Any]:
    return SPEC | parts


PREPEND = {"type": "Prepend", "prepend": "_"}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}


@pytest.mark.parametrize(
    "spec",
    [
        with_parts(normalizer={"type": "Lowercase"}),
        with_parts(normalizer={"type": "Sequence", "normalizers": [{"type": "NFC"}, PREPEND]}),
        with_parts(pre_tokenizer=None),
        with_parts(pre_tokenizer={"type": "Metaspace"}),
        with_parts(pre_tokenizer=BYTE_LEVEL),
        with_parts(pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "Digits"}, BYTE_LEVEL]}),
        with_parts(model={"type": "Unigram", "vocab": []}),
        with_parts(model={"type": "BPE", "vocab": {}, "merges": ["a b c"]}),
        with_parts(model={"type": "BPE", "vocab": {}, "merges": ["▁ t"]}),
        {},
    ],
)
def test_other_tokenizers_are_estimated_and_say_why(spec: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UnsupportedTokenizer):
        BpeCounter(spec)
    (tmp_path / "tokenizer.json").write_text(json.dumps(spec))
    counter = load_counter(str(tmp_path))
    assert not counter.exact
    assert counter.why.startswith("tokenizer.json: ")
    assert counter.count("x" * 32) == 10


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff", b"[" * 100_000])
def test_a_file_that_is_no_tokenizer(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load_counter(str(tmp_path)).count("x")
    assert "tokenizer.json" in caught.value.message


def test_a_folder_without_the_file_and_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no tokenizer\.json"):
        load_counter(str(tmp_path))
    counter = load_counter("")
    assert not counter.exact and "no tokenizer folder" in counter.why
    assert (counter.count("x" * 32), counter.count("世" * 16)) == (10, 15)


def test_counting_sends_no_request() -> None:
    """In a process in which no socket can be made."""
    code = f"""
import socket
class Refused(socket.socket):
    def __init__(self, *a, **k): raise AssertionError("a socket")
socket.socket = Refused
socket.create_connection = socket.getaddrinfo = None
from navigator.context.tokens import load_counter
assert load_counter({str(FILE.parent)!r}).count("def f(): pass") > 1
import sys
assert "requests" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
