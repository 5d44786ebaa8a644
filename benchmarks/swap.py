"""What a swap by `swap/model-swap.sh` costs beside the plain commands; its phases with real servers; predictions.

    python benchmarks/swap.py [--tiny | --full] [--swaps N]   own share against `systemctl stop, start` and curl
    python benchmarks/swap.py --sglang 10            phases of that many swaps each way between two real SGLang servers
    python benchmarks/swap.py --llama 20             the same with two of llama.cpp's servers

Both need root and systemd: a manager of its own is started beside whatever runs as process 1. The first uses servers that hold no
model and are there at once, so that what is left is the script, systemd and Python starting. Navigator's own share is what a
swap takes beyond stop, load and warm-up (the phases stop, load and health). Aim: at most 0.5 s at the median.

The predictions are arithmetic, not measurements, and so is the published session of 30 changes with other swaps: the session
that the forecast plays, one stream at a time and 30 at once, up to the last review. Sizes: 22 GB (35B) and 69 GB (122B) of
weights. From disk: the published swap, less its weights at 3 GB/s, plus the weights at the rate given. Asleep: both models'
weights over the bus, one way each.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import workloads
from benchmarks.size import sized
from navigator.config.settings import Settings
from navigator.figures.intervals import summarise
from navigator.model.states import Role
from navigator.schedule.session import Session
from navigator.swap.base import SwapResult
from navigator.swap.strategies.systemd import SystemdStrategy
from tests.engines import llama, sglang
from tests.swap.desk import MODELS, UNITS, Desk
from tests.swap.engines import ALIASES, llama_desk, sglang_desk
from tests.swap.user_systemd import missing, user_systemd

AIM_SECONDS = 0.5
ENGINE = {"stop", "load", "health"}
WEIGHTS = {"35B": 22.0, "122B": 69.0}
PUBLISHED = {"35B -> 122B": ("122B", 42.7), "122B -> 35B": ("35B", 32.7)}
DISKS = (3.0, 7.0, 14.0)
BUSES = {"PCIe 4": 25.8, "PCIe 5": 50.0}
WAYS = (Role.REVIEWER, Role.GENERATOR)


def strategy(desk: Desk, models: dict[str, str]) -> SystemdStrategy:
    """Navigator's own, told about the desk's units."""
    roles = {role: {"model": models[role], "base_url": desk.url(role)} for role in UNITS}
    settings = Settings.model_validate({**roles, "swap": {"strategy": "systemd"}})
    return SystemdStrategy(settings, environment=desk.environment())


async def swaps(by: SystemdStrategy, count: int) -> dict[Role, list[SwapResult]]:
    """`count` swaps each way."""
    results: dict[Role, list[SwapResult]] = {role: [] for role in WAYS}
    first = await by.swap(Role.GENERATOR, lambda event: None)
    assert first.outcome == "done", first.reason
    for number in range(count):
        for to in WAYS:
            result = await by.swap(to, lambda event: None)
            if result.outcome != "done":  # said, and what was measured before is still shown
                print(f"{number + 1}/{count} to {to.value}: {result.outcome}, {result.reason}")
                return results
            results[to].append(result)
            print(f"{number + 1}/{count} to {to.value}: {result.seconds:.2f} s", file=sys.stderr)
    return results


def plain(desk: Desk, count: int) -> list[float]:
    """Seconds of the same change by three plain commands."""
    took = []
    origin, to = "generator", "reviewer"
    for _ in range(2 * count):
        began = time.perf_counter()
        words = (
            f"systemctl --user stop {UNITS[origin]} && systemctl --user start {UNITS[to]} && "
            f"until curl -q -sf --noproxy '*' {desk.url(to)}/health >/dev/null; do sleep 0.01; done"
        )
        subprocess.run(["bash", "-c", words], env=desk.manager.environment, check=True, timeout=60)
        took.append(time.perf_counter() - began)
        origin, to = to, origin
    return took


def own_share(result: SwapResult) -> float:
    """Seconds of a swap that are not the engine's."""
    return result.seconds - sum(phase.seconds for phase in result.phases if phase.name in ENGINE)


def report_own(folder: Path, count: int) -> tuple[bool, float]:
    """Own share against the plain commands; whether the aim is met, and the median seconds of a swap."""
    with user_systemd(folder / "home") as manager:
        (folder / "desk").mkdir()
        desk = Desk(manager, folder / "desk")
        by_script = [
            one for both in asyncio.run(swaps(strategy(desk, MODELS), count)).values() for one in both
        ]
        by_hand = plain(desk, count)
    whole = summarise([one.seconds for one in by_script])
    own = summarise([own_share(one) for one in by_script])
    bare = summarise(by_hand)
    assert whole is not None and own is not None and bare is not None
    print(f"{2 * count} swaps by the strategy: median {whole.median:.3f} s, P95 {whole.p95:.3f} s")
    print(f"{2 * count} by stop, start, curl:  median {bare.median:.3f} s, P95 {bare.p95:.3f} s")
    print(f"ratio {whole.median / bare.median:.2f}, {whole.median - bare.median:+.3f} s")
    print(
        f"own share (all but stop, load, health): median {own.median:.3f} s, P95 {own.p95:.3f} s; aim {AIM_SECONDS} s"
    )
    return own.median <= AIM_SECONDS, whole.median


def report_phases(folder: Path, count: int, engine: str) -> None:
    """A table of the phases, by direction, of swaps between two real servers on the CPU."""
    with user_systemd(folder / "home") as manager:
        (folder / "desk").mkdir()
        desk = Desk(manager, folder / "desk")
        (sglang_desk if engine == "SGLang" else llama_desk)(desk)
        results = asyncio.run(swaps(strategy(desk, ALIASES), count))
    print(
        f"Two real {engine} servers on the CPU, tiny random models: the phases' plumbing, no GPU's load times."
    )
    print("| to | phase | n | mean s | median s | P95 s |\n|---|---|---|---|---|---|")
    for to, done in results.items():
        phases: defaultdict[str, list[float]] = defaultdict(list)
        for one in done:
            for phase in one.phases:
                phases[phase.name].append(phase.seconds)
            phases["own share"].append(own_share(one))
            phases["whole"].append(one.seconds)
        for name, values in phases.items():
            if (found := summarise(values)) is not None:
                print(
                    f"| {to.value} | {name} | {len(values)} | {found.mean:.2f} | {found.median:.2f} | {found.p95:.2f} |"
                )


def session_with(swap: float, streams: int) -> str:
    """How long the published session takes with such a swap, and for which share of it the card waits for that."""
    scenario = replace(workloads.PUBLISHED, swap_in=swap, streams=(streams, streams))
    whole = Session(scenario.machine(), workloads.workload(scenario), until="idle").run().now
    return f"{whole:4.0f} s, {swap / whole:5.1%} of them a swap"


def predictions(measured: float | None) -> None:
    """Arithmetic, marked as such."""
    print("\nPredictions, not measurements (seconds; weights 22 and 69 GB):")
    for way, (model, published) in PUBLISHED.items():
        fixed = published - WEIGHTS[model] / DISKS[0]
        shown = ", ".join(f"{rate:g} GB/s: {fixed + WEIGHTS[model] / rate:.1f}" for rate in DISKS)
        print(
            f"  {way} from disk = {published} published - {WEIGHTS[model]:g}/3 + {WEIGHTS[model]:g}/rate: {shown}"
        )
    total = sum(WEIGHTS.values())
    shown = ", ".join(f"{bus} ({rate:g} GB/s): {total / rate:.1f}" for bus, rate in BUSES.items())
    print(f"  either way asleep = (22 + 69)/rate, host copies kept, buses one after the other: {shown}")
    _, published = PUBLISHED["35B -> 122B"]
    swaps = {"published": published, "weights at 7 GB/s": published - WEIGHTS["122B"] * (1 / 3 - 1 / 7)}
    swaps |= {f"asleep, {bus}": total / rate for bus, rate in BUSES.items()}
    swaps |= {"two adapters on one model": 0.0}
    swaps |= {"measured above, with servers that load nothing": measured} if measured is not None else {}
    for name, seconds in swaps.items():
        print(
            f"  30 changes, {name} ({seconds:.1f} s): {session_with(seconds, 1)}; 30 at once: {session_with(seconds, 30)}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--swaps", type=int, default=sized(1, 5, 20), help="each way, for the own share")
    parser.add_argument("--sglang", type=int, default=0, help="swaps each way between real SGLang servers")
    parser.add_argument("--llama", type=int, default=0, help="swaps each way between real llama-servers")
    options = parser.parse_args()
    reason = missing() or (options.sglang and sglang.missing()) or (options.llama and llama.missing())
    met, measured = True, None
    if reason:
        print(f"Not measured: {reason}.")
    else:
        with tempfile.TemporaryDirectory(prefix="nav-sd-") as folder:
            print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
            if options.sglang:
                report_phases(Path(folder), options.sglang, "SGLang")
            elif options.llama:
                report_phases(Path(folder), options.llama, "llama.cpp")
            else:
                met, measured = report_own(Path(folder), options.swaps)
    predictions(measured)
    if not (met or sized(True, False, False)):
        sys.exit(1)


if __name__ == "__main__":
    main()
