"""A whole session with the servers on another machine, and a cable that is pulled now and then.

The servers are two real llama-servers with a tiny random model.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from navigator.config.paths import StatePaths
from navigator.engine.acting import reading
from tests.engines import llama
from tests.git.world import fingerprint, make_repo
from tests.swap.desk import SCRIPT, UNITS, Desk, wait_for
from tests.swap.engines import llama_desk
from tests.swap.ssh_server import HOST, SshServer
from tests.swap.test_real_engines import READABLE, TASKS, settings

pytestmark = [pytest.mark.engines, pytest.mark.slow, pytest.mark.xdist_group("systemd")]

CUTS = int(os.environ.get("NAVIGATOR_KILLS", "4"))


def test_a_session_outlives_lost_connections(
    desk: Desk, box: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reason := llama.missing():
        pytest.skip(reason)
    llama_desk(desk)
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Dev Eloper")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "dev@example.org")
    repos = [make_repo(tmp_path / f"thing{number}") for number in range(2)]
    before = [fingerprint(repo) for repo in repos]
    config = tmp_path / "navigator.toml"
    text = settings(desk, "llama").replace("http://127.0.0.1", "http://127.0.0.2")
    text = text.replace("edit | words | more", "edit", 1)  # so that few tasks are enough for a review
    text = text.replace("[swap.systemd]\n", f'[swap.systemd]\nhost = "{HOST}"\n')
    config.write_text(text.replace("[swap]\n", f'[swap]\nscript = "{SCRIPT}"\n'), "utf-8")
    environment = os.environ | box.client
    environment |= {"NAVIGATOR_CONFIG": str(config), "NAVIGATOR_STATE": str(tmp_path / "state")}

    def begin(*words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "navigator", *words, "--json"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def navigator(*words: str) -> Any:
        out, err = begin(*words).communicate(timeout=120)
        assert out, err.decode()
        return json.loads(out)

    for repo in repos:
        navigator("project", "add", str(repo))
    for task in TASKS[:2]:
        navigator("task", "add", "--all", task)
    # Until it is stopped: a session that ends with its work could end before the last cut.
    running = begin("run")
    for cut in range(CUTS):
        time.sleep(0.5)
        wait_for(box.connections)
        if cut == CUTS // 2:  # one that is away for a while
            box.stop()
            time.sleep(3.0)
            box.start()
        else:
            box.cut()
    paths = StatePaths(tmp_path / "state")

    def at_rest() -> bool:
        assert running.poll() is None
        with reading(paths) as store:
            return {task.state.value for task in store.tasks()} <= READABLE

    wait_for(at_rest, 200.0)
    navigator("run", "--stop")
    out, err = running.communicate(timeout=200)
    assert out, err.decode()
    session = json.loads(out)
    print(json.dumps(session), err.decode()[-2000:])
    failed = {task["reason"] for task in navigator("task", "list")["tasks"] if task["state"] == "failed"}
    print(*failed, sep="\n")

    assert set(session["states"]) <= READABLE, session["states"]
    assert sum(session["states"].values()) == 2 * len(repos)
    assert session["calls"]["running"] == 0
    assert session["states"].get("awaiting_approval")
    assert session["swaps"] >= 1
    with reading(paths) as store:
        assert [swap.reason for swap in store.swaps() if swap.outcome != "done"] == []
    # What failed has failed by what the random model wrote, not by a lost connection.
    assert all(reason and "connection" not in reason.lower() for reason in failed)
    assert [fingerprint(repo) for repo in repos] == before
    done = [line for line in desk.logged() if line.get("outcome")]
    assert {line["outcome"] for line in done} == {"done"}
    assert {line["to"] for line in done} == set(UNITS)
