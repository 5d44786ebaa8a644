"""The event stream parser: where bytes are cut makes no difference."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from navigator.client.assemble import SSEOverflow, SSEParser

PIECES = [
    b"data: x", b"data:y", b"data", b"data: ", b"event: tick", b"id: 7", b"id: a\0b", b": note", b"retry: 5", b"odd",
    "data: Grüße 世界🚀".encode(), b"data: \xff\xfe", b"", b"", b"data:  two spaces",
]  # fmt: skip
streams = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from([b"\n", b"\r\n"]))).map(
    lambda lines: b"".join(text + end for text, end in lines)
)


def parse(chunks: list[bytes], **limits: int) -> list[str]:
    parser = SSEParser(**limits)
    seen: list[str] = []
    try:
        for chunk in chunks:
            seen.extend(parser.feed(chunk))
    except SSEOverflow:
        return [*seen, "overflow"]
    last = parser.close()
    return seen if last is None else [*seen, "rest", last]


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(stream), *(place % (len(stream) + 1) for place in places)})
    return [stream[a:b] for a, b in itertools.pairwise(edges)]


@given(streams | st.binary(max_size=200), st.lists(st.integers(0, 10_000), max_size=40))
@example(b"data: a\r\n\r\ndata: b\r\n\r\n", list(range(40)))
def test_any_split_gives_the_same_events(stream: bytes, places: list[int]) -> None:
    for limits in ({}, {"max_line": 9, "max_event": 12}):
        assert parse(cut(stream, places), **limits) == parse([stream], **limits)


@given(
    st.lists(st.text(st.characters(blacklist_characters="\r\n", blacklist_categories=("Cs",))), min_size=1)
)
def test_data_lines_come_back_joined(lines: list[str]) -> None:
    stream = "".join(f"data: {line}\n" for line in lines) + "\n"
    (event,) = parse([stream.encode()])
    assert event == "\n".join(lines)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_examples_of_the_standard(end: str) -> None:
    lines = [": test stream", "", "data: first event", "id: 1", ""]
    lines += ["data:second event", "id", "", "data:  third event"]
    # An event without data is none.
    stream = end.join([*lines, "", "event: ping", "", ": hi", "", "id: 3", "", ""])
    assert parse([stream.encode()]) == ["first event", "second event", " third event"]


def test_an_event_is_told_as_soon_as_its_blank_line_is_there() -> None:
    parser = SSEParser()
    assert list(parser.feed(b"data: a\r\n\r")) == []
    assert list(parser.feed(b"\ndata: b\n\n")) == ["a", "b"]


def test_a_line_that_was_cut_is_no_part_of_the_rest() -> None:
    assert parse([b"data: [DONE]\n"]) == ["rest", "[DONE]"]
    assert parse([b"data: [DONE]"]) == []


def test_bounds_are_the_last_sizes_that_pass() -> None:
    assert parse([b"data: abc\n\n"], max_line=9) == ["abc"]
    assert parse([b"data: abc\n\n"], max_line=8) == ["overflow"]
    assert parse([b"data: abc\ndata: d\n\n"], max_event=6) == ["abc\nd"]
    assert parse([b"data: abc\ndata: d\n\n"], max_event=5) == ["overflow"]
