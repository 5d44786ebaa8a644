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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from navigator.model.states import Role
from navigator.rehearsal.server.api import Api, Brain
from navigator.rehearsal.server.engine import Completion
from navigator.rehearsal.server.http import HttpServer
from navigator.rehearsal.server.timing import pace_of

PR_SET_PDEATHSIG = 1
DEFAULT_FAULT_RATE = 0.35

STRONG_FAULTS = 0.5
"""Share of the generator's fault rate that the reviewer's model has when it writes. Assumed."""

OWN_EYES = 0.2
"""Added to the generator's chance of overlooking a mistake when it reviews its own change. Assumed."""


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line; wrong use exits 2."""
    parser = argparse.ArgumentParser(
        prog="python -m navigator.rehearsal",
        description="A rehearsal of an SGLang model server. It works by rule; there is no model in it.",
    )
    parser.add_argument("--role", choices=[Role.GENERATOR.value, Role.REVIEWER.value], required=True)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free port; it is printed as JSON")
    parser.add_argument("--host", default="127.0.0.1", help="loopback only")
    parser.add_argument("--time-scale", type=float, default=1.0, help="factor on simulated time; 0: none")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fault-rate", type=float, default=DEFAULT_FAULT_RATE)
    parser.add_argument(
        "--skill",
        type=float,
        nargs=2,
        metavar=("SE", "SP"),
        help="sensitivity and specificity of its reviews",
    )
    parser.add_argument("--max-running", type=int, default=8, help="requests served at once; more wait")
    parser.add_argument("--context-tokens", type=int, default=131_072)
    parser.add_argument(
        "--garbage-while", metavar="FILE", help="answer garbage while FILE exists; /health stays well"
    )
    parser.add_argument(
        "--telling", action="store_true", help="simulated probabilities are lower where a fault was planted"
    )
    parser.add_argument("--parent", type=int, default=0, help="exit when this process is gone")
    parser.add_argument("--die-with-parent", action="store_true", help="ask the kernel for SIGTERM (Linux)")
    options = parser.parse_args(arguments)
    if options.time_scale < 0:
        parser.error("--time-scale has to be 0 or more")
    if not 0 <= options.fault_rate <= 1:
        parser.error("--fault-rate has to be between 0 and 1")
    if options.skill is not None and not all(0 <= share <= 1 for share in options.skill):
        parser.error("--skill takes two numbers between 0 and 1")
    if options.max_running < 1:
        parser.error("--max-running has to be at least 1")
    try:
        loopback = ipaddress.ip_address(options.host).is_loopback
    except ValueError:
        loopback = options.host == "localhost"
    if not loopback:
        parser.error("--host has to be a loopback address: a rehearsal is never served to others")
    return options


def make_brain(
    role: Role,
    *,
    seed: int = 0,
    fault_rate: float = DEFAULT_FAULT_RATE,
    skill: tuple[float, float] | None = None,
) -> Brain:
    """What answers for a role: either may be asked to write a change, and to review one.

    Imports the rules only when it is called: parsing Python needs a heavy library.

    Args:
        role: the reviewer writes with fewer faults, the generator overlooks more when it reviews.
        seed: another seed plants and overlooks other things.
        fault_rate: share of first answers that the generator spoils, 0 to 1.
        skill: sensitivity and specificity of reviews; None for those that follow from the kinds of mistakes.
    """
    from navigator.rehearsal.reading import read_review
    from navigator.rehearsal.reviewer.reviewer import Reviewer
    from navigator.rehearsal.writer.agent import AgentWriter, has_tools
    from navigator.rehearsal.writer.generator import Generator

    strong = role is Role.REVIEWER
    chance, rate = (seed + 1000, fault_rate * STRONG_FAULTS) if strong else (seed, fault_rate)
    writer, agents = Generator(seed=chance, fault_rate=rate), AgentWriter(seed=chance, fault_rate=rate)
    eyes = (seed, 0.0) if strong else (seed + 1000, OWN_EYES)
    reader = Reviewer(seed=eyes[0], blind=eyes[1], skill=skill)

    def answer(
        messages: Sequence[Mapping[str, str]],
        schema: dict[str, Any] | None = None,
        repeat: int = 0,
        temperature: float = 0.0,
    ) -> Completion:
        if has_tools(messages):
            return agents.answer(messages, temperature)
        asked_to_write = any("[[begin " in message["content"] for message in messages)
        if read_review(messages).diff or (strong and not asked_to_write):
            return reader.answer(messages, schema, repeat)
        return writer.answer(messages, schema, repeat, temperature)

    return answer


def spoilt_while(path: str | None, brain: Brain) -> Brain:
    """As `brain`, but token 0 of Qwen's vocabulary over and over while the file exists: what broken logits look like."""

    def answer(
        messages: Sequence[Mapping[str, str]],
        schema: dict[str, Any] | None = None,
        repeat: int = 0,
        temperature: float = 0.0,
    ) -> Completion:
        if path and Path(path).exists():
            return Completion("!" * 400)
        return brain(messages, schema, repeat, temperature)

    return answer


async def serve(options: argparse.Namespace) -> None:
    """Bind, say where, load, serve until SIGTERM or SIGINT, drain."""
    role = Role(options.role)
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    api = Api(
        role,
        pace_of(role, options.time_scale),
        spoilt_while(
            options.garbage_while,
            make_brain(role, seed=options.seed, fault_rate=options.fault_rate, skill=options.skill),
        ),
        max_running=options.max_running,
        context_tokens=options.context_tokens,
        telling=options.telling,
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


def main() -> None:
    """Entry point."""
    options = parse_options()
    if options.die_with_parent:
        _die_with_parent()
    asyncio.run(serve(options))


if __name__ == "__main__":
    main()
