"""Two real servers under a real systemd, and Navigator working through them: a whole cycle, and a swap's worst moments.

The servers run on the CPU with a tiny random model (see `tests/swap/engines.py`). Of what the generator may write, a third is a
well-formed edit, by a grammar; the rest is nonsense that must end where a person can read why. The cycle is run with llama.cpp's
server, in seconds, and shorter with SGLang.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.engines import llama, sglang
from tests.git.world import fingerprint, make_repo
from tests.swap.desk import UNITS, Desk, wait_for
from tests.swap.engines import ALIASES, CONTEXT, llama_desk, sglang_desk
from tests.swap.streams import Stream
from tests.swap.user_systemd import UserSystemd

pytestmark = [
    pytest.mark.engines,
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.xdist_group("systemd"),
]

TOKENIZER = Path(__file__).parents[1] / "client" / "data" / "tokenizer"
TASKS = ("Add a function three().", "Raise LIMIT.", "Explain the README.", "Name the colours.", "Add a note.")
GRAMMAR = (
    "root ::= edit | words | more\n"
    'edit ::= "A note.\\n\\nnotes/" [a-z]{12} ".txt\\n<<<<<<< SEARCH\\n=======\\n" [a-z ]{1,30} "\\n>>>>>>> REPLACE\\n"\n'
    'words ::= "I " [a-z ]{1,30} "."\n'
    'more ::= "We " [a-z ]{1,30} "."\n'
)
READABLE = {"failed", "awaiting_approval"}


# Where a string ends is not the schema's to say; a random model would write each to its bound.
BODIES = {
    # Only edits: an answer takes seconds, so there are few tasks, and one of them is to reach the reviewer.
    "sglang": (f"ebnf = {json.dumps(GRAMMAR.replace('edit | words | more', 'edit', 1))}", ""),
    "llama": (f"grammar = {json.dumps(GRAMMAR)}", """logit_bias = [['"', 5.0]]"""),
}


@pytest.fixture(scope="module")
def real(manager: UserSystemd, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Two units of SGLang, for every test of this file."""
    if reason := sglang.missing():
        pytest.skip(reason)
    desk = Desk(manager, tmp_path_factory.mktemp("real"))
    sglang_desk(desk)
    yield desk
    desk.clear()


def settings(desk: Desk, engine: str) -> str:
    """Both roles at one address, as on one GPU."""
    server = (
        f'base_url = "{desk.url("generator")}"\ncontext_tokens = {CONTEXT}\ntemperature = 1.0\ntop_p = 1.0\n'
    )
    writes, reviews = BODIES[engine]
    return (
        f'[generator]\nmodel = "{ALIASES["generator"]}"\n{server}max_tokens = 200\ntokenizer = "{TOKENIZER}"\n'
        f"[generator.extra_body]\n{writes}\n"
        f'[reviewer]\nmodel = "{ALIASES["reviewer"]}"\n{server}max_tokens = 3000\n'
        f"[reviewer.extra_body]\n{reviews}\n"
        '[swap]\nstrategy = "systemd"\n[swap.systemd]\nload_seconds = 300\n'
        "[batch]\nmax_wait_minutes = 0\nquiet_minutes = 0\nrevisions = 1\n"
        "[canary]\nenabled = false\n"  # random weights: it finds that they write garbage, and it is right
    )


def test_a_cycle_with_llama_servers(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := llama.missing():
        pytest.skip(reason)
    llama_desk(desk)
    whole_cycle(desk, "llama", tmp_path, monkeypatch, texts=TASKS, projects=4, send_back=6)


def test_a_cycle_with_sglang(real: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole_cycle(real, "sglang", tmp_path, monkeypatch, texts=TASKS[:2], projects=3, send_back=0)


def whole_cycle(
    real: Desk,
    engine: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    texts: Sequence[str],
    projects: int,
    send_back: int,
) -> None:
    """Write, swap, review; send some back, swap, revise, swap, review: tasks in several repositories, none of them lost."""
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Dev Eloper")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "dev@example.org")
    repos = [make_repo(tmp_path / f"thing{number}") for number in range(projects)]
    before = [fingerprint(repo) for repo in repos]
    config = tmp_path / "navigator.toml"
    config.write_text(settings(real, engine), "utf-8")
    environment = (
        os.environ
        | real.manager.environment
        | {
            "NAVIGATOR_CONFIG": str(config),
            "NAVIGATOR_STATE": str(tmp_path / "state"),
            "NAVIGATOR_SWAP_LOCK": real.settings["LOCK"],
            "NAVIGATOR_SWAP_LOG": real.settings["LOG"],
        }
    )

    def navigator(*words: str, codes: tuple[int, ...] = (0,)) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "navigator", *words, "--json"],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=900,
        )
        assert done.returncode in codes, done.stderr.decode()
        return json.loads(done.stdout)

    for repo in repos:
        navigator("project", "add", str(repo))
    for text in texts:
        navigator("task", "add", "--all", text)
    total = len(texts) * projects
    session = navigator("run", "--until", "idle", codes=(0, 1))
    print(json.dumps(session))

    assert set(session["states"]) <= READABLE
    assert sum(session["states"].values()) == total
    tasks = navigator("task", "list")["tasks"]
    assert len(tasks) == total
    assert all(task["reason"] for task in tasks if task["state"] == "failed")
    assert session["calls"]["lost"] == 0
    assert session["failed_swaps"] == 0
    assert session["swaps"] >= 1
    assert not session["rehearsal"]
    # Answers under a schema were read: what is not UNREVIEWED parsed, and of an answer cut off at max_tokens nothing is.
    verdicts = Counter(session["verdicts"])
    assert verdicts["approve"] + verdicts["revise"] >= 1

    if send_back:
        # Random findings stand on no quoted line, so no reviewer sends a thing back; the developer does, and it goes round again.
        open_ones = [row["id"] for row in navigator("proposals")["proposals"] if row["state"] == "open"]
        navigator("send-back", *open_ones[:send_back], "--note", "Say it in other words.")
        again = navigator("run", "--until", "idle", codes=(0, 1))
        print(json.dumps(again))
        assert set(again["states"]) <= READABLE
        assert sum(again["states"].values()) == total
        assert again["failed_swaps"] == 0
        assert again["swaps"] >= 1
        assert again["calls"]["lost"] == 0
    assert [fingerprint(repo) for repo in repos] == before
    done = [line for line in real.logged() if line.get("outcome")]
    assert [line["outcome"] for line in done] == ["done"] * len(done)
    assert {line["to"] for line in done} == set(UNITS)


def resident(desk: Desk) -> tuple[str, str]:
    """Who answers now, and the other."""
    role = json.loads(desk.swap("status", "--json").out)["resident"]
    if role is None:
        assert desk.swap("generator").code == 0
        role = "generator"
    return role, next(other for other in UNITS if other != role)


def long_answer(rid: str, tokens: int) -> dict[str, object]:
    return {
        "model": "any",
        "rid": rid,
        "messages": [{"role": "user", "content": "go on"}],
        "max_tokens": tokens,
        "ignore_eos": True,
    }


def test_a_stream_in_flight_completes(real: Desk) -> None:
    here, there = resident(real)
    stream = Stream(real, here, long_answer("mine", 800))
    wait_for(lambda: stream.events > 5)
    done = real.swap(there)
    assert done.code == 0, done.err
    stream.thread.join(60)
    assert stream.whole
    assert '"finish_reason":"length"' in stream.last.replace(" ", "")
    assert real.state(here) == "inactive"


def test_a_stream_that_outlasts_the_drain_is_aborted_by_its_id(real: Desk) -> None:
    here, there = resident(real)
    stream = Stream(real, here, long_answer("mine", 12000))
    wait_for(lambda: stream.events > 5)
    done = real.swap(there, DRAIN_SECONDS="1", RIDS="mine")
    assert done.code == 0, done.err
    assert "1 by id" in done.detail("drain")
    assert "then all" not in done.detail("drain")
    stream.thread.join(60)
    assert '"abort"' in stream.last


def test_a_scheduler_that_is_killed(real: Desk) -> None:
    """The server goes down with it, and the swap that follows finds nothing to wait for."""
    here, there = resident(real)
    children = Path(f"/proc/{real.manager.main_pid(UNITS[here])}/task").glob("*/children")
    pids = [int(pid) for file in children for pid in file.read_text().split()]
    (scheduler,) = [pid for pid in pids if "scheduler" in Path(f"/proc/{pid}/cmdline").read_text()]
    os.kill(scheduler, signal.SIGKILL)
    done = real.swap(there, DRAIN_SECONDS="30")
    assert done.code == 0, done.err
    assert json.loads(real.swap("status", "--json").out)["resident"] == there
