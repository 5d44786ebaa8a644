"""Stands between an agent and a real model server, and leaves the model one thing to say at a time.

A model with random weights calls no tool by itself. Of the tools that the agent offers, this passes on the one whose turn it
is, with its arguments spelled out in the schema, and asks for a call (`tool_choice`). The rest is the model server's own: it
makes a grammar of the schema, samples every token under it, reads the call out of what it sampled, and streams it. What
a schema leaves open is the model's choice.
"""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.agents.real import turn_of

TEMPLATE = Path(__file__).with_name("tools.jinja")
"""Shows a model its tools, which the tiny model's own template does not."""

NEW_LINE = r"x \* 2  # [a-z]{8}"
_LAST_WORDS = 'root ::= "I multiplied. " [a-z]{8} "."'


@dataclass
class Narrow:
    """What the model may say: read `path`, edit it, and last words.

    `asked` has the agent's requests, `url` is where to send them.
    """

    path: str
    server: str
    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)

    def narrowed(self, body: dict[str, Any]) -> dict[str, Any]:
        """The request as it is passed on."""
        self.asked.append(body)
        rest = {key: value for key, value in body.items() if key not in ("tools", "tool_choice")}
        name, arguments = turn_of(
            body,
            {
                "path": {"const": self.path},
                "old": {"const": "x + x"},
                "new": {"type": "string", "pattern": f"^{NEW_LINE}$"},
            },
        )
        if not name:
            return rest | {"grammar": _LAST_WORDS}
        schema = {"type": "object", "properties": arguments, "required": list(arguments)}
        function = {"name": name, "parameters": schema}
        return rest | {
            "tools": [{"type": "function", "function": function}],
            "tool_choice": "required",
            "parallel_tool_calls": False,
            # The server's grammar allows words before the call; a brace is where it begins.
            "logit_bias": [["{", 100]],
        }


@contextmanager
def narrowing(narrow: Narrow) -> Iterator[Narrow]:
    """Serve on loopback until the block ends; answers are passed back as they come."""
    there = urlsplit(narrow.server).netloc

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.pass_on(None)

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.path.endswith("/chat/completions"):
                raw = json.dumps(narrow.narrowed(json.loads(raw))).encode()
            self.pass_on(raw)

        def pass_on(self, body: bytes | None) -> None:
            link = http.client.HTTPConnection(there)
            try:
                link.request(self.command, self.path, body, {"Content-Type": "application/json"})
                answer = link.getresponse()
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.getheader("Content-Type") or "")
                self.end_headers()
                while piece := answer.read1():
                    self.wfile.write(piece)
            finally:
                link.close()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    narrow.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield narrow
    finally:
        server.shutdown()
        server.server_close()
