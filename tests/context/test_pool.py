"""What happens when a file hangs or kills the process that parses it: a real process, really hanging, really killed."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from navigator.context import files as pools
from navigator.context.files import ParseJob, Pool, ask
from navigator.context.tags import tags
from navigator.process import bounded
from navigator.process.bounded import Worker, WorkerLost

# A worker whose reading misbehaves over certain bytes; everything else in it is the real one.
SPOILT = """
import ctypes, os, signal
from navigator.process.bounded import process
from navigator.context import extract
real = extract.extract
def spoilt(language, data):
    if language and b"HANG" in data:
        while True:
            pass
    if language and b"CRASH" in data:
        os.kill(os.getpid(), signal.SIGSEGV)
    if b"ALWAYS" in data:
        os._exit(3)
    return real(language, data)
extract.extract = spoilt
process.main()
"""


@pytest.fixture
def spoilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spoilt_worker.py").write_text(textwrap.dedent(SPOILT))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(bounded, "_PROCESS", "spoilt_worker")
    monkeypatch.setattr(pools, "_SECONDS", 0.3)


def test_jobs_are_answered_whatever_their_number() -> None:
    with Pool(2) as pool:
        found = dict(pool.read(ParseJob(str(n), "python", b"def f%d(): pass\n" % n) for n in range(30)))
    assert {key: tags["defs"][0][0] for key, tags in found.items()} == {str(n): f"f{n}" for n in range(30)}


@pytest.mark.usefixtures("spoilt")
def test_a_file_that_hangs_or_crashes_the_parser_takes_part_by_its_words() -> None:
    jobs = [
        ParseJob("good", "python", b"def good(): pass\n"),
        ParseJob("hang", "python", b"def HANG(): word\n"),
        ParseJob("crash", "python", b"def CRASH(): word\n"),
        ParseJob("always", "python", b"ALWAYS\n"),
        ParseJob("after", "python", b"def after(): pass\n"),
    ]
    with Pool(1) as pool:
        found = dict(pool.read(jobs))
    assert [tags["defs"][0][0] for tags in (found["good"], found["after"])] == ["good", "after"]
    for key in ("hang", "crash"):
        assert found[key]["defs"] == [] and found[key]["terms"]["word"] == 1
    assert found["always"] == {"out": "it could not be read"}


def test_what_must_not_be_shown_is_told_by_its_reason() -> None:
    worker = Worker()
    try:
        assert ask(worker, tags, "", b"a\0b") == {"out": "not text"}
        assert (
            ask(worker, tags, "", b"version https://git-lfs.github.com/spec/v1\n")["out"]
            == "a pointer to a file in LFS"
        )
        assert "private key" in ask(worker, tags, "", b"-----BEGIN RSA PRIVATE KEY-----\n")["out"]
    finally:
        worker.close()


def test_a_lost_worker_is_followed_by_another() -> None:
    worker = Worker()
    try:
        assert ask(worker, tags, "python", b"a = 1\n")["parsed"]
        assert worker._process is not None
        worker._process.kill()
        worker._process.wait()
        assert ask(worker, tags, "python", b"a = 1\n")["parsed"]
        with pytest.raises(WorkerLost):
            ask(worker, tags, "no-such-language", b"x")
    finally:
        worker.close()


def test_no_key_of_the_environment_reaches_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_API_KEY", "abc")
    worker = Worker()
    try:
        ask(worker, tags, "", b"x")
        assert worker._process is not None
        environment = Path(f"/proc/{worker._process.pid}/environ")
        if not environment.exists():
            pytest.skip("/proc: not on this system")
        assert b"SECRET_API_KEY" not in environment.read_bytes()
    finally:
        worker.close()
