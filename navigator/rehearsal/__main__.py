"""`python -m navigator.rehearsal`: one stand-in model server on loopback."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import ipaddress
import json
import os
import signal
import sys
from collections.abc import Sequence

from navigator.model.states import Role
from navigator.rehearsal import player
from navigator.rehearsal.server.api import Api, Player
from navigator.rehearsal.server.http import HttpServer
from navigator.rehearsal.server.timing import pace_of

PR_SET_PDEATHSIG = 1


def parser_of(prog: str = "python -m navigator.rehearsal") -> argparse.ArgumentParser:
    """The options that every server of a rehearsal has."""
    parser = argparse.ArgumentParser(
        prog=prog,
        description="A rehearsal of an SGLang model server. It plays the sample tasks; there is no model in it.",
    )
    parser.add_argument("--role", choices=[Role.GENERATOR.value, Role.REVIEWER.value], required=True)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free port; it is printed as JSON")
    parser.add_argument("--host", default="127.0.0.1", help="loopback only")
    parser.add_argument("--time-scale", type=float, default=1.0, help="factor on simulated time; 0: none")
    parser.add_argument("--seed", type=int, default=0, help="of the simulated probabilities")
    parser.add_argument("--max-running", type=int, default=8, help="requests served at once; more wait")
    parser.add_argument("--context-tokens", type=int, default=131_072)
    parser.add_argument("--parent", type=int, default=0, help="exit when this process is gone")
    parser.add_argument("--die-with-parent", action="store_true", help="ask the kernel for SIGTERM (Linux)")
    return parser


def parse_options(
    arguments: Sequence[str] | None = None, parser: argparse.ArgumentParser | None = None
) -> argparse.Namespace:
    """The command line; wrong use exits 2."""
    parser = parser or parser_of()
    options = parser.parse_args(arguments)
    if options.time_scale < 0:
        parser.error("--time-scale has to be 0 or more")
    if options.max_running < 1:
        parser.error("--max-running has to be at least 1")
    try:
        loopback = ipaddress.ip_address(options.host).is_loopback
    except ValueError:
        loopback = options.host == "localhost"
    if not loopback:
        parser.error("--host has to be a loopback address: a rehearsal is never served to others")
    return options


async def serve(options: argparse.Namespace, answer: Player, *, telling: bool = False) -> None:
    """Bind, say where, load, serve `answer` until SIGTERM or SIGINT, drain."""
    role = Role(options.role)
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    api = Api(
        role,
        pace_of(role, options.time_scale),
        answer,
        max_running=options.max_running,
        context_tokens=options.context_tokens,
        telling=telling,
        seed=options.seed,
    )
    server = HttpServer(api)
    await server.start(options.host, options.port)
    sys.stdout.write(json.dumps({"port": server.port}) + "\n")
    sys.stdout.flush()
    tasks = [asyncio.ensure_future(api.load())]
    if options.parent:
        tasks.append(asyncio.ensure_future(_watch_parent(options.parent, stop)))
    await stop.wait()
    api.draining = True
    await api.engine.drained()
    await server.close()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _watch_parent(pid: int, stop: asyncio.Event) -> None:
    """Set `stop` when process `pid` no longer exists. Looks twice a second."""
    while True:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            stop.set()
            return
        except PermissionError:
            pass  # It exists, under another user.
        await asyncio.sleep(0.5)


def _die_with_parent() -> None:
    """Ask Linux to send SIGTERM when the thread that started this process ends; elsewhere `--parent` has to do."""
    before = os.getppid()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != before:
        raise SystemExit(0)


def run(options: argparse.Namespace, answer: Player, *, telling: bool = False) -> None:
    """Serve until the process is told to end."""
    if options.die_with_parent:
        _die_with_parent()
    asyncio.run(serve(options, answer, telling=telling))


def main() -> None:
    """Entry point."""
    options = parse_options()
    run(options, player.answer)


if __name__ == "__main__":
    main()
