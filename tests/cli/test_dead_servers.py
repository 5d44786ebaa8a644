"""Servers that do not answer are named in the first seconds, with address, reason and remedy, and the exit code is 1."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.cli.boxes import Box, serving
from tests.cli.conftest import Command

REFUSED = "No server answers at 127.0.0.1:9: connection refused."


def settings(command: Command, address: str, *, model: str = "gen-model", more: str = "") -> None:
    roles = "".join(
        f'[{role}]\nmodel = "{model}"\nbase_url = "http://{address}"\n{more}'
        for role in ("generator", "reviewer")
    )
    command.config.write_text(f'{roles}[swap]\nstrategy = "resident"\n')


def test_a_session_without_servers_ends_soon_and_says_why(command: Command, repository: Path) -> None:
    settings(command, "127.0.0.1:9")
    command.run("project", "add", str(repository))
    command.run("task", "add", "thing", "Do it")
    began = time.monotonic()
    done = command.run("run", "--until", "idle", code=1)
    assert time.monotonic() - began < 40  # the retries of one call alone would take the rest of a minute
    assert REFUSED in done.stderr and "base_url" in done.stderr
    assert REFUSED in " ".join(done.stdout.split())
    told = " ".join(command.run("report").stdout.split())
    assert f"the generator's server: {REFUSED}" in told and "went wrong" in told
    problems = command.json("run", "--until", "idle", code=1)["problems"]
    assert sorted(problems) == ["generator", "reviewer"] and REFUSED in problems["generator"]


def test_everything_says_the_same_sentence(command: Command) -> None:
    settings(command, "127.0.0.1:9")
    assert REFUSED in command.run("swap", "to", "generator", code=1).stdout
    status = command.run("swap", "status").stdout
    assert f"generator: {REFUSED}" in status and "resident: nothing" in status
    doctor = {item["name"]: item for item in command.json("doctor", code=3)["items"]}
    assert doctor["generator"]["found"] == REFUSED


def test_a_rejected_key_and_a_wrong_model_have_their_own_sentences(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = Box("sglang", ("X/gen-model",), key="right")

    def found() -> tuple[str, str, str]:
        item = next(i for i in command.json("doctor", code=3)["items"] if i["name"] == "generator")
        return item["state"], item["found"], item["hint"]

    with serving(box):
        address = box.url.removeprefix("http://")
        settings(command, address)
        state, said, hint = found()
        assert (state, said) == ("missing", f"{address} requires an API key (HTTP 401).")
        assert "api_key_env" in hint
        monkeypatch.setenv("SOME_KEY", "wrong")
        settings(command, address, more='api_key_env = "SOME_KEY"\n')
        state, said, hint = found()
        assert (state, said) == ("missing", f"{address} rejected the API key (HTTP 401).")
        assert "SOME_KEY" in hint
        monkeypatch.setenv("SOME_KEY", "right")
        state, said, hint = found()
        assert (state, said.rpartition(",")[2]) == ("missing", " not gen-model.")
        assert said.startswith(f"{address} serves X/gen-model,")
        assert "`model`" in hint
