"""A tiny stand-in for `python -m navigator.rehearsal`: the same command line, as little as a swap needs.

FLAWS (a file in the working folder, JSON by role) makes it misbehave: exit, unhealthy, wrong_model, silent, busy.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path

from tests.replies import Replies

NAMES = {"generator": "rehearsal/Qwen3.5-35B-A3B", "reviewer": "rehearsal/Qwen3.5-122B-A10B"}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--role")
    parser.add_argument("--port", type=int)
    parser.add_argument("--time-scale", type=float)
    options = parser.parse_args()
    flaws = Path("FLAWS")
    flaw = json.loads(flaws.read_text()).get(options.role, "") if flaws.exists() else ""
    if flaw == "exit":
        sys.exit("CUDA out of memory")
    if flaw == "silent":
        time.sleep(600)
    name = "rehearsal/other" if flaw == "wrong_model" else NAMES[options.role]
    ready_at = time.monotonic() + options.time_scale

    class Handler(Replies):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/health":
                self.reply(503 if flaw == "unhealthy" or time.monotonic() < ready_at else 200, {})
            elif path == "/v1/models":
                self.reply(200, {"data": [{"id": name, "owned_by": "sglang"}]})
            elif path == "/v1/loads":
                running = 1 if Path("BUSY").exists() else 0
                self.reply(200, {"loads": [{"num_running_reqs": running, "num_waiting_reqs": 0}]})
            elif path == "/model_info":
                self.reply(200, {"model_path": name})
            else:
                self.reply(404, {})

    server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    print(json.dumps({"port": server.server_port}), flush=True)
    server.serve_forever()


main()
