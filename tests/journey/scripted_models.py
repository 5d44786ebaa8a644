"""An OpenAI-compatible server on the loopback that says whatever a test wants, as generator and as reviewer."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from navigator.figures.canary import PROBES
from tests.replies import Replies

WRITER = "scripted/writer"
READER = "scripted/reader"
PIECE = 65_536

Messages = list[dict[str, str]]


@dataclass(frozen=True)
class Refusal:
    """An HTTP error in place of an answer."""

    status: int
    message: str = "no"


@dataclass(frozen=True)
class Said:
    """An answer with more than its text."""

    content: str
    reasoning: str = ""
    finish: str = "stop"
    usage: tuple[int, int] | None = None
    """Tokens read and written, where the server tells them."""
    tool_calls: tuple[dict[str, Any], ...] = ()


Script = Callable[[Messages], "str | Said | Refusal"]


def approval(**fields: Any) -> str:
    """A review that finds nothing."""
    return json.dumps({"summary": "Fine.", "addressed": [], "findings": [], "verdict": "APPROVE"} | fields)


def objection(quote: str, *, severity: str = "major", hunk: str = "H1", **fields: Any) -> dict[str, Any]:
    """One finding, `wrong`, about the line `quote`."""
    return {
        "kind": "wrong",
        "hunk": hunk,
        "quote": quote,
        "line": 0,
        "severity": severity,
        "criterion": "correctness",
        "trigger": "always",
        "message": "This is wrong.",
    } | fields


@dataclass
class Models:
    """The two scripts, and every conversation that they were given."""

    write: Script
    read: Script = field(default=lambda messages: approval())
    url: str = ""
    written: list[Messages] = field(default_factory=list)
    read_by: list[Messages] = field(default_factory=list)
    guard: threading.Lock = field(default_factory=threading.Lock)
    holds: Path | None = None
    """A file that names the role which is loaded; empty: the server takes connections and drops them. None: both are there."""
    canary: Callable[[str], str] = field(default=lambda model: "1, 2, 3, 4, 5")
    """What a model says to each of the canary's questions, which are no part of any conversation."""
    wrong: list[str] = field(default_factory=list)
    """Models that were asked for while they were not loaded."""
    names: tuple[str, str] = (WRITER, READER)
    """Of the generator and of the reviewer."""

    @property
    def loaded(self) -> tuple[str, ...]:
        """The models that are there now."""
        if self.holds is None:
            return self.names
        held = self.holds.read_text().strip()
        return tuple(
            name for role, name in zip(("generator", "reviewer"), self.names, strict=True) if role == held
        )

    @property
    def settings(self) -> str:
        """A settings file that has both roles on this server."""
        return settings(self.url, self.url, self.names)

    def answer(self, body: dict[str, Any]) -> str | Said | Refusal:
        """What the model that was asked for says. One at a time, so that scripts may count."""
        for probe in PROBES:
            if body["messages"][-1]["content"] == probe.question:
                return self.canary(body["model"])
        with self.guard:
            if body["model"] == self.names[1]:
                self.read_by.append(body["messages"])
                return self.read(body["messages"])
            self.written.append(body["messages"])
            return self.write(body["messages"])


def settings(generator: str, reviewer: str, names: tuple[str, str] = (WRITER, READER)) -> str:
    """A settings file with strategy `resident` on two addresses."""
    return (
        f'[generator]\nmodel = "{names[0]}"\nbase_url = "{generator}"\n'
        f'[reviewer]\nmodel = "{names[1]}"\nbase_url = "{reviewer}"\n'
        '[swap]\nstrategy = "resident"\n'
    )


@contextmanager
def speaking(models: Models) -> Iterator[Models]:
    """Serve `models` on a free port until the block ends."""

    class Handler(Replies):
        def do_GET(self) -> None:
            if not models.loaded:
                self.close_connection = True
            elif self.path.startswith("/health"):
                self.reply(200, {})
            elif self.path.startswith("/v1/models"):
                self.reply(200, {"data": [{"id": name, "object": "model"} for name in models.loaded]})
            else:
                self.reply(404, {})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
            if not self.path.startswith("/v1/chat/completions"):
                self.reply(404, {})
                return
            if not body:
                return  # whoever asked was killed before it had sent all
            if body["model"] not in models.loaded:
                models.wrong.append(body["model"])
                self.reply(404, {"error": {"message": "no such model"}})
                return
            said = models.answer(body)
            if not models.loaded:
                self.close_connection = True  # it died while it wrote
                return
            if isinstance(said, Refusal):
                self.reply(said.status, {"error": {"message": said.message}})
                return
            whole = said if isinstance(said, Said) else Said(said)
            if not body.get("stream"):
                called = {"tool_calls": [*whole.tool_calls]} if whole.tool_calls else {}
                message = {"role": "assistant", "content": whole.content} | called
                choice = {"index": 0, "message": message, "finish_reason": whole.finish}
                self.reply(200, self.document(body, choice, whole.usage))
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for name, text in (("reasoning_content", whole.reasoning), ("content", whole.content)):
                for start in range(0, len(text), PIECE):
                    self.chunk(body, {name: text[start : start + PIECE]})
            if whole.tool_calls:
                self.chunk(body, {"role": "assistant", "tool_calls": [*whole.tool_calls]})
            self.chunk(body, {}, whole.finish, whole.usage)
            self.wfile.write(b"data: [DONE]\n\n")

        def chunk(
            self, body: Any, delta: dict[str, Any], reason: str | None = None, usage: Any = None
        ) -> None:
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            self.wfile.write(f"data: {json.dumps(self.document(body, choice, usage))}\n\n".encode())

        def document(self, body: Any, choice: dict[str, Any], usage: Any) -> dict[str, Any]:
            streams = ".chunk" * ("delta" in choice)
            made = {"id": "chat-1", "object": f"chat.completion{streams}", "model": body["model"]}
            told = {} if usage is None else {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
            return made | {"choices": [choice]} | ({"usage": told} if told else {})

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    models.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield models
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
