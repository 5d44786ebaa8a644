"""The lines that a swap script prints as it goes, read from whatever bytes come. Pure.

    swap phase=<drain|stop|release|start|load|health|verify> state=<begin|done|fail> t=<seconds> [detail=…]
    swap outcome=<done|went_back|failed> t=<seconds> [from=<role> to=<role>] [detail=…]

The second form is what `swap/model-swap.sh` adds as its last line; a script need not. Anything else is passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast, get_args

from navigator.domain.text import safe_line
from navigator.serving.swap.base import PhaseEvent, PhaseName, PhaseState, SwapOutcome

LONGEST_LINE = 4096
"""Bytes of a line; what is longer is passed over whole."""

_DETAIL = r"(?: detail=(?P<detail>.*))?"
_TIME = r"t=(?P<t>[0-9]{1,9}(?:\.[0-9]{1,9})?)"
_PHASE = re.compile(
    rf"swap phase=(?P<phase>{'|'.join(get_args(PhaseName))}) state=(?P<state>{'|'.join(get_args(PhaseState))}) {_TIME}{_DETAIL}"
)
_OUTCOME = re.compile(
    rf"swap outcome=(?P<outcome>{'|'.join(get_args(SwapOutcome))}) {_TIME}(?: (?:from|to)=[a-z_]{{1,40}}){{0,2}}{_DETAIL}"
)
_CLASS = re.compile(r"([a-z]+(?:_[a-z]+)*)(?: |$)")


@dataclass(frozen=True, slots=True)
class OutcomeLine:
    """How the script says that the swap ended; `seconds` of the whole of it."""

    outcome: SwapOutcome
    seconds: float
    detail: str = ""


def parse_line(raw: bytes) -> PhaseEvent | OutcomeLine | None:
    """One line without its end; None where it is no line of ours. Details are made fit for a terminal."""
    if len(raw) > LONGEST_LINE:
        return None
    line = raw.decode("utf-8", "replace").removesuffix("\r")
    if (found := _PHASE.fullmatch(line)) is not None:
        return PhaseEvent(
            cast(PhaseName, found["phase"]),
            cast(PhaseState, found["state"]),
            float(found["t"]),
            safe_line(found["detail"] or ""),
        )
    if (found := _OUTCOME.fullmatch(line)) is not None:
        return OutcomeLine(
            cast(SwapOutcome, found["outcome"]), float(found["t"]), safe_line(found["detail"] or "")
        )
    return None


def failure_class(detail: str) -> tuple[str, str]:
    """The class word that begins a failure's detail, and the rest; ("", detail) where none does."""
    found = _CLASS.match(detail)
    if found is None:
        return "", detail
    return found[1], detail[found.end() :].strip()


class LineReader:
    """Cuts a stream of bytes into lines, and keeps no more than one line's worth of them."""

    def __init__(self) -> None:
        self._rest = b""
        self._skipping = False

    def feed(self, chunk: bytes) -> list[PhaseEvent | OutcomeLine]:
        """What the bytes so far have completed, in order."""
        *lines, rest = (self._rest + chunk).split(b"\n")
        if lines and self._skipping:
            lines = lines[1:]
            self._skipping = False
        said = [known for line in lines if (known := parse_line(line)) is not None]
        if len(rest) > LONGEST_LINE:
            self._skipping = True
        self._rest = b"" if self._skipping else rest
        return said

    def close(self) -> list[PhaseEvent | OutcomeLine]:
        """A last line that has no end."""
        return self.feed(b"\n")
