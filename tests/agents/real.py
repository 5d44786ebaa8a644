"""Real agents that `make agents` installed, and a scripted model that speaks to any of them through its own tools."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.journey.scripted_models import READER, WRITER, approval
from tests.sandbox.support import no_sandbox

ROOT = Path(__file__).parents[2]
_PINS = {"qwen": "package-lock.json", "opencode": "package-lock.json", "vibe": "requirements.txt"}
_PROGRAMS = {
    "qwen": ("node_modules/.bin/qwen", "--acp"),
    "opencode": ("node_modules/opencode-linux-x64/bin/opencode", "acp"),
    "vibe": ("bin/vibe-acp",),
}
NAMES = tuple(_PINS)
EVERY_AGENT = "NAVIGATOR_REAL_AGENTS"
"""Set by `make agents`: what takes more than half a minute for each agent, and tells little more."""


def installed(name: str, *, usual: bool = True) -> tuple[str, ...]:
    """The agent's command; skips where there is none, no sandbox, or where it is left to `make agents`."""
    if not usual and not os.environ.get(EVERY_AGENT):
        pytest.skip("longer runs of agents: `make agents` runs them")
    if reason := no_sandbox():
        pytest.skip(reason)
    found = command(name)
    if not found:
        pytest.skip("agents: `make agents` installs them")
    return found


def command(name: str) -> tuple[str, ...]:
    """How an agent is started; () where it is not installed."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = Path(os.environ.get("NAVIGATOR_AGENTS") or caches / "navigator-agents")
    pin = ROOT / "agents" / name / _PINS[name]
    folder = cache / f"{name}-{hashlib.sha256(pin.read_bytes()).hexdigest()[:12]}"
    program, *arguments = _PROGRAMS[name]
    if not (folder / ".complete").exists():
        return ()
    return (str(folder / program), *arguments)


_READ = ("read_file", "read", "view")
_EDIT = ("edit", "search_replace", "replace", "str_replace")
_MEANING = {
    **dict.fromkeys(("filepath", "path", "absolutepath", "file"), "path"),
    **dict.fromkeys(("oldstring", "oldstr", "oldtext"), "old"),
    **dict.fromkeys(("newstring", "newstr", "newtext"), "new"),
}


def turn_of(body: Mapping[str, Any], values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The tool whose turn it is and its arguments, by the names of its parameters: first one that reads, then one that edits.

    Args:
        body: the agent's request.
        values: of `path`, `old` and `new`.

    Returns: the tool's name, "" when it is time for a last word.
    """
    tools = {tool["function"]["name"]: tool["function"] for tool in body.get("tools") or []}
    done = sum(message["role"] == "tool" for message in body["messages"])
    wanted = (_READ, _EDIT)[done] if done < 2 else ()
    name = next((name for name in wanted if name in tools), "")
    parameters = tools[name].get("parameters", {}).get("properties", {}) if name else {}
    meant = {one: _MEANING.get(one.lower().replace("_", "")) for one in parameters}
    return name, {one: values[what] for one, what in meant.items() if what}


@dataclass
class ToolModel:
    """Reads the file, edits it, and says so: the three answers of a model that uses tools. `asked` counts its requests."""

    path: str
    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)

    @property
    def settings(self) -> str:
        """A settings file that has both roles on this server."""
        roles = "".join(
            f'[{role}]\nmodel = "{model}"\nbase_url = "{self.url}"\n'
            for role, model in (("reviewer", READER), ("generator", WRITER))
        )
        return f'[swap]\nstrategy = "resident"\n[canary]\nenabled = false\n{roles}'

    def delta(self, body: dict[str, Any]) -> dict[str, Any]:
        """What the model says: a call of a tool, or text."""
        if body["model"] == READER:
            return {"content": approval()}
        self.asked.append(body)
        values = {"path": self.path, "old": "x + x", "new": "x * 2"}
        name, arguments = turn_of(body, values)
        if not name:
            return {"content": "I multiplied instead of adding."}
        call = {"name": name, "arguments": json.dumps(arguments)}
        number = len(body["messages"])
        return {"tool_calls": [{"index": 0, "id": f"call_{number}", "type": "function", "function": call}]}


@contextmanager
def serving(model: ToolModel) -> Iterator[ToolModel]:
    """Serve `model` on loopback until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            listed = {"data": [{"id": name, "object": "model"} for name in (WRITER, READER)]}
            self.reply(json.dumps(listed if "models" in self.path else {}).encode(), "application/json")

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            delta = model.delta(body)
            reason = "tool_calls" if "tool_calls" in delta else "stop"
            usage = {
                "prompt_tokens": 100,
                "completion_tokens": 10,
                "prompt_tokens_details": {"cached_tokens": 40},
            }
            common = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
            if not body.get("stream"):
                choice = {
                    "index": 0,
                    "message": {"role": "assistant", "content": None} | delta,
                    "finish_reason": reason,
                }
                self.reply(
                    json.dumps(common | {"choices": [choice], "usage": usage}).encode(), "application/json"
                )
                return
            chunks = [
                common
                | {"choices": [{"index": 0, "delta": {"role": "assistant"} | delta, "finish_reason": None}]},
                common | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
                common | {"choices": [], "usage": usage},
            ]
            lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
            self.reply("".join([*lines, "data: [DONE]\n\n"]).encode(), "text/event-stream")

        def reply(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    model.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
