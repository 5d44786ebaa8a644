"""What Navigator itself costs, beside the bare git calls, commits and requests that it makes, replayed alone in the same run.

    python benchmarks/own_cost.py [--tiny | --full] [--tasks N] [--projects N] [--profile FILE]

A whole session on sample repositories with the rehearsal at time scale 0: write, review, revise, then everything is approved and
landed on branches. The conductor runs in a process of its own; the models' stand-ins in others, which are not counted. In the
conductor every git process is recorded (words, environment, input, the index it starts from) with the processor time it took,
and every statement that SQLite is given to write. Then the state folder is put back to where the session began, and the same git
calls, transactions and requests are made again, one after the other, by nothing but `subprocess`, `sqlite3` and `httpx`. Tests
of the changes run in processes of their own and count on neither side.

All figures are processor time (user and system), since a machine that simulates two models has no time of its own to spare. Aim:
at most 1.5 times the bare calls. A second session, without any recording, measures the conductor's memory. Aim: at most 150 MB.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import cProfile
import json
import os
import pickle
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import Any

import httpx

from benchmarks.size import sized
from navigator.actions.registry import perform
from navigator.cli.session import locked_dependencies
from navigator.config.paths import StatePaths
from navigator.engine import conductor as conducting
from navigator.engine.conductor import Conductor, RunOptions
from navigator.engine.conductor_state import ConductorState
from navigator.git import runner
from navigator.journey import land as landing
from navigator.journey import write as writing
from navigator.journey.prompts import material
from navigator.journey.reviewing import join as joining
from navigator.model.states import ProposalState
from navigator.process.runner import Process
from navigator.setup.demo import CONFIG, prepare
from navigator.store.database import open_writer
from navigator.store.writes.writer import Store

AIM_RATIO = 1.5
AIM_MEMORY = 150e6

_stage: ContextVar[str] = ContextVar("stage", default="conductor")


class Recorder:
    """Writes what happened to a file, so that the recording does not count as memory."""

    def __init__(self, folder: Path) -> None:
        self.file = (folder / "calls").open("wb")
        self.sql = (folder / "sql").open("wb")
        self.http = (folder / "http").open("wb")
        self.lock = threading.Lock()
        self.cpu: dict[str, float] = defaultdict(float)
        self.git: dict[str, float] = defaultdict(float)
        self.calls: Counter[str] = Counter()
        self.last = ""
        self.commits = 0

    def git_call(self, call: dict[str, Any]) -> None:
        with self.lock:
            pickle.dump(call, self.file)
            self.git[call["stage"]] += call["cpu"]
            self.calls[call["stage"]] += 1

    def statement(self, text: str) -> None:
        words = text.lstrip()[:6].upper()
        if text == self.last:
            return  # sqlite3 tells a statement once more for each trigger that it fires
        self.last = text
        if words.startswith(("INSERT", "UPDATE", "DELETE", "REPLAC", "BEGIN", "COMMIT", "ROLLBA")):
            pickle.dump(text, self.sql)
            self.commits += words == "COMMIT"


def _recording(recorder: Recorder) -> None:
    """Have the runner's git processes recorded, with the processor time that each took."""
    run, took = runner.run, threading.local()

    def waited(process: Process, flags: int) -> tuple[int, int]:
        try:
            pid, status, used = os.wait4(process.pid, flags)
        except ChildProcessError:
            return process.pid, 0
        took.cpu = used.ru_utime + used.ru_stime
        return pid, status

    def polled(process: Process, *_: Any, **__: Any) -> int | None:
        if process.returncode is None:
            pid, status = waited(process, os.WNOHANG)
            if pid:
                process._handle_exitstatus(status)  # type: ignore[attr-defined]
        return process.returncode

    def recorded(command: list[str], seconds: float, *, env: dict[str, str], **options: Any) -> Any:
        # Dates are named, so that a commit made again is the same commit.
        env = {"GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000"} | env
        index, feed = Path(env.get("GIT_INDEX_FILE", "/nowhere")), options.get("given")
        call = {
            "order": time.monotonic_ns(),
            "stage": _stage.get(),
            "command": command,
            "env": env,
            "cwd": str(options.get("cwd") or "/"),
            "index": index.read_bytes() if index.exists() else None,
            "feed": feed,
            "files": {},
        }
        if "hash-object" in command and feed:
            folder = Path(env["GIT_DIR"])
            call["files"] = {str(folder / n): (folder / n).read_bytes() for n in feed.decode().split()}
        result = run(command, seconds, env=env, **options)
        recorder.git_call(call | {"cpu": took.cpu, "status": result.code})
        return result

    Process._try_wait, Process._internal_poll = waited, polled  # type: ignore[attr-defined]
    runner.run = recorded  # type: ignore[attr-defined]


def _timed(
    recorder: Recorder, name: str, function: Callable[..., Any], *, thread: bool
) -> Callable[..., Any]:
    """Count a function's processor time under a stage's name; what it calls of other stages counts there."""
    nested: ContextVar[bool] = ContextVar("nested", default=False)

    @wraps(function)
    def timed(*args: Any, **named: Any) -> Any:
        if nested.get():
            return function(*args, **named)
        token, inside = _stage.set(name), nested.set(True)
        began = time.thread_time()
        try:
            return function(*args, **named)
        finally:
            spent = time.thread_time() - began
            _stage.reset(token)
            nested.reset(inside)
            with recorder.lock:
                recorder.cpu[name] += spent
                recorder.cpu["(in threads)" if thread else "(in the loop)"] += spent

    return timed


def _recording_requests(recorder: Recorder) -> None:
    """Have what is asked of the model servers recorded."""
    send = httpx.AsyncClient.send

    async def sent(self: httpx.AsyncClient, request: httpx.Request, **options: Any) -> httpx.Response:
        pickle.dump((request.method, request.url.path, request.content), recorder.http)
        return await send(self, request, **options)

    httpx.AsyncClient.send = sent  # type: ignore[method-assign]


def _instrument(recorder: Recorder) -> None:
    for module, attribute, name, thread in (
        (material, "_pinned_base", "base", True),
        (material, "prompt_for", "context and prompt", True),
        (writing, "draft", "apply and check", True),
        (landing, "_prepare", "landing: plan", True),
        (landing, "execute_landing", "landing: act", True),
        (ConductorState, "snapshot", "snapshot", False),
        (conducting, "next_actions", "scheduling", False),
        (joining, "ground", "ground findings", False),
    ):
        setattr(module, attribute, _timed(recorder, name, getattr(module, attribute), thread=thread))
    transaction = Store.transaction

    @contextlib.contextmanager
    def counted(self: Store) -> Iterator[Any]:
        began = time.thread_time()
        with transaction(self) as tx:
            yield tx
        with recorder.lock:
            recorder.cpu["store"] += time.thread_time() - began
            recorder.cpu["(in the loop)"] += time.thread_time() - began

    Store.transaction = counted  # type: ignore[method-assign]


def _approve_all(paths: StatePaths) -> int:
    """The developer's word on everything: approved, and landed on branches."""
    with locked_dependencies(paths) as world:
        found = world.reader.proposals(states=(ProposalState.OPEN,))
        rows = [{"id": proposal.id, "tree": proposal.tree} for proposal in found]
        confirm = sorted({f"{item.rule}:{item.path}" for p in found for item in p.policy})
        done = asyncio.run(perform(world, "approve", {"proposals": rows, "confirm": confirm}))
        return sum(row["landing"] == "landed" for row in done["decisions"])


def session(folder: Path, *, record: bool, profile: str) -> None:
    """One whole session, in a process of its own; prints one JSON document."""
    paths = StatePaths(folder / "state")
    recorder = Recorder(folder) if record else None
    if recorder is not None:
        _instrument(recorder)
        _recording(recorder)
        _recording_requests(recorder)
    prof = cProfile.Profile() if profile else None
    stages: dict[str, float] = {}
    before = resource.getrusage(resource.RUSAGE_SELF)
    began = time.monotonic()
    with locked_dependencies(paths, time_scale=0.0) as world:
        if recorder is not None:
            world.store._connection.set_trace_callback(recorder.statement)

        async def work() -> dict[str, Any]:
            return (await Conductor(world, RunOptions(until="idle")).run()).document()

        if prof:
            prof.enable()
        document = asyncio.run(work())
        if prof:
            prof.disable()
    stages["session"] = _cpu_since(before)
    before_landing = resource.getrusage(resource.RUSAGE_SELF)
    memory = _peak_memory()
    with _trace_every_connection(recorder):
        landed = _approve_all(paths)
    stages["decisions and landing"] = _cpu_since(before_landing)
    if prof:
        prof.dump_stats(profile)
    result: dict[str, Any] = {
        "states": document["states"],
        "landed": landed,
        "wall": time.monotonic() - began,
        "stages": stages,
        "memory": memory,
    }
    if recorder is not None:
        recorder.file.close()
        recorder.sql.close()
        recorder.http.close()
        result |= {
            "cpu": dict(recorder.cpu),
            "git": dict(recorder.git),
            "calls": dict(recorder.calls),
            "commits": recorder.commits,
        }
    print(json.dumps(result))


@contextlib.contextmanager
def _trace_every_connection(recorder: Recorder | None) -> Iterator[None]:
    """Record what a further connection writes."""
    if recorder is None:
        yield
        return
    begin = Store.__init__

    def traced(self: Store, connection: sqlite3.Connection, *rest: Any) -> None:
        connection.set_trace_callback(recorder.statement)
        begin(self, connection, *rest)

    Store.__init__ = traced  # type: ignore[method-assign]
    try:
        yield
    finally:
        Store.__init__ = begin  # type: ignore[method-assign]


def _cpu_since(before: resource.struct_rusage) -> float:
    now = resource.getrusage(resource.RUSAGE_SELF)
    return now.ru_utime + now.ru_stime - before.ru_utime - before.ru_stime


def _peak_memory() -> int:
    """The most memory this process ever held at once, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _load(path: Path) -> Iterator[Any]:
    with path.open("rb") as file, contextlib.suppress(EOFError):
        while True:
            yield pickle.load(file)


def replay_git(folder: Path) -> tuple[float, float, int, int]:
    """Make the recorded git calls again: (git's time, the calling process's, calls, those that ended otherwise)."""
    calls = sorted(_load(folder / "calls"), key=lambda call: call["order"])
    otherwise = 0
    ours = theirs = 0.0
    for call in calls:
        index = Path(call["env"].get("GIT_INDEX_FILE", "/nowhere"))
        if str(index) != "/nowhere":
            index.parent.mkdir(parents=True, exist_ok=True)
            index.unlink(missing_ok=True)
            if call["index"] is not None:
                index.write_bytes(call["index"])
        if "GIT_OBJECT_DIRECTORY" in call["env"]:
            Path(call["env"]["GIT_OBJECT_DIRECTORY"]).mkdir(parents=True, exist_ok=True)
        for name, content in call["files"].items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_bytes(content)
        before, children = time.process_time(), resource.getrusage(resource.RUSAGE_CHILDREN)
        feed = {"stdin": subprocess.DEVNULL} if call["feed"] is None else {"input": call["feed"]}
        done = subprocess.run(
            call["command"], env=call["env"], cwd=call["cwd"], capture_output=True, check=False, **feed
        )
        ours += time.process_time() - before
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        theirs += used.ru_utime + used.ru_stime - children.ru_utime - children.ru_stime
        if done.returncode != call["status"]:
            otherwise += 1
            if otherwise <= 3:
                print(
                    f"  ended otherwise: {call['command'][-4:]}: {done.stderr.decode()[:200]}",
                    file=sys.stderr,
                )
    return theirs, ours, len(calls), otherwise


def replay_sql(folder: Path, database: Path) -> tuple[float, float]:
    """Make the recorded transactions again: (processor time, wall time)."""
    statements = list(_load(folder / "sql"))
    connection = open_writer(database)
    cpu, wall = time.process_time(), time.monotonic()
    for text in statements:
        connection.execute(text)
    spent = time.process_time() - cpu, time.monotonic() - wall
    connection.close()
    return spent


def replay_http(folder: Path) -> tuple[float, int]:
    """Ask the models' stand-ins the recorded questions again and read the answers: (processor time, requests)."""
    asked = list(_load(folder / "http"))
    servers = {
        role: subprocess.Popen(
            [sys.executable, "-m", "navigator.rehearsal", "--role", role, "--time-scale", "0"],
            stdout=subprocess.PIPE,
        )
        for role in ("generator", "reviewer")
    }
    try:
        at = {
            role: json.loads(server.stdout.readline())["port"]
            for role, server in servers.items()
            if server.stdout
        }
        writer = next(json.loads(body)["model"] for *_, body in asked if body)

        async def ask() -> float:
            async with httpx.AsyncClient(timeout=60) as client:
                for port in at.values():
                    while (await client.get(f"http://127.0.0.1:{port}/health")).status_code != 200:
                        await asyncio.sleep(0.05)
                before = time.process_time()
                for method, path, body in asked:
                    role = "generator" if body and json.loads(body)["model"] == writer else "reviewer"
                    url = f"http://127.0.0.1:{at[role]}{path}"
                    async with client.stream(
                        method, url, content=body, headers={"Content-Type": "application/json"}
                    ) as response:
                        async for line in response.aiter_lines():
                            json.loads(line[6:] if line.startswith("data: {") else "0")
                return time.process_time() - before

        return asyncio.run(ask()), len(asked)
    finally:
        for server in servers.values():
            server.terminate()
            server.wait(10)


def _child(folder: Path, *words: str) -> dict[str, Any]:
    env = os.environ | {
        "NAVIGATOR_STATE": str(folder / "state"),
        "NAVIGATOR_CONFIG": str(folder / "config.toml"),
    }
    done = subprocess.run(
        [sys.executable, __file__, "--session", str(folder), *words],
        env=env,
        stdout=subprocess.PIPE,
        check=True,
    )
    return dict(json.loads(done.stdout))


def _put_back(folder: Path) -> None:
    shutil.rmtree(folder / "state")
    shutil.copytree(folder / "before", folder / "state", symlinks=True)


def main() -> None:
    """Prepare, run, replay, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=sized(1, 60, 300))
    parser.add_argument("--projects", type=int, default=sized(1, 6, 24))
    parser.add_argument("--profile", default="", help="write a profile of the conductor's own thread there")
    parser.add_argument("--session", default="", help=argparse.SUPPRESS)
    parser.add_argument("--plain", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.session:
        session(Path(chosen.session), record=not chosen.plain, profile=chosen.profile)
        return
    with tempfile.TemporaryDirectory(prefix="own-cost-") as name:
        folder = Path(name)
        (folder / "state").mkdir(mode=0o700)
        (folder / "config.toml").write_text(CONFIG)
        os.environ["NAVIGATOR_STATE"] = str(folder / "state")
        os.environ["NAVIGATOR_CONFIG"] = str(folder / "config.toml")
        paths = StatePaths(folder / "state").ensure()
        prepare(paths, projects=chosen.projects, tasks=chosen.tasks)
        with locked_dependencies(paths) as world:
            for project in world.reader.projects():
                world.repositories.private(project)
        shutil.copytree(folder / "state", folder / "before", symlinks=True)
        made = _child(folder, *(["--profile", chosen.profile] if chosen.profile else []))
        _put_back(folder)
        git_cpu, git_calling, calls, otherwise = replay_git(folder)
        sql_cpu, sql_wall = replay_sql(folder, paths.database)
        http_cpu, requests = replay_http(folder)
        _put_back(folder)
        plain = _child(folder, "--plain")
    tasks = sum(made["states"].values())
    _print(made, plain, tasks, git_cpu, git_calling, calls, otherwise, sql_cpu, sql_wall, http_cpu, requests)


def _print(
    made: dict[str, Any],
    plain: dict[str, Any],
    tasks: int,
    git_cpu: float,
    git_calling: float,
    calls: int,
    otherwise: int,
    sql_cpu: float,
    sql_wall: float,
    http_cpu: float,
    requests: int,
) -> None:
    def row(name: str, seconds: float, note: str = "") -> None:
        print(f"  {name:<34}{seconds:8.2f} s {seconds / tasks * 1000:8.2f} ms a task   {note}")

    in_git = sum(made["git"].values())
    own = plain["stages"]["session"] + plain["stages"]["decisions and landing"]
    print(f"{tasks} tasks: {made['states']}, {made['landed']} landed, {made['wall']:.0f} s by the clock")
    print("Processor time of the conductor, without git's:")
    for name, seconds in plain["stages"].items():
        row(name, seconds)
    print("  of which (measured while recording, which costs some itself):")
    for name, seconds in sorted(made["cpu"].items(), key=lambda pair: -pair[1]):
        count = made["calls"].get(name, 0)
        row(
            f"  {name}",
            seconds,
            f"{count} git calls, {made['git'].get(name, 0.0):.2f} s in git" if count else "",
        )
    row("git, in the session", in_git, f"{calls} calls, {calls / tasks:.1f} a task")
    print("Bare, alone:")
    row("git", git_cpu, f"{otherwise} ended otherwise than in the session")
    row("calling it", git_calling)
    row("SQLite", sql_cpu, f"{made['commits']} commits, {sql_wall:.2f} s by the clock")
    row("HTTP", http_cpu, f"{requests} requests")
    bare = git_cpu + git_calling + sql_cpu + http_cpu
    # git's own time is the same work on both sides, so the quieter measurement is used for both.
    ratio = (own + git_cpu) / bare
    row("Navigator", own + git_cpu, f"{ratio:.2f} times the bare calls (aim: {AIM_RATIO:g})")
    memory = plain["memory"]
    print(f"Memory of the conductor at its peak: {memory / 1e6:.0f} MB (aim: {AIM_MEMORY / 1e6:.0f})")


if __name__ == "__main__":
    main()
