"""`python -m navigator.rehearsal`: one stand-in model server on loopback."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Sequence

from navigator.model.states import Role
from navigator.rehearsal import player
from navigator.rehearsal.api import Api
from navigator.rehearsal.engine import pace_of
from navigator.rehearsal.http import HttpServer


def parser_of(prog: str = "python -m navigator.rehearsal") -> argparse.ArgumentParser:
    """The options that every server of a rehearsal has."""
    parser = argparse.ArgumentParser(
        prog=prog,
        description="A rehearsal of an SGLang model server. It plays the sample tasks; there is no model in it.",
    )
    parser.add_argument("--role", choices=[Role.GENERATOR.value, Role.REVIEWER.value], required=True)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free port; it is printed as JSON")
    parser.add_argument("--time-scale", type=float, default=1.0, help="factor on simulated time; 0: none")
    return parser


def parse_options(
    arguments: Sequence[str] | None = None, parser: argparse.ArgumentParser | None = None
) -> argparse.Namespace:
    """The command line; wrong use exits 2."""
    parser = parser or parser_of()
    options = parser.parse_args(arguments)
    if options.time_scale < 0:
        parser.error("--time-scale has to be 0 or more")
    return options


async def serve(api: Api, port: int) -> None:
    """Bind on loopback, say where, load, serve until SIGTERM or SIGINT, drain."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    server = HttpServer(api)
    await server.start("127.0.0.1", port)
    sys.stdout.write(json.dumps({"port": server.port}) + "\n")
    sys.stdout.flush()
    loading = asyncio.ensure_future(api.load())
    await stop.wait()
    api.draining = True
    await api.engine.drained()
    await server.close()
    loading.cancel()
    await asyncio.gather(loading, return_exceptions=True)


def main() -> None:
    """Entry point."""
    options = parse_options()
    role = Role(options.role)
    api = Api(role, pace_of(role, options.time_scale), player.answer)
    asyncio.run(serve(api, options.port))


if __name__ == "__main__":
    main()
