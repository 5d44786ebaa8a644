"""An answer in flight while a swap goes on."""

from __future__ import annotations

import json
import threading
import urllib.request

from tests.swap.desk import Desk


class Stream:
    """A streamed answer, read in a thread."""

    def __init__(
        self, desk: Desk, role: str, body: dict[str, object], path: str = "/v1/chat/completions"
    ) -> None:
        self.events = 0
        self.last = ""
        self.whole = False
        request = urllib.request.Request(
            f"{desk.url(role)}{path}",
            json.dumps({"stream": True, "messages": [], "prompt": "x"} | body).encode(),
            {"Content-Type": "application/json"},
        )
        self.thread = threading.Thread(target=self._read, args=(request,), daemon=True)
        self.thread.start()

    def _read(self, request: urllib.request.Request) -> None:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=60) as answer:
                for raw in answer:
                    line = raw.decode().strip()
                    if line == "data: [DONE]":
                        self.whole = True
                    elif line:
                        self.events += 1
                        self.last = line
        except OSError:
            pass
