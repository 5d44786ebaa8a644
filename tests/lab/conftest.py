"""A judge over HTTP, simulated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest


class Judge(BaseHTTPRequestHandler):
    """A simulated judge: it prefers the longer answer, and says nonsense where both are empty."""

    asked: list[str] = []

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        self._send(b'{"data": [{"id": "judge"}]}', "application/json")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = body["messages"][-1]["content"]
        Judge.asked.append(json.dumps(body["messages"]))
        first, _, second = text.partition("===== Answer A =====\n")[2].partition("\n\n===== Answer B =====\n")
        one, other = len(first), len(second.partition("\n\n===== End")[0])
        answer = "no idea" if one == other else json.dumps({"better": "A" if one > other else "B"})
        chunk = {
            "choices": [{"index": 0, "delta": {"content": answer}, "finish_reason": None}],
            "model": "judge",
        }
        end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "model": "judge"}
        events = "".join(f"data: {json.dumps(each)}\n\n" for each in (chunk, end)) + "data: [DONE]\n\n"
        self._send(events.encode(), "text/event-stream")

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def judge_server() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Judge)
    Judge.asked = []
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
