"""The lines that a swap script prints as it goes, read from any bytes.

    swap phase=<drain|stop|release|start|load|health|verify> state=<begin|done|fail> t=<seconds> [detail=…]
    swap outcome=<done|went_back|failed> t=<seconds> [from=<role> to=<role>] [detail=…]

The second form is the last line of `swap/model-swap.sh`; other scripts need not print it. Anything else is ignored.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import cast, get_args

from navigator.model import patterns
from navigator.model.text import safe_line
from navigator.swap.base import PhaseEvent, PhaseLog, PhaseName, PhaseState, SwapOutcome
from navigator.swap.failures import Failure

LONGEST_LINE = 4096
"""Bytes of a line; a longer one is ignored."""

_DETAIL = r"(?: detail=(?P<detail>.*))?"
_TIME = r"t=(?P<t>[0-9]{1,9}(?:\.[0-9]{1,9})?)"
_PHASE = patterns.compile(
    rf"swap phase=(?P<phase>{'|'.join(get_args(PhaseName))}) state=(?P<state>{'|'.join(get_args(PhaseState))}) {_TIME}{_DETAIL}"
)
_OUTCOME = patterns.compile(
    rf"swap outcome=(?P<outcome>{'|'.join(get_args(SwapOutcome))}) {_TIME}(?: (?:from|to)=[a-z_]{{1,40}}){{0,2}}{_DETAIL}"
)
_CLASS = patterns.compile(r"([a-z]+(?:_[a-z]+)*)(?: |$)")


@dataclass(frozen=True, slots=True)
class OutcomeLine:
    """How the script says that the swap ended; `seconds` of the whole of it."""

    outcome: SwapOutcome
    seconds: float
    detail: str = ""


def parse_line(raw: bytes) -> PhaseEvent | OutcomeLine | None:
    """One line without its end; None for any other text. Details are made safe for a terminal."""
    if len(raw) > LONGEST_LINE:
        return None
    line = raw.decode("utf-8", "replace").removesuffix("\r")
    if (found := _PHASE.fullmatch(line)) is not None:
        return PhaseEvent(
            cast("PhaseName", found["phase"]),
            cast("PhaseState", found["state"]),
            float(found["t"]),
            safe_line(found["detail"] or ""),
        )
    if (found := _OUTCOME.fullmatch(line)) is not None:
        return OutcomeLine(
            cast("SwapOutcome", found["outcome"]), float(found["t"]), safe_line(found["detail"] or "")
        )
    return None


def failure_class(detail: str) -> tuple[Failure, str]:
    """The class that begins a failure's detail, and the rest; ("", detail) if none does."""
    found = _CLASS.match(detail)
    if found is None or found[1] not in get_args(Failure):
        return "", detail
    return cast("Failure", found[1]), detail[found.end() :].strip()


class ScriptLog:
    """What a swap script has said so far: its phases go to `log`, its last line and its first failure are kept.

    Its output is cut into lines; at most one unfinished line is held.
    """

    def __init__(self, log: PhaseLog) -> None:
        self.told_phases = False
        self._log = log
        self._rest = b""
        self._skipping = False
        self._failed = ""
        self._outcome = ""
        self._open: tuple[PhaseName, float] | None = None

    def feed(self, chunk: bytes) -> None:
        """Take some of its output."""
        *lines, rest = (self._rest + chunk).split(b"\n")
        if lines and self._skipping:
            lines = lines[1:]
            self._skipping = False
        for line in lines:
            self._take(parse_line(line))
        if len(rest) > LONGEST_LINE:
            self._skipping = True
        self._rest = b"" if self._skipping else rest

    def close(self) -> None:
        """Its output has ended, perhaps within a line."""
        self.feed(b"\n")

    def cut(self, reason: str) -> None:
        """Nothing more will be heard of it: the phase it was in failed, as far as is known."""
        if self._open is not None:
            phase, began = self._open
            self._log.ended(PhaseEvent(phase, "fail", time.monotonic() - began, reason))

    def _take(self, said: PhaseEvent | OutcomeLine | None) -> None:
        if isinstance(said, OutcomeLine):
            self._outcome = said.detail
        elif said is not None:
            self.told_phases = True
            self._open = (said.phase, time.monotonic()) if said.state == "begin" else None
            if said.state == "begin":
                self._log.report(said)
            else:
                self._log.ended(said)
            if said.state == "fail":
                self._failed = self._failed or said.detail

    def failure(self) -> tuple[Failure, str]:
        """The class and the words, from its last line, else from the first phase that failed; "" if it told neither."""
        return failure_class(self._outcome or self._failed)
