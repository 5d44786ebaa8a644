"""Token counts: equal to those of the `tokenizers` library, whose numbers stand in data/counts.json."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.client.tokens import BpeCounter, UnsupportedTokenizer, load_counter
from navigator.model.errors import ConfigError

DATA = Path(__file__).parent / "data"
SPEC = json.loads((DATA / "tokenizer" / "tokenizer.json").read_text("utf-8"))


def test_every_count_is_the_tokenizers_own() -> None:
    counter = load_counter(str(DATA / "tokenizer"))
    rows = json.loads((DATA / "counts.json").read_text("utf-8"))
    assert counter.exact
    assert counter.why == ""
    assert [[text, counter.count(text)] for text, _ in rows] == rows
    assert sum(expected for _, expected in rows) > 5000


def test_special_text_counts_as_the_text_it_is() -> None:
    counter = load_counter(str(DATA / "tokenizer"))
    assert counter.count("<think>") == 1
    assert counter.count("<|im_end|>") > 1


def test_enormous_runs_are_counted() -> None:
    counter = load_counter(str(DATA / "tokenizer"))
    assert counter.count(" " * 1_000_000 + "x") >= 1_000
    assert counter.count("a" * 300_000) >= 1_000


@given(st.text(st.characters()))
def test_no_text_breaks_a_counter(text: str) -> None:
    exact, estimated = load_counter(str(DATA / "tokenizer")), load_counter("")
    assert 0 <= exact.count(text) <= 4 * len(text)
    assert (estimated.count(text) > 0) == bool(text)


def test_without_a_folder_the_count_says_that_it_is_an_estimate() -> None:
    counter = load_counter("")
    assert not counter.exact
    assert "no tokenizer folder" in counter.why
    assert counter.count("x" * 32) == 10
    assert counter.count("世" * 16) == 15


def with_parts(**parts: Any) -> dict[str, Any]:
    return SPEC | parts


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}


@pytest.mark.parametrize(
    "spec",
    [
        with_parts(normalizer={"type": "Lowercase"}),
        with_parts(
            normalizer={
                "type": "Sequence",
                "normalizers": [{"type": "NFC"}, {"type": "Prepend", "prepend": "_"}],
            }
        ),
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


def test_a_folder_without_the_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no tokenizer\.json"):
        load_counter(str(tmp_path))


def test_counting_sends_no_request() -> None:
    """In a process in which no socket can be made."""
    code = f"""
import socket
class Refused(socket.socket):
    def __init__(self, *a, **k): raise AssertionError("a socket")
socket.socket = Refused
socket.create_connection = socket.getaddrinfo = None
from navigator.client.tokens import load_counter
assert load_counter({str(DATA / "tokenizer")!r}).count("def f(): pass") > 1
import sys
assert "requests" not in sys.modules
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
