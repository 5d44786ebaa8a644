"""Both roles behind a model gateway each, before two real llama-servers each: the contract, and a worker that is killed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.engines.gateway import gateway, missing
from tests.engines.test_llama_loop import AN_EDIT, configured, environment_of
from tests.git.world import fingerprint, make_repo
from tests.swap.desk import quiet_port

pytestmark = [pytest.mark.engines, pytest.mark.slow, pytest.mark.xdist_group("engines")]


SHORT_STRINGS = "logit_bias = {4 = 5.0}"
"""Quotation marks, by number: a gateway knows no tokenizer."""


def test_no_task_is_lost_with_two_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session with two gateways; of each role one worker is killed while it works. Its metrics are scraped meanwhile."""
    if reason := missing():
        pytest.skip(reason)
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Dev Eloper")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "dev@example.org")
    repo = make_repo(tmp_path / "thing")
    before = fingerprint(repo)
    address = f"127.0.0.1:{quiet_port()}"
    with gateway(tmp_path / "writers") as writers, gateway(tmp_path / "readers") as readers:
        navigator = configured(tmp_path, writers.url, AN_EDIT, SHORT_STRINGS, reviewer_url=readers.url)
        with (tmp_path / "navigator.toml").open("a") as file:
            file.write(f'[metrics]\nlisten = "{address}"\n')
        navigator("project", "add", str(repo))
        for number in range(TASKS):
            navigator("task", "add", repo.name, f"Add note {number}.")
        running = subprocess.Popen(
            [sys.executable, "-m", "navigator", "run", "--until", "idle", "--json"],
            env=environment_of(tmp_path),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        scrapes, left = [], {"generator": writers, "reviewer": readers}
        while running.poll() is None:
            time.sleep(0.02)
            if samples := scraped(address):
                scrapes.append(samples)
                for role in [role for role in left if samples["navigator_running", role] > 0]:
                    left.pop(role).workers[0].process.kill()
        out, err = running.communicate()
        session = json.loads(out)
        print(json.dumps(session), err.decode()[-1500:])
    assert left == {}
    assert session["states"] == {"awaiting_approval": TASKS}
    assert sum(session["verdicts"].values()) == TASKS
    # The schema holds through the gateway. The model is random: what it says fills it, and an answer may be cut off.
    assert session["verdicts"]["approve"] + session["verdicts"]["revise"] > 0
    assert session["calls"]["running"] == 0
    assert max(samples["navigator_queue_depth", "generator"] for samples in scrapes) > 0
    assert [scrapes[-1]["navigator_resident", role] for role in ("generator", "reviewer")] == [1.0, 1.0]
    assert fingerprint(repo) == before


TASKS = 12
"""More than are asked at once, so that some wait."""


def scraped(address: str) -> dict[tuple[str, str], float]:
    """Gauges by name and role; nothing while nobody listens."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://{address}/metrics", timeout=10) as answer:
            text = answer.read().decode()
    except OSError:
        return {}
    return {
        (sample.name, sample.labels["role"]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if family.type == "gauge"
    }
