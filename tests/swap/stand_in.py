"""A small server on SGLang's wire, for what a swap can meet: `python stand_in.py --port P --model M [flaws]`.

It holds no model. A streamed answer takes as many tokens as asked for, `--tick` seconds each; while its folder holds a file
`hold` with a number, it stops after so many; a plain answer waits there at 0. SIGTERM is SGLang's:
/health turns 503, what is in flight is finished, then it exits.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path

from tests.replies import Replies

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, required=True)
parser.add_argument("--model", required=True)
parser.add_argument("--key", default="")
parser.add_argument("--tick", type=float, default=0.02)
parser.add_argument("--boot", type=float, default=0.0, help="seconds until the port opens")
parser.add_argument("--warm-up", type=float, default=0.0, help="seconds from there until /health is 200")
parser.add_argument("--words", default="", help="said on stderr, then it exits")
parser.add_argument("--sick", action="store_true", help="/health is 503 for ever")
parser.add_argument("--deaf", action="store_true", help="ignores SIGTERM")
parser.add_argument("--child", action="store_true", help="has a child that ignores SIGTERM")
parser.add_argument("--silent-loads", action="store_true", help="has no /v1/loads")
options = parser.parse_args()

CHILD = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
running: dict[str, threading.Event] = {}
ending = threading.Event()


class Handler(Replies):
    protocol_version = "HTTP/1.1"

    def allowed(self) -> bool:
        return not options.key or self.headers.get("Authorization") == f"Bearer {options.key}"

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/health":
            warming = time.monotonic() < started + options.boot + options.warm_up
            self.reply(503 if options.sick or warming or ending.is_set() else 200, {})
        elif not self.allowed():
            self.reply(401, {"error": "Unauthorized"})
        elif path == "/v1/models":
            self.reply(200, {"object": "list", "data": [{"id": options.model, "owned_by": "sglang"}]})
        elif path == "/model_info":
            self.reply(200, {"model_path": options.model, "is_generation": True})
        elif path == "/v1/loads" and not options.silent_loads:
            core = {"dp_rank": 0, "num_running_reqs": len(running), "num_waiting_reqs": 0}
            self.reply(200, {"loads": [core | {"queues": {"waiting": 0, "grammar": 0}}]})
        else:
            self.reply(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if not self.allowed():
            self.reply(401, {"error": "Unauthorized"})
        elif self.path == "/abort_request":
            rids = list(running) if body.get("abort_all") else [body.get("rid", "")]
            for rid in rids:
                if rid in running:
                    running[rid].set()
            with Path("aborted.log").open("a", encoding="utf-8") as log:
                print(options.model, "all" if body.get("abort_all") else body.get("rid"), file=log)
            self.reply(200, {})
        elif self.path == "/v1/chat/completions":
            self.chat(body)
        else:
            self.reply(404, {"detail": "Not Found"})

    def chat(self, body: dict[str, object]) -> None:
        rid = str(body.get("rid") or os.urandom(8).hex())
        tokens = int(str(body.get("max_tokens", 16)))
        aborted = running[rid] = threading.Event()
        head = {"id": rid, "model": options.model, "created": 0}
        try:
            if not body.get("stream"):
                time.sleep(options.tick)
                while held_at() == 0:
                    time.sleep(0.005)
                message = {"role": "assistant", "content": "ok"}
                choice = {"index": 0, "message": message, "finish_reason": "length"}
                self.reply(200, head | {"object": "chat.completion", "choices": [choice]})
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            done = 0
            while done < tokens and not aborted.wait(options.tick):
                while held_at() == done:
                    time.sleep(0.005)
                done += 1
                self.event(head, {"content": f"{done} "}, None)
            self.event(head, {}, "abort" if done < tokens else "stop")
            self.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            pass
        finally:
            del running[rid]
            self.close_connection = True

    def event(self, head: dict[str, object], delta: dict[str, str], reason: str | None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        chunk = head | {"object": "chat.completion.chunk", "choices": [choice]}
        self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")

    def reply(self, status: int, payload: object) -> None:
        with contextlib.suppress(OSError):
            super().reply(status, payload)


def held_at() -> int:
    try:
        return int(Path("hold").read_text(encoding="ascii"))
    except FileNotFoundError:
        return -1


def end() -> None:
    while running:
        time.sleep(0.02)
    os._exit(0)


def on_term(*_: object) -> None:
    if not ending.is_set():
        ending.set()
        threading.Thread(target=end).start()


started = time.monotonic()
signal.signal(signal.SIGTERM, signal.SIG_IGN if options.deaf else on_term)
if options.words:
    sys.exit(options.words)
if options.child:
    subprocess.Popen([sys.executable, "-c", CHILD])
time.sleep(options.boot)
ThreadingHTTPServer(("127.0.0.1", options.port), Handler).serve_forever()
