"""What a script prints, read from any bytes in any pieces."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from navigator.model.text import is_unsafe
from navigator.swap.base import PhaseEvent, PhaseLog
from navigator.swap.lines import LONGEST_LINE, OutcomeLine, ScriptLog, failure_class, parse_line

PHASES = ("drain", "stop", "release", "start", "load", "health", "verify")
_SECONDS = st.integers(0, 10**9).map(lambda thousandths: thousandths / 1000)
_WORDS = st.text(st.characters(categories=["L", "N", "P", "S"]), max_size=60)
_events = st.builds(
    PhaseEvent,
    st.sampled_from(PHASES),
    st.sampled_from(["begin", "done", "fail"]),
    _SECONDS,
    _WORDS.filter(lambda text: not is_unsafe(text)),
)


def written(event: PhaseEvent) -> bytes:
    detail = f" detail={event.detail}" if event.detail else ""
    return f"swap phase={event.phase} state={event.state} t={event.seconds:.3f}{detail}\n".encode()


def heard(*chunks: bytes) -> list[PhaseEvent]:
    """The phases that a script tells of in these pieces."""
    events: list[PhaseEvent] = []
    script = ScriptLog(PhaseLog(events.append))
    for chunk in chunks:
        script.feed(chunk)
    script.close()
    return events


@given(st.binary(max_size=6000), st.lists(st.integers(0, 6000), max_size=8))
def test_any_bytes_in_any_pieces(raw: bytes, cuts: list[int]) -> None:
    """Nothing raises, what comes out fits a terminal, and where the stream is cut makes no difference."""
    said = heard(*(raw[a:b] for a, b in pairwise([0, *sorted(cuts), len(raw)])))
    assert said == heard(raw)
    for event in said:
        assert not is_unsafe(event.detail)
        assert event.seconds >= 0


@given(st.lists(_events, max_size=8), st.lists(st.binary(max_size=40), max_size=8), st.data())
def test_lines_survive_noise_and_cuts(
    events: list[PhaseEvent], noise: list[bytes], data: st.DataObject
) -> None:
    """Every line of ours is found between any other lines."""
    clean = [junk.replace(b"swap ", b"").replace(b"\n", b"") + b"\n" for junk in noise]
    lines = data.draw(st.permutations([(written(e), e) for e in events] + [(junk, None) for junk in clean]))
    raw = b"".join(line for line, _ in lines)
    cut = data.draw(st.integers(0, len(raw)))
    assert heard(raw[:cut], raw[cut:]) == [event for _, event in lines if event is not None]


def test_both_forms() -> None:
    assert parse_line(b"swap phase=stop state=done t=2.500") == PhaseEvent("stop", "done", 2.5)
    assert parse_line(b"swap phase=load state=fail t=3 detail=timeout after=3 s") == PhaseEvent(
        "load", "fail", 3.0, "timeout after=3 s"
    )
    ended = b"swap outcome=went_back t=12.5 from=generator to=reviewer detail=no_memory 3 MiB"
    assert parse_line(ended) == OutcomeLine("went_back", 12.5, "no_memory 3 MiB")
    assert parse_line(b"swap outcome=done t=1") == OutcomeLine("done", 1.0)


def test_what_is_not_ours() -> None:
    stopped = b"swap phase=stop state=done"
    times = [stopped + b" t=" + time for time in (b"-1", b"nan", b"1e9", b"1 and more")]
    long = stopped + b" t=1 detail=" + b"x" * LONGEST_LINE
    others = (b"", b"swap", b"swap phase=eat state=done t=1", b"swap phase=stop state=maybe t=1")
    for line in (*others, *times, b" " + stopped + b" t=1", long):
        assert parse_line(line) is None, line


def test_a_line_without_end_takes_no_memory() -> None:
    events: list[PhaseEvent] = []
    script = ScriptLog(PhaseLog(events.append))
    for _ in range(100):
        script.feed(b"x" * 65536)
    assert len(script._rest) <= LONGEST_LINE
    script.feed(b"\nswap phase=stop state=done t=1\n")
    assert events == [PhaseEvent("stop", "done", 1.0)]


def test_classes() -> None:
    assert failure_class("no_memory 3 MiB are free") == ("no_memory", "3 MiB are free")
    assert failure_class("timeout") == ("timeout", "")
    assert failure_class("Something else") == ("", "Something else")
