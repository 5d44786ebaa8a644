"""Looks through llama.cpp: the model asks for lines, is shown them, and the server reads only what is new of the conversation.

A grammar makes a model with random weights write LOOK blocks. The conductor is killed once the second one is stored; the one
that follows has a grammar for an edit, and takes the conversation up where it was.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from navigator.model.states import LookOutcome, Role
from navigator.store.database import open_reader
from navigator.store.reads.reader import Reader
from tests.engines.conftest import wait_until_idle
from tests.engines.llama import Server
from tests.engines.test_llama_loop import AN_EDIT, SHORT_STRINGS, configured, environment_of
from tests.git.world import make_repo
from tests.journey.killed_at import KILLED_AT

pytestmark = [pytest.mark.engines, pytest.mark.xdist_group("engines")]

A_LOOK = r"""grammar = '''
root ::= "<<<<<<< LOOK\n" first second ">>>>>>> LOOK\n"
first ::= "read book.txt:" ("1-3" | "20000-20005" | "4-9") "\n"
second ::= ("list ." | "list notes" | "read ../../etc/passwd") "\n"
'''"""
FILES = {"rates.py": b"RATE = 2\n", "book.txt": b"".join(b"this is line %d\n" % n for n in range(1, 30_000))}
"""The book is too large for a first prompt: lines of it are seen by looking alone."""


def read_by(server: Server) -> int:
    """Prompt tokens that the server has computed in its life; those from its cache are not among them."""
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=10) as answer:
        found = re.search(rb"^llamacpp:prompt_tokens_total (\d+)", answer.read(), re.MULTILINE)
    assert found is not None
    return int(found[1])


def test_a_look_of_a_real_model_is_answered_from_the_cache_and_a_restart_goes_on(
    tmp_path: Path, engine: Server
) -> None:
    repo = make_repo(tmp_path / "thing", FILES)
    navigator = configured(tmp_path, engine.url, A_LOOK)
    navigator("project", "add", str(repo))
    navigator("task", "add", repo.name, "Raise the rate.")
    before = read_by(engine)
    killed = subprocess.run(
        [sys.executable, KILLED_AT, "event", "looked", "2", "run", "--until", "idle", "--json"],
        env=environment_of(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    wait_until_idle(engine)
    computed = read_by(engine) - before

    navigator = configured(tmp_path, engine.url, AN_EDIT, SHORT_STRINGS)
    session = navigator("run", "--until", "idle")
    assert session["states"] == {"awaiting_approval": 1}
    (proposal,) = navigator("proposals")["proposals"]
    assert proposal["way"] == "looking"
    connection = open_reader(tmp_path / "state" / "navigator.db")
    try:
        reader = Reader(connection)
        calls = [call for call in reader.calls_after(0) if call.outcome != "lost"]
        looks = reader.looks(proposal["task_id"])
    finally:
        connection.close()
    looked, again, written = [call for call in calls if call.role is Role.GENERATOR]
    assert (looked.outcome, again.outcome, written.outcome) == ("looked", "looked", "ok")
    assert (looks[0].kind, looks[0].outcome, looks[0].paths) == ("read", LookOutcome.SHOWN, ("book.txt",))
    # What the model was shown is new to the server, what it was asked before is not: it says so, and its own count agrees.
    asked = looked.usage.prompt_tokens
    assert again.usage.prompt_tokens > asked > 1000
    assert again.usage.cached_tokens > 0.9 * asked
    assert computed < asked + again.usage.prompt_tokens - 0.9 * asked
