"""Server-sent events, read byte by byte from any split of the stream.

Follows the event stream format of the WHATWG HTML standard (section 9.2): lines end with CRLF, LF or CR; a
colon at the start makes a comment; `data` lines of one event are joined by LF; a blank line sends the event.
Beyond the standard, lines and events are bounded, so that a broken or hostile server cannot fill the memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from navigator.model import patterns

_BREAK = patterns.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class SSEOverflow(ValueError):
    """A line or an event is longer than the parser was told to hold."""


class SSEParser:
    """Turns byte chunks into the data of events; where the chunks are cut makes no difference.

    Args:
        max_line: most bytes of one line, its ending not counted.
        max_event: most bytes of the `data` lines of one event together.
    """

    def __init__(self, *, max_line: int = 1 << 20, max_event: int = 4 << 20) -> None:
        self._max_line = max_line
        self._max_event = max_event
        self._partial = bytearray()
        self._after_cr = False
        self._first_line = True
        self._data: list[str] = []
        self._data_bytes = 0

    def feed(self, chunk: bytes) -> Iterator[str]:
        """Yield the data of every event that `chunk` completes. The iterator has to be run to its end.

        Raises:
            SSEOverflow: a bound is passed; events before that point were yielded.
        """
        if not chunk:
            return
        if self._after_cr:
            chunk = chunk.removeprefix(b"\n")
        position = 0
        self._after_cr = False
        for match in _BREAK.finditer(chunk):
            line = self._take(chunk[position : match.start()])
            position = match.end()
            # A CR that ends the chunk ends its line at once; a LF that follows in the next chunk belongs to
            # it.
            self._after_cr = match[0] == b"\r" and position == len(chunk)
            event = self._line(line)
            if event is not None:
                yield event
        self._partial += chunk[position:]
        self._check_line(len(self._partial))

    def close(self) -> str | None:
        """The data of the event whose lines all arrived but whose blank line did not, if there is one.

        The standard discards it; some servers close right after `data: [DONE]`, so the caller may look. A
        line cut in its middle is never part of it.
        """
        self._partial.clear()
        return self._dispatch()

    def _take(self, piece: bytes) -> bytes:
        self._check_line(len(self._partial) + len(piece))
        if not self._partial:
            return piece
        line = bytes(self._partial) + piece
        self._partial.clear()
        return line

    def _check_line(self, size: int) -> None:
        if size > self._max_line:
            raise SSEOverflow(f"a line of more than {self._max_line} bytes")

    def _line(self, line: bytes) -> str | None:
        if self._first_line:
            self._first_line = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data_bytes += len(value) + 1
            if self._data_bytes > self._max_event:
                raise SSEOverflow(f"an event of more than {self._max_event} bytes")
            self._data.append(value.decode("utf-8", "replace"))
        # Comments (an empty name) and all other fields carry nothing for us.
        return None

    def _dispatch(self) -> str | None:
        data, self._data, self._data_bytes = self._data, [], 0
        return "\n".join(data) if data else None
