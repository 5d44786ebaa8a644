"""Measure a model's step times, loading and release on this machine's GPU, and Navigator's own share of a swap.

    python benchmarks/gpu/measure.py FOLDER OUT.json [--only decode,verify]

FOLDER holds llama-server and steps (see build.sh) and the models: MODEL.gguf, and optionally MODEL-few.gguf (the same
with favoured experts), --draft and --pair. What is missing is left out, and the result says so. OUT.json is written
again after each measurement, so that a run that is cut short loses only the measurement it was in.

    decode   seconds of a step at 1 to 32 streams, beside what docs/scheduling.md makes of the single stream
    experts  distinct experts that a layer reads, beside the formula
    verify   seconds of a pass over gamma + 1 tokens, relative to one token: v(gamma)
    draft    seconds of a draft model's step, relative to the model's: c
    load     from start to ready and to the first token, page cache cold and warm; from SIGTERM to free memory
    swap     both ways by Navigator's strategies, beside the same requests without Navigator
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.gpu import swaps
from benchmarks.gpu.servers import Server, card, card_mib
from navigator.model.states import Role
from navigator.model.timing import CHOSEN, EXPERTS, distinct_experts
from navigator.rehearsal.engine import pace_of
from navigator.swap import page_cache

STREAMS = (1, 2, 4, 8, 16, 32)
GAMMAS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16)
VERIFY_STREAMS = (1, 8)
DEPTHS = (512, 8192)
RELEASED_MIB = 256
"""Memory counts as free when no more than this is taken beyond what was taken before the start."""


@dataclass
class Run:
    """One run: its options, and the result as far as it is known."""

    folder: Path
    out: Path
    model: str
    draft: str
    pair: tuple[str, str]
    repeats: int
    loads: int
    swaps: int
    depths: tuple[int, ...]
    layers: int
    threads: int
    text: str
    server: tuple[str, ...]
    document: dict[str, Any] = field(default_factory=dict)

    def path(self, name: str) -> Path:
        """A model's file."""
        return self.folder / f"{name}.gguf"

    def keep(self, part: str, value: Any) -> None:
        """Add a finding and write everything found so far."""
        self.document.setdefault(part, []).append(value)
        partial = self.out.with_suffix(".part")
        partial.write_text(json.dumps(self.document, indent=1) + "\n", encoding="utf-8")
        partial.replace(self.out)
        print(part, json.dumps(value), flush=True)

    def steps(self, part: str, name: str, **options: Any) -> list[dict[str, Any]]:
        """Run `steps` on a model and keep each of its lines as it comes."""
        words = [str(self.folder / "steps"), str(self.path(name))]
        options = {"layers": self.layers, "threads": self.threads, "repeats": self.repeats} | options
        for key, value in options.items():
            if value is not False and value != "":
                said = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
                words += [f"--{key.replace('_', '-')}", *([] if value is True else [said])]
        found = []
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                found.append({"file": name, **json.loads(line)})
                self.keep(part, found[-1])
        if process.returncode:
            self.keep(part, {"file": name, "failed": process.returncode, "command": words[2:]})
        return [line for line in found if "streams" in line]


def decode(run: Run) -> None:
    """Steps at several streams, for each router; beside the model's curve through the measured single stream."""
    for name in present(run, run.model, f"{run.model}-few"):
        lines = run.steps("decode", name, depths=run.depths, streams=STREAMS, text=run.text)
        for depth in run.depths:
            times = {line["streams"]: line["median_ms"] / 1e3 for line in lines if line["depth"] == depth}
            if 1 in times:
                total, chosen = routing(run.path(name))
                found = {"file": name, "depth": depth}
                found |= curve(times, modelled=(total, chosen) == (EXPERTS, CHOSEN))
                run.keep("decode_summary", found | {"fitted_shares": fitted(times, total, chosen)})


def curve(times: dict[int, float], *, modelled: bool) -> dict[str, Any]:
    """Tokens a second of all streams: measured, and what docs/scheduling.md makes of the measured single stream.

    The model speaks of the generator alone; other shapes get no modelled figures.
    """
    assumed = pace_of(Role.GENERATOR, 1.0).model
    found: dict[str, Any] = {"measured": {n: round(n / seconds, 1) for n, seconds in times.items()}}
    if modelled:
        scaled = replace(assumed, decode=1 / times[1])
        found["modelled"] = {n: round(n * scaled.stream_speed(n), 1) for n in times}
    return found


def fitted(times: dict[int, float], total: int, chosen: int) -> dict[str, float] | None:
    """The shares of experts and of each stream's own work that fit the measured steps best, by relative least squares.

    None where there are too few streams, or no experts. A share below zero is held at zero and the other one fitted.
    """
    if not total or len(times) < 4:
        return None
    rows = []
    for n, seconds in times.items():
        ratio = seconds / times[1]
        grown = distinct_experts(n, total, chosen) / chosen - 1
        rows.append((grown / ratio, (n - 1) / ratio, (ratio - 1) / ratio))
    xx, yy, xy = (
        sum(x * x for x, _, _ in rows),
        sum(y * y for _, y, _ in rows),
        sum(x * y for x, y, _ in rows),
    )
    xz, yz = sum(x * z for x, _, z in rows), sum(y * z for _, y, z in rows)
    bound = xx * yy - xy * xy
    expert, own = (xz * yy - yz * xy) / bound, (yz * xx - xz * xy) / bound
    if expert < 0:
        expert, own = 0.0, max(0.0, yz / yy)
    elif own < 0:
        expert, own = max(0.0, xz / xx), 0.0
    worst = max(abs(z - expert * x - own * y) for x, y, z in rows)
    return {"experts": round(expert, 4), "stream": round(own, 4), "worst_relative_error": round(worst, 3)}


def experts(run: Run) -> None:
    """Distinct experts of a pass: counted, and by the formula for independent, even choices."""
    for name in present(run, run.model, f"{run.model}-few"):
        lines = run.steps(
            "experts", name, depths=(512,), streams=STREAMS, text=run.text, experts=True, repeats=5
        )
        lines += run.steps(
            "experts", name, depths=(512,), gammas=(1, 4, 8, 16), text=run.text, experts=True, repeats=5
        )
        total, chosen = routing(run.path(name))
        if not total:
            continue
        for line in lines:
            tokens = line["streams"] * (line["gamma"] + 1)
            expected = distinct_experts(tokens, total, chosen)
            found = {"file": name, "streams": line["streams"], "gamma": line["gamma"], "tokens": tokens}
            run.keep(
                "experts_summary",
                found | {"counted": line["distinct_experts"], "formula": round(expected, 3), "of": total},
            )


def routing(path: Path) -> tuple[int, int]:
    """How many experts a layer has and how many a token picks, from the file's header; 0 where it does not say."""
    with path.open("rb") as file:
        header = file.read(1 << 20)

    def number(key: bytes) -> int:
        # A key is followed by its type, 4 for 32 bits without a sign, and the value.
        found = re.search(rb"\." + key + rb"\x04\x00\x00\x00(....)", header, re.DOTALL)
        return int.from_bytes(found[1], "little") if found else 0

    return number(b"expert_count"), number(b"expert_used_count")


def verify(run: Run) -> None:
    """v(gamma): a pass over gamma + 1 tokens, relative to a plain step of as many streams."""
    for name in present(run, run.model, f"{run.model}-few"):
        lines = run.steps(
            "verify", name, depths=run.depths, streams=VERIFY_STREAMS, gammas=GAMMAS, text=run.text
        )
        for depth in run.depths:
            for streams in VERIFY_STREAMS:
                took = {
                    line["gamma"]: line["median_ms"]
                    for line in lines
                    if (line["depth"], line["streams"]) == (depth, streams)
                }
                if 0 in took:
                    ratios = {gamma: round(ms / took[0], 3) for gamma, ms in took.items()}
                    run.keep(
                        "verify_summary", {"file": name, "depth": depth, "streams": streams, "v": ratios}
                    )


def draft(run: Run) -> None:
    """c: a draft model's step relative to the model's, both plain and at the same streams and depth."""
    for name in present(run, run.draft):
        lines = run.steps("draft", name, depths=run.depths, streams=VERIFY_STREAMS, text=run.text)
        whole = {
            (line["depth"], line["streams"]): line["median_ms"]
            for line in run.document.get("decode", [])
            if line["file"] == run.model and "streams" in line
        }
        for line in lines:
            place = line["depth"], line["streams"]
            if place in whole:
                ratio = round(line["median_ms"] / whole[place], 3)
                run.keep("draft_summary", {"file": name, "depth": place[0], "streams": place[1], "c": ratio})


def load(run: Run) -> None:
    """Start, first token and release, with the page cache cold and warm in turns."""
    for name in present(run, run.model, *run.pair):
        path = run.path(name)
        for _ in range(run.loads):
            for state in ("cold", "warm"):
                if state == "cold":
                    with path.open("rb") as file:
                        os.fsync(file.fileno())  # a page that is not written yet stays
                        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                else:
                    with path.open("rb", buffering=0) as file:
                        while file.read(1 << 24):
                            pass
                held = page_cache.residency([path])
                if state == "cold" and held.known and held.share > 0.01:
                    continue  # in memory for good: a tmpfs has no cold file
                found = {
                    "file": name,
                    "bytes": path.stat().st_size,
                    "state": state,
                    "in_page_cache": round(held.share, 3) if held.known else None,
                }
                run.keep("load", found | one_load(run, path))
        for state in ("cold", "warm"):
            rows = [
                row
                for row in run.document["load"]
                if (row["file"], row["state"]) == (name, state) and "failed" not in row
            ]
            keys = ("ready_seconds", "first_token_seconds", "exit_seconds", "memory_free_seconds")
            summary = {key: spread([row[key] for row in rows if row[key] is not None]) for key in keys}
            run.keep("load_summary", {"file": name, "state": state, **summary})


def one_load(run: Run, path: Path) -> dict[str, Any]:
    """Seconds from the start of a server until it is ready and until its first token; then until its memory is free."""
    before = card_mib()
    words = ["--model", str(path), *run.server]
    with Server(run.folder, words, run.layers, run.threads) as server:
        if not server.ready(600):
            return {"failed": server.last_words()}
        ready = server.seconds()
        first = first_token(server.url)
        taken = card_mib()
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        ended = free = None
        while time.monotonic() - began < 60 and (ended is None or (free is None and before is not None)):
            if ended is None and server.process.poll() is not None:
                ended = round(time.monotonic() - began, 3)
            if before is None:
                time.sleep(0.005)
            elif free is None and (now := card_mib()) is not None and now <= before + RELEASED_MIB:
                free = round(time.monotonic() - began, 3)
        return {
            "ready_seconds": round(ready, 3),
            "first_token_seconds": round(first, 4),
            # Looks at the card take turns with looks at the process, and a look takes some hundredths of a second.
            "exit_seconds": ended,
            "memory_free_seconds": free,
            "card_mib_before": before,
            "card_mib_taken": taken,
        }


def first_token(url: str) -> float:
    """Seconds from a short request until its first token."""
    body = json.dumps({"prompt": "def main", "n_predict": 2, "stream": True, "ignore_eos": True}).encode()
    began = time.monotonic()
    with urllib.request.urlopen(f"{url}/completion", data=body, timeout=120) as answer:
        for line in answer:
            if line.startswith(b"data:"):
                return time.monotonic() - began
    raise RuntimeError("the server answered without a token")


def swap(run: Run) -> None:
    """Swaps both ways between the pair."""
    if len(present(run, *run.pair)) < 2:
        return
    for found in swaps.measure(run.folder, run.pair, run.swaps, run.layers, run.threads):
        run.keep("swap", found)
    rows = run.document.get("swap", [])
    medians: dict[tuple[str, str], float] = {}
    for strategy in dict.fromkeys(row["strategy"] for row in rows):
        for to in ("reviewer", "generator"):
            these = [row for row in rows if (row["strategy"], row["to"]) == (strategy, to)]
            done = [row for row in these if row["outcome"] == "done"]
            keys = sorted({key for row in done for key in row if key.endswith("seconds")})
            run.keep(
                "swap_summary",
                {"strategy": strategy, "to": to, "tried": len(these)}
                | {key: spread([row[key] for row in done if key in row]) for key in keys},
            )
            if done:
                medians[strategy, to] = statistics.median(row["seconds"] for row in done)
    for to in ("reviewer", "generator"):
        if ("managed", to) in medians and (swaps.PLAIN, to) in medians:
            own = medians["managed", to] - medians[swaps.PLAIN, to]
            run.keep("swap_own_share", {"strategy": "managed", "to": to, "seconds": round(own, 4)})


PARTS: dict[str, Callable[[Run], None]] = {
    "decode": decode,
    "experts": experts,
    "verify": verify,
    "draft": draft,
    "load": load,
    "swap": swap,
}


def present(run: Run, *names: str) -> list[str]:
    """Those of the models that are there; the others are noted once."""
    found = []
    for name in dict.fromkeys(names):
        if run.path(name).is_file():
            found.append(name)
        elif name not in run.document.get("left_out", []):
            run.keep("left_out", name)
    return found


def spread(values: list[float]) -> dict[str, float] | None:
    """n, median, least and greatest; None of nothing."""
    if not values:
        return None
    return {
        "n": len(values),
        "median": round(statistics.median(values), 4),
        "least": min(values),
        "greatest": max(values),
    }


def machine(folder: Path) -> dict[str, Any]:
    """What was measured on, and when."""
    said = subprocess.run(
        [str(folder / "llama-server"), "--version"], capture_output=True, text=True, timeout=60, check=False
    )
    pin = Path(__file__).parents[2] / "engines" / "llama-cpp-python.txt"
    version = re.search(r"==([0-9.]+)", pin.read_text("utf-8"))
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "card": card(),
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "engine": f"llama.cpp in llama-cpp-python {version[1] if version else '?'}",
        "engine_says": [
            line for line in (said.stdout + said.stderr).splitlines() if line.startswith("version")
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--only", default=",".join(PARTS), help="parts, in the order they are to be measured in"
    )
    parser.add_argument("--model", default="qwen3.5-35b-a3b")
    parser.add_argument("--draft", default="qwen3-0.6b")
    parser.add_argument(
        "--pair", default="pair-a,pair-b", help="two models for the swaps: generator, reviewer"
    )
    parser.add_argument("--repeats", type=int, default=20, help="passes a measurement")
    parser.add_argument("--loads", type=int, default=3, help="loads of a model, cold and warm each")
    parser.add_argument("--swaps", type=int, default=30, help="swaps each way and strategy")
    parser.add_argument("--depths", default=",".join(map(str, DEPTHS)), help="tokens already in the context")
    parser.add_argument("--layers", type=int, default=999, help="layers on the GPU; 0 for none")
    parser.add_argument("--threads", type=int, default=min(8, os.cpu_count() or 1))
    parser.add_argument("--text", default="", help="a file whose tokens are used instead of random ones")
    parser.add_argument("--server", default="", help="more words for the server whose load is measured")
    options = parser.parse_args()
    generator, reviewer = options.pair.split(",")
    run = Run(
        folder=options.folder.resolve(),
        out=options.out,
        model=options.model,
        draft=options.draft,
        pair=(generator, reviewer),
        repeats=options.repeats,
        loads=options.loads,
        swaps=options.swaps,
        depths=tuple(int(depth) for depth in options.depths.split(",")),
        layers=options.layers,
        threads=options.threads,
        text=options.text,
        server=tuple(options.server.split()),
    )
    run.document["machine"] = machine(run.folder)
    run.document["options"] = {
        key: getattr(run, key)
        for key in ("model", "draft", "pair", "depths", "layers", "threads", "text", "server")
    }
    unknown = set(options.only.split(",")) - PARTS.keys()
    if unknown:
        parser.error(f"no part named {', '.join(sorted(unknown))}")
    for part in options.only.split(","):
        began = time.monotonic()
        PARTS[part](run)
        run.keep("took", {"part": part, "seconds": round(time.monotonic() - began, 1)})


if __name__ == "__main__":
    main()
