"""A simulated model server whose acceptance and costs are known: `python simulated_engine.py KIND PORT [OPTION…]`.

It speaks the wire format of llama.cpp, SGLang or vLLM and has their counters. Rounds are drawn with a known α; times are not
spent but stated (llama.cpp states them itself). Options: gamma=N alpha=A c=C v=V step_ms=T seed=S fail=1 (end at once) dies=1
(end while it answers) held=1 (answers wait while the file that HOLD names is there).
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Engine:
    """Draws rounds and adds up counters."""

    def __init__(self, options: dict[str, float]) -> None:
        self.gamma = int(options.get("gamma", 0))
        self.alpha, self.c, self.v = options.get("alpha", 0.7), options.get("c", 0.1), options.get("v", 1.3)
        self.step_ms = options.get("step_ms", 20.0)
        self.held = Path(os.environ["HOLD"]) if options.get("held") else None
        self.dies = bool(options.get("dies"))
        self.dice = random.Random(int(options.get("seed", 1)))
        self.positions = [0] * self.gamma
        self.rounds = self.accepted = 0

    def write(self, tokens: int) -> dict[str, float]:
        """Write so many tokens, the first by reading the prompt; returns the answer's own counters."""
        written, ms, rounds, accepted = 1, 0.0, 0, 0
        self.marks = [(1, 0.0)]
        self.histogram = [0] * (self.gamma + 1)
        while written < tokens:
            kept = 0
            while kept < self.gamma and self.dice.random() < self.alpha:
                kept += 1
            kept = min(kept, tokens - written - 1)
            written += 1 + kept
            rounds += 1
            ms += self.step_ms * (self.gamma * self.c + self.v if self.gamma else 1.0)
            accepted += kept
            self.histogram[kept] += 1
            self.marks.append((written, ms))
            for place in range(kept):
                self.positions[place] += 1
        self.rounds, self.accepted = self.rounds + rounds, self.accepted + accepted
        return {"tokens": written, "drafted": rounds * self.gamma, "accepted": accepted, "rounds": rounds}

    def metrics(self) -> str:
        """As vLLM has them on /metrics."""
        label = '{engine="0",model_name="m"}'
        lines = [
            f"vllm:spec_decode_num_drafts_total{label} {float(self.rounds)}",
            f"vllm:spec_decode_num_draft_tokens_total{label} {float(self.rounds * self.gamma)}",
            f"vllm:spec_decode_num_accepted_tokens_total{label} {float(self.accepted)}",
        ]
        for place, count in enumerate(self.positions):
            lines.append(
                f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{engine="0",position="{place}"}} {float(count)}'
            )
        return "\n".join(lines) + "\n"


def handler(kind: str, engine: Engine) -> type[BaseHTTPRequestHandler]:
    """The routes of one kind of server."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Its log is for statistics."""

        def _send(self, body: bytes, content_type: str = "application/json") -> None:
            self.send_response(200)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._send(engine.metrics().encode(), "text/plain")
            else:
                self._send(json.dumps({"data": [{"id": "m"}], "version": "v", "build_info": "v"}).encode())

        def do_POST(self) -> None:
            while engine.held is not None and engine.held.exists():
                time.sleep(0.01)
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/tokenize":
                self._send(json.dumps({"tokens": list(range(len(str(asked).split())))}).encode())
            elif engine.dies:
                print("CUDA error: an illegal memory access", flush=True)
                os._exit(1)
            elif self.path == "/completion":
                self._llama(asked)
            elif self.path == "/generate":
                self._events(_sglang(engine, asked["sampling_params"]["max_new_tokens"]))
            else:
                self._events(_vllm(engine, asked["max_tokens"]))

        def _llama(self, asked: dict[str, Any]) -> None:
            found = engine.write(asked["n_predict"])
            chunks: list[dict[str, Any]] = []
            for (written, ms), (before, _) in zip(engine.marks, [(0, 0.0), *engine.marks], strict=False):
                timings = {"predicted_n": written, "predicted_ms": ms}
                chunks.append({"tokens": list(range(before, written)), "timings": timings})
            if engine.gamma:
                chunks[-1]["timings"] |= {"draft_n": found["drafted"], "draft_n_accepted": found["accepted"]}
            self._events(chunks)

        def _events(self, events: list[dict[str, Any]]) -> None:
            lines = [f"data: {json.dumps(event)}\n\n" for event in events] + ["data: [DONE]\n\n"]
            self._send("".join(lines).encode(), "text/event-stream")

    return Handler


def _sglang(engine: Engine, tokens: int) -> list[dict[str, Any]]:
    found = engine.write(tokens)
    meta: dict[str, Any] = {"completion_tokens": int(found["tokens"])}
    if engine.gamma:
        meta |= {
            "spec_num_proposed_drafts": found["drafted"],
            "spec_num_correct_drafts": found["accepted"],
            "spec_verify_ct": found["rounds"],
            "spec_correct_drafts_histogram": engine.histogram,
        }
    first = {"output_ids": [7], "meta_info": {"completion_tokens": 1}}
    return [first, {"output_ids": list(range(tokens)), "meta_info": meta}]


def _vllm(engine: Engine, tokens: int) -> list[dict[str, Any]]:
    engine.write(tokens)
    return [{"choices": [], "usage": {"completion_tokens": written}} for written in (1, tokens, tokens)]


def main() -> None:
    """Serve until the end."""
    kind, port, *rest = sys.argv[1:]
    options = {name: float(value) for name, _, value in (word.partition("=") for word in rest if "=" in word)}
    if options.get("fail"):
        sys.exit("CUDA out of memory")
    ThreadingHTTPServer(("127.0.0.1", int(port)), handler(kind, Engine(options))).serve_forever()


if __name__ == "__main__":
    main()
