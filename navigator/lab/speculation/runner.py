"""Run a plan: start the server for each block and method, ask, count, write down, stop it.

Results are lines of JSON, added start by start: a start whose lines are there is not repeated, one that was cut off is repeated
whole. Servers are children of this process on loopback, ended by their process group.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from navigator.config.paths import write_private
from navigator.lab.runs import Recorder, add_lines, whole_lines
from navigator.lab.speculation.decide import decide
from navigator.lab.speculation.engines import ENGINES, Answer, Server
from navigator.lab.speculation.plan import Engine, Plan, SpeculationArm
from navigator.lab.speculation.runs import read_runs
from navigator.model.errors import Conflict, MissingPart, UsageError
from navigator.model.json_text import read_json
from navigator.process.runner import Process, start
from navigator.swap.machine import card_names

if TYPE_CHECKING:
    import httpx

_WARM_TOKENS = 32
_ANSWER_SECONDS = 600.0

Report = Callable[[str], None]


def measure(plan: Plan, out: Path, report: Report) -> None:
    """Measure what is missing in `out`.

    Args:
        plan: what to measure.
        out: the results; continued where they are of this plan.
        report: told of each start, in one line.

    Raises:
        Conflict: the results are of another plan.
        MissingPart: the server does not start, or does not answer as its kind does.
        UsageError: a text is shorter than a wanted prompt.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    done = finished(out, plan)
    left = [(block, arm) for block, arm in plan.order() if (block, *arm.key) not in done]
    for number, (block, arm) in enumerate(left, 1):
        began = time.monotonic()
        with _running(plan.engine, arm, out) as server:
            rows = list(_measured(plan, server, block, arm))
        add_lines(out, map(json.dumps, rows))
        speed = sum(row["tokens"] for row in rows) / sum(row["seconds"] for row in rows)
        took = time.monotonic() - began
        report(
            f"{len(done) + number} of {len(plan.order())}: block {block + 1}, {arm.name}: {speed:.1f} tok/s ({took:.0f} s)"
        )


def finished(out: Path, plan: Plan) -> set[tuple[int, str, str, int]]:
    """The starts whose results are all there: block, target, method, length. Lines of a start that was cut off are removed.

    Raises:
        Conflict: the results are of another plan.
    """
    try:
        rows = [read_json(line) for line in whole_lines(out)]
    except ValueError as error:
        raise UsageError(f"{out} cannot be read: {error}.", hint="Name another file with --out.") from error
    if any(not isinstance(row, dict) or row.get("plan") != plan.digest for row in rows):
        raise Conflict(
            f"{out} holds the results of another plan, or of this one before it was changed.",
            hint="Name another file with --out, or move this one away.",
        )
    starts = [(int(row["block"]), row["target"], row["draft"], row["gamma"]) for row in rows]
    counts = Counter(starts)
    done = {start for start, count in counts.items() if count == plan.answers_per_start}
    kept = [row for row, start in zip(rows, starts, strict=True) if start in done]
    if len(kept) < len(rows):
        write_private(out, "".join(json.dumps(row) + "\n" for row in kept).encode())
    return done


def _measured(plan: Plan, server: Server, block: int, arm: SpeculationArm) -> Iterator[dict[str, Any]]:
    prompts = list(_prompts(plan, server))
    version = server.version()
    # The first answer pays for what is made once: graphs, caches, page faults.
    server.answer(prompts[0][2], _WARM_TOKENS)
    for kind, length, ids in prompts:
        answer = server.answer(ids, plan.prompts.answer_tokens)
        yield _run_row(plan, arm, answer) | {
            "prompt": kind,
            "prompt_tokens": length,
            "block": str(block),
            "version": version,
            "card": card_names(),
        }


def _prompts(plan: Plan, server: Server) -> Iterator[tuple[str, int, list[int]]]:
    for kind, text in plan.texts.items():
        ids = server.tokenize(text)
        for length in plan.prompts.lengths:
            if len(ids) < length:
                raise UsageError(
                    f"The text for {kind} has {len(ids)} tokens, fewer than the {length} that the plan wants.",
                    hint="Give a longer text or a shorter length: a prompt that is not cut has another length than it says.",
                )
            yield kind, length, ids[:length]


def _run_row(plan: Plan, arm: SpeculationArm, answer: Answer) -> dict[str, Any]:
    counts = answer.counts
    return {
        "target": arm.target,
        "draft": arm.method,
        "gamma": arm.gamma,
        "speed": answer.tokens / answer.seconds,
        "tokens": answer.tokens,
        "seconds": answer.seconds,
        **{name: value if arm.gamma else None for name, value in asdict(counts).items()},
        "windows": answer.windows(),
        "output": hashlib.sha256(json.dumps(answer.ids).encode()).hexdigest()[:16] if answer.ids else None,
        "engine": plan.engine.kind,
        "about": plan.engine.about,
        "random_weights": plan.engine.random_weights,
        "arguments": list(arm.arguments),
        "plan": plan.digest,
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "status": "ok",
    }


@contextlib.contextmanager
def _running(engine: Engine, arm: SpeculationArm, out: Path) -> Iterator[Server]:
    """The server of one method, ready; ended with all its children. Its log lies beside the results."""
    import httpx

    kind, log = ENGINES[engine.kind], out.with_suffix(".log")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    words = [word.replace("{port}", str(port)) for word in arm.command]
    with log.open("wb") as stream:
        # Kept: what it starts ends with this command, however that ends. Left behind, it would hold the GPU's memory.
        process = start(
            [*words, *arm.arguments],
            stdout=stream,
            stderr=stream,
            kept=True,
        )
    try:
        # Loopback: a proxy in the environment has no business here.
        with httpx.Client(
            base_url=f"http://127.0.0.1:{port}", timeout=_ANSWER_SECONDS, trust_env=False
        ) as http:
            _wait(process, http, engine.ready_seconds, log, arm)
            yield kind(http)
    except httpx.HTTPError as error:
        raise MissingPart(
            f"The server for {arm.name} broke off: {error}. Its last words: {_last_words(log)}",
            hint=f"Its log: {log}. Run the command again: it repeats this start.",
        ) from error
    finally:
        process.end()


def _wait(process: Process, http: httpx.Client, seconds: float, log: Path, arm: SpeculationArm) -> None:
    import httpx

    deadline = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(httpx.HTTPError):
            if http.get("/health", timeout=30).status_code == 200:
                return
        time.sleep(0.1)
    if error := process.start_error():
        raise MissingPart(
            f"{arm.command[0]} cannot be started: {os.strerror(error)}.", hint="Correct the plan."
        )
    why = (
        f"ended with {process.returncode}"
        if process.poll() is not None
        else f"was not ready after {seconds:.0f} s"
    )
    raise MissingPart(
        f"The server for {arm.name} {why}. Its last words: {_last_words(log)}", hint=f"Its log: {log}"
    )


def _last_words(log: Path) -> str:
    last = log.read_text("utf-8", "replace").strip().splitlines()[-1:] or ["nothing"]
    return last[0][:300]


RANDOM = "The models have random weights: this tries the method, it says nothing about trained models."


def note_progress(record: Recorder, plan: Plan, results: Path) -> None:
    """Count the starts that are done, decide from them as far as that can be done."""
    record.progress(len(finished(results, plan)), len(plan.order()))
    if not results.exists():
        return
    runs = read_runs(results).runs
    sentences = []
    for target in dict.fromkeys(run.target for run in runs):
        try:
            sentences.append(decide([run for run in runs if run.target == target]).sentence)
        except MissingPart as missing:
            sentences.append(f"Nothing is decided yet. {missing.message}")
    random = RANDOM if plan.engine.random_weights else ""
    record.decided(" ".join(dict.fromkeys(sentences)), simulated=random)
