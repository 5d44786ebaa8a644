"""An agent of our own that speaks the protocol and behaves as the task says: `BEHAVE=word`. Standard library only.

It runs in the sandbox as a real agent does. By default it asks the model once for each number in `ASK=n`, then replaces
`x + x` by `x * 2` in app.py.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

HOME = Path(os.environ["HOME"])
SESSIONS = HOME / "sessions"
LOCK = threading.Lock()
DEAF = threading.Event()


def write(message: dict[str, Any]) -> None:
    with LOCK:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def say(session: str, text: str) -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    write({"method": "session/update", "params": {"sessionId": session, "update": update}})


def tool(session: str, number: int, kind: str, path: str) -> None:
    update = {"sessionUpdate": "tool_call", "toolCallId": f"call-{number}", "kind": kind, "title": kind}
    update |= {"locations": [{"path": path}]}
    write({"method": "session/update", "params": {"sessionId": session, "update": update}})


def ask(messages: list[dict[str, str]], **more: Any) -> str:
    """The model's answer."""
    body = json.dumps({"model": "whatever", "messages": messages, "stream": True, **more}).encode()
    request = urllib.request.Request(
        f"{os.environ['OPENAI_BASE_URL']}/chat/completions", body, {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        raw = answer.read().decode()
    text = ""
    for line in raw.splitlines():
        if line.startswith("data: {"):
            for choice in json.loads(line[6:])["choices"]:
                text += choice["delta"].get("content") or ""
    return text


def edit() -> None:
    place = Path("app.py")
    place.write_text(place.read_text().replace("x + x", "x * 2"))


def reach(address: tuple[str, int]) -> str:
    try:
        with socket.create_connection(address, timeout=2):
            return "reached"
    except OSError as error:
        return str(error)


def fork_on() -> None:
    while True:
        try:
            if os.fork() == 0:
                time.sleep(600)
        except OSError:
            time.sleep(0.01)


def fill() -> None:
    number = 0
    while True:
        number += 1
        with Path(f"big-{number}").open("wb") as file:
            for _ in range(64):
                file.write(b"x" * (1 << 20))


def shape_home(how: str, victim: str) -> None:
    """Leave something else where the host puts a file before the next run."""
    place = HOME / ".vibe"
    if how == "filelink":
        place.rename(HOME / "aside")
        place.mkdir()
        (place / "config.toml").symlink_to(f"{victim}/config.toml")
    if how == "sealed":
        place.chmod(0)
        HOME.chmod(0)


def behave(how: str, session: str, text: str) -> str:
    """Do as the task says; returns the stop reason."""
    if how == "wait":
        time.sleep(3600)
    if how == "flood":
        DEAF.set()
        while True:  # each wants an answer that nobody reads
            sys.stdout.write('{"jsonrpc":"2.0","id":1,"method":"x"}\n' * 1000)
    if how == "large":
        write({"method": "session/update", "params": ["x" * (5 << 20)]})
        time.sleep(3600)
    if how == "fork":
        fork_on()
    if how == "fill":
        fill()
    if how == "die":
        Path("app.py").write_text("half")
        sys.stderr.write("panic: out of ideas\n")
        sys.stderr.flush()
        os._exit(7)
    if how == "outside":
        told = []
        for place in ("/etc/navigator", "/usr/evil", f"{Path.cwd().parent}/beside.txt", "/tmp/fine"):
            try:
                Path(place).write_text("evil")
                told.append(f"{place} written")
            except OSError as error:
                told.append(f"{place}: {error.strerror}")
        say(session, "; ".join(told) + "\n\n")
    if how == "git":
        for words in (
            ("config", "core.fsmonitor", "touch /tmp/ran; true"),
            ("config", "core.hooksPath", str(Path.cwd())),
            ("update-ref", "-d", "HEAD"),
        ):
            subprocess.run(["git", *words], check=False)
        Path(".git/hooks").mkdir(exist_ok=True)
        Path(".git/info").mkdir(exist_ok=True)
        Path(".git/info/exclude").write_text("*\n")
    if how == "port":
        server = socket.create_server(("0.0.0.0", 9999))
        server.listen()
        say(session, "Listening on 9999.\n\n")
    if how == "network":
        found = [reach(("1.1.1.1", 443)), reach(("127.0.0.1", 22)), reach(("127.0.0.1", 8000))]
        for path in ("/v1/embeddings", "/admin"):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:8000{path}", b"{}")
            except urllib.error.HTTPError as error:
                found.append(str(error.code))
        say(session, "; ".join(found) + "\n\n")
    if how == "nothing":
        say(session, "All done!")
        return "end_turn"
    if how == "keeps":
        say(session, "NO_CHANGE: it is right as it is")
        return "end_turn"
    if how == "dictate":
        Path("notes.txt").write_text(
            ask([{"role": "user", "content": "Say a word."}], grammar='root ::= "note: " [a-z]{8} "\\n"')
        )
        say(session, "Wrote what the model said.")
        return "end_turn"
    if how == "secret":
        Path(".env").write_text("KEY=stolen")
    if how == "link":
        Path("app.py").unlink()
        Path("app.py").symlink_to("/etc/passwd")
        return "end_turn"
    for number in range(int((re.search(r"ASK=(\d+)", text) or [0, 1])[1])):
        tool(session, number, "read", f"{Path.cwd()}/app.py")
        ask([{"role": "user", "content": f"question {number} of {text[:400]}"}])
    edit()
    if "reviewer" not in text and (victim := re.search(r"VICTIM=(\S+)", text)):
        shape_home(how, victim[1])
    if how == "pipes" and not Path(".gitignore").exists():
        os.mkfifo(".gitignore")
    if how == "tests":
        for name in ("__pycache__/app.pyc", "lib/.pytest_cache/v/nodeids", "mine/__pycache__/kept.txt"):
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_bytes(b"kept" if "kept" in name else b"\x00\xff")
        Path("mine/.gitignore").write_text("!__pycache__/\n")
    if how == "clumsy":
        wrong = "tests fail" not in text
        Path("app.py").write_text(f"def double(x):\n    return x * {3 if wrong else 2}\n")
    if how == "commit":
        subprocess.run(["git", "commit", "-qam", "mine"], check=True)
        Path("new.py").write_text("NEW = 1\n")
    if how == "broken":
        whole = "):\n    return x * 2" if "cannot be taken" in text else ":"
        Path("app.py").write_text(f"def double(x{whole}\n")
    if "reviewer" in text and os.environ.get("VIBE_HOME"):
        config = Path(os.environ["VIBE_HOME"]) / "config.toml"
        try:
            config.write_text("mine")
        except OSError as error:
            say(session, f"{config.read_text().partition(chr(10))[0]}; {error.strerror}\n\n")
    if "reviewer" in text:
        Path("app.py").write_text("def double(x):\n    return 2 * x\n")
    say(session, "I read the file.\n\nMultiplied instead of adding.")
    return "end_turn"


def turn(number: Any, session: str, text: str) -> None:
    seen = SESSIONS / session
    told = seen.read_text() if seen.exists() else ""
    seen.write_text(told + text)
    how = (re.search(r"BEHAVE=(\w+)", told + text) or ["", ""])[1]
    try:
        write({"id": number, "result": {"stopReason": behave(how, session, text)}})
    except Exception as error:  # noqa: BLE001 what went wrong is what the test sees
        write({"id": number, "error": {"code": -32603, "message": f"{type(error).__name__}: {error}"}})


def answer(message: dict[str, Any]) -> None:
    method, number, params = message.get("method"), message.get("id"), message.get("params") or {}
    how = os.environ.get("AGENT", "")
    if method == "initialize":
        if how == "mute":
            time.sleep(3600)
        if how == "dead":
            sys.stderr.write("no such model\n")
            sys.exit(3)
        version = 2 if how == "new" else 1
        info = {"name": "scripted", "version": "1.0"}
        write({"id": number, "result": {"protocolVersion": version, "agentInfo": info}})
    elif method == "session/new":
        if how == "login":
            write({"id": number, "error": {"code": -32000, "message": "Authentication required"}})
            return
        SESSIONS.mkdir(exist_ok=True)
        name = f"s{len(list(SESSIONS.iterdir())) + 1}"
        (SESSIONS / name).write_text("")
        write({"id": number, "result": {"sessionId": name}})
    elif method == "session/prompt":
        text = "".join(part.get("text", "") for part in params["prompt"])
        threading.Thread(target=turn, args=(number, params["sessionId"], text), daemon=True).start()
    elif number is not None:
        write({"id": number, "error": {"code": -32601, "message": "no such method"}})


def main() -> None:
    print("scripted agent, hello")  # some agents greet before they speak the protocol
    for line in sys.stdin:
        answer(json.loads(line))
        while DEAF.is_set():
            time.sleep(60)


if __name__ == "__main__":
    main()
