"""What every stand-in for a server does alike: answer with a JSON document, and log nothing."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler


class Replies(BaseHTTPRequestHandler):
    """A handler that can answer with JSON."""

    def reply(self, status: int, document: object) -> None:
        """Answer, and end the response."""
        raw = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        """Nothing."""
