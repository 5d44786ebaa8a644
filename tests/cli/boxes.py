"""Stand-ins on the loopback for the servers that people have at home: each speaks its software's lists, and chats.

As a script it is a toy Ollama: `python -m tests.cli.boxes 11434 qwen3-coder:30b`.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from typing import Any

from tests.replies import Replies

Body = dict[str, Any]


def approving(body: Body) -> str:
    """A review that finds nothing, where one is asked for; else the numbers."""
    if "response_format" in body or "review" in json.dumps(body["messages"]).lower():
        return json.dumps({"summary": "Fine.", "addressed": [], "findings": [], "verdict": "APPROVE"})
    return " ".join(str(number) for number in range(1, 61))


@dataclass
class Box:
    """One server. `loads`: each (model, context) that it loaded, in order; a model stays until another is asked for."""

    software: str
    models: tuple[str, ...]
    context: int = 32_768
    router: bool = False
    says: Callable[[Body], str] = approving
    key: str = ""
    info: Body = field(default_factory=dict)
    url: str = ""
    loads: list[tuple[str, int]] = field(default_factory=list)
    chats: list[Body] = field(default_factory=list)

    def get(self, path: str) -> Any:
        """What a GET answers; None is a 404."""
        return self._own(path) or {"/v1/models": self._models(), "/health": {"status": "ok"}}.get(path)

    @property
    def _held(self) -> str:
        return self.loads[-1][0] if self.loads else ""

    def _models(self) -> Any:
        more: dict[str, Callable[[str], Body]] = {
            "ollama": lambda _: {"owned_by": "library", "created": 1},
            "llama.cpp": lambda _: {"owned_by": "llamacpp", "meta": {"n_ctx_train": 262_144}},
            "lmstudio": lambda _: {"owned_by": "organization_owner"},
            "sglang": lambda name: {"owned_by": "sglang", "root": name, "max_model_len": self.context},
        }
        rows = [{"id": name, "object": "model", **more[self.software](name)} for name in self.models]
        if self.router:
            for row in rows:
                row["status"] = {"value": "loaded" if row["id"] == self._held else "unloaded"}
        return {"object": "list", "data": rows}

    def _own(self, path: str) -> Any:
        if self.software == "ollama":
            held = {"name": self._held, "model": self._held, "context_length": self.context, "size_vram": 1}
            return {
                "/api/ps": {"models": [held] if self._held else []},
                "/api/version": {"version": "0.13.0"},
            }.get(path)
        if self.software == "llama.cpp":
            slots = [{"id": 0, "n_ctx": self.context, "is_processing": False}]
            return {"/props": {"default_generation_settings": {"n_ctx": self.context}}, "/slots": slots}.get(
                path
            )
        if self.software == "lmstudio":
            rows = [
                {"id": name, "type": "llm", "state": "loaded" if name == self._held else "not-loaded"}
                | ({"loaded_context_length": self.context} if name == self._held else {})
                for name in self.models
            ]
            embedder = {"id": "text-embedding-nomic", "type": "embeddings", "state": "not-loaded"}
            return {"data": [*rows, embedder]} if path == "/api/v0/models" else None
        return {"/model_info": {"model_path": self.models[0]}, "/server_info": self.info or None}.get(path)

    def chat(self, body: Body) -> str:
        """The answer; a model that is not loaded, or a changed `num_ctx`, is a load, as with Ollama."""
        self.chats.append(body)
        wanted = (body["model"], (body.get("options") or body).get("num_ctx", self.context))
        if not self.loads or self.loads[-1] != wanted:
            self.loads.append(wanted)
        return self.says(body)


@contextmanager
def serving(box: Box, port: int = 0) -> Iterator[Box]:
    """Serve a box until the block ends."""

    class Handler(Replies):
        def do_GET(self) -> None:
            if box.key and self.headers.get("Authorization") != f"Bearer {box.key}":
                self.reply(401, {"error": "key"})
                return
            found = box.get(self.path.partition("?")[0])
            self.reply(200 if found is not None else 404, found if found is not None else {})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
            if self.path != "/v1/chat/completions" or body.get("model") not in box.models:
                self.reply(404, {"error": {"message": "not found"}})
                return
            text = box.chat(body)
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for word in text.splitlines(keepends=True):
                self.event(body, {"content": word}, None)
            self.event(body, {}, "stop", usage={"prompt_tokens": 20, "completion_tokens": len(text.split())})
            self.wfile.write(b"data: [DONE]\n\n")

        def event(self, body: Body, delta: Body, reason: str | None, **more: Any) -> None:
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            said = {
                "id": "c",
                "object": "chat.completion.chunk",
                "model": body["model"],
                "choices": [choice],
                **more,
            }
            self.wfile.write(f"data: {json.dumps(said)}\n\n".encode())

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    box.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield box
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


if __name__ == "__main__":
    with serving(Box("ollama", tuple(sys.argv[2:])), int(sys.argv[1])) as toy:
        print(toy.url, flush=True)
        threading.Event().wait()
