"""`swap/model-swap.sh` with a real systemd and servers that are stand-ins: what it does, and that it does no more."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from tests.swap.desk import SCRIPT, UNITS, Desk, quiet_port, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("systemd")]

WHOLE = [(phase, "done") for phase in ("drain", "stop", "release", "start", "load", "health", "verify")]


def test_shellcheck() -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck: apt install shellcheck")
    done = subprocess.run(["shellcheck", str(SCRIPT)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


LISTENERS = [
    ("127.0.0.1", True),
    ("0.0.0.0", True),
    ("::", True),
    ("::1", True),
    ("::ffff:127.0.0.1", True),
    ("127.0.0.2", False),
]


@pytest.mark.parametrize("with_ss", [True, False], ids=["ss", "proc"])
@pytest.mark.parametrize(("address", "in_the_way"), LISTENERS)
def test_who_listens(address: str, in_the_way: bool, with_ss: bool) -> None:
    """Bound is not listening, and another address of the loopback is not ours."""
    if with_ss and shutil.which("ss") is None:
        pytest.skip("ss: apt install iproute2")
    text = SCRIPT.read_text("utf-8")
    function = text[text.index("listening() {") : text.index("# --- systemd")]
    if not with_ss:
        function = function.replace("command -v ss", "false")
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as stranger:
        try:
            stranger.bind((address, 0))
        except OSError:
            pytest.skip(f"{address}: not on this machine")
        look = ["bash", "-c", f"{function}\nlistening {stranger.getsockname()[1]}"]
        assert subprocess.run(look).returncode == 1
        stranger.listen()
        assert (subprocess.run(look).returncode == 0) is in_the_way


def test_first_load_both_ways_and_a_second_time_in_which_nothing_is_stopped(desk: Desk) -> None:
    first = desk.swap("generator")
    assert (first.code, first.outcome, first.phases) == (0, "done", WHOLE[2:]), first.err
    *lines, last = first.out.splitlines()
    assert all(line.startswith("swap phase=") for line in lines)
    assert last.startswith("swap outcome=done t=")
    assert desk.serves("generator")
    for to, origin in (("reviewer", "generator"), ("generator", "reviewer")):
        done = desk.swap(to)
        assert (done.code, done.phases) == (0, WHOLE), done.err
        assert desk.serves(to)
        assert (desk.state(to), desk.state(origin)) == ("active", "inactive")
        assert f"from={origin} to={to}" in done.out
    pid = desk.manager.main_pid(UNITS["generator"])
    again = desk.swap("generator")
    assert (again.code, again.phases, again.detail("verify")) == (0, [("verify", "done")], "already resident")
    assert desk.manager.main_pid(UNITS["generator"]) == pid


def test_a_target_that_is_loading_is_not_started_again(desk: Desk) -> None:
    """As after a restart of the machine, with the unit enabled."""
    desk.serve("generator", "--boot=1")
    desk.manager.ctl("start", UNITS["generator"])
    pid = desk.manager.main_pid(UNITS["generator"])
    done = desk.swap("generator")
    assert (done.code, done.phases) == (0, WHOLE[4:]), done.err
    assert desk.manager.main_pid(UNITS["generator"]) == pid


def test_a_resident_that_serves_another_model_is_restarted(desk: Desk) -> None:
    """Its unit was changed meanwhile."""
    desk.serve("generator", model="test/another")
    desk.manager.ctl("start", UNITS["generator"])
    wait_for(lambda: desk.get("generator", "/health")[0] == 200)
    desk.serve("generator")
    done = desk.swap("generator")
    assert done.code == 0, done.err
    assert desk.serves("generator")


def test_each_role_on_a_port_of_its_own(desk: Desk) -> None:
    desk.ports["reviewer"] = quiet_port()
    desk.serve("reviewer")
    assert desk.swap("generator").code == 0
    done = desk.swap("reviewer")
    assert (done.code, done.phases) == (0, WHOLE), done.err
    assert desk.get("generator", "/health") == (0, None)


def test_dry_run_changes_nothing(desk: Desk) -> None:
    desk.swap("generator")
    pid = desk.manager.main_pid(UNITS["generator"])
    before = sorted((path.name, path.stat().st_mtime_ns) for path in desk.folder.iterdir())
    done = desk.swap("--dry-run", "reviewer")
    assert done.code == 0, done.err
    for word in ("drain", "stop", "release", "start", "load", "health", "verify", UNITS["reviewer"]):
        assert word in done.out
    assert "On failure: back to generator." in done.out
    assert "nothing would be done" in desk.swap("--dry-run", "generator").out
    assert desk.manager.main_pid(UNITS["generator"]) == pid
    assert before == sorted((path.name, path.stat().st_mtime_ns) for path in desk.folder.iterdir())


def test_status_says_what_is_there(desk: Desk) -> None:
    assert "swap resident=none" in desk.swap("status").out
    desk.swap("reviewer")
    shown = json.loads(desk.swap("status", "--json").out)
    assert shown["resident"] == "reviewer"
    assert not shown["swapping"]
    by_role = {row["role"]: row for row in shown["roles"]}
    assert by_role["generator"]["active"] == "inactive"
    model = "test/tiny-reviewer"
    here = {
        "role": "reviewer",
        "unit": UNITS["reviewer"],
        "active": "active",
        "health": 200,
        "resident": True,
    }
    assert by_role["reviewer"] == here | {"model": model, "expected": model}
    other = json.loads(desk.swap("status", "--json", REVIEWER_MODEL="x/y").out)
    assert other["resident"] is None


def test_log_is_a_table_of_swaps(desk: Desk) -> None:
    assert desk.swap("log").out == ""
    desk.swap("generator")
    desk.serve("reviewer", "--words=Broken")
    desk.swap("reviewer")
    rows = desk.swap("log").out.splitlines()
    assert len(rows) == 3 and "done" in rows[1]
    assert all(word in rows[2] for word in ("went_back", "unit_failed", "!"))
    assert len(desk.swap("log", "-n", "1").out.splitlines()) == 2
    phases = [line["phase"] for line in desk.logged() if "phase" in line]
    assert phases[:5] == ["release", "start", "load", "health", "verify"]


def test_why_a_unit_does_not_run(desk: Desk) -> None:
    assert desk.swap("why", "generator").out.startswith("none ")
    for words, kind in (
        ("No space left on device", "disk_full"),
        ("OSError: [Errno 98] Address already in use", "port_taken"),
    ):
        desk.serve("generator", f"--words={words}")
        desk.manager.ctl("start", UNITS["generator"])
        wait_for(lambda: desk.state("generator") == "failed")
        told = desk.swap("why", "generator")
        first, *_, last = told.out.splitlines()
        assert (told.code, last) == (0, words)
        assert first.startswith(f"{kind} {UNITS['generator']} ended")
        desk.log("generator").unlink()
        desk.manager.ctl("reset-failed", UNITS["generator"])
    assert desk.swap("why").code == 2


# Settings


def test_a_file_is_read_and_not_executed(desk: Desk, tmp_path: Path) -> None:
    conf = tmp_path / "swap.conf"
    conf.write_text("# a comment\n\n  generator.model =  $(touch owned)\n", "utf-8")
    environment = {k: v for k, v in desk.environment().items() if not k.endswith("GENERATOR_MODEL")}
    done = desk.script(environment, "--conf", str(conf), "--dry-run", "generator")
    assert done.code == 0, done.err
    assert "verify   model $(touch owned)," in done.out
    assert not (desk.folder / "owned").exists()


def test_the_environment_wins_over_the_file_and_options_over_both(desk: Desk, tmp_path: Path) -> None:
    conf = tmp_path / "swap.conf"
    conf.write_text("drain_seconds = 7\nstop_seconds = 8\nscope = system", "utf-8")
    desk.settings.pop("STOP_SECONDS")
    desk.swap("generator")
    out = desk.swap("--conf", str(conf), "--user", "--dry-run", "reviewer", DRAIN_SECONDS="9").out
    assert "at most 9 s (in flight now: 0)" in out
    assert "at most 8 s, then SIGKILL" in out


@pytest.mark.parametrize(
    "line",
    [
        "scope = both",
        "surprise = 1",
        "drain_seconds = -1",
        "generator.vram_mib = many",
        "generator.unit = a;b.service",
        "generator.url = http://user:secret@host",
        "reviewer.unit = navigator-generator.service",
        "generator.api_key_file = /no/such/file",
    ],
)
def test_settings_that_do_not_fit(desk: Desk, tmp_path: Path, line: str) -> None:
    conf = tmp_path / "swap.conf"
    conf.write_text(line + "\n", "utf-8")
    log = {"NAVIGATOR_SWAP_LOG": str(tmp_path / "log")}
    done = desk.script(desk.manager.environment | log, "--conf", str(conf), "generator")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("model-swap: ")


@pytest.mark.parametrize(
    "words", [[], ["final"], ["--nonsense", "generator"], ["generator", "reviewer"], ["log", "-n", "x"]]
)
def test_wrong_use(desk: Desk, words: list[str]) -> None:
    assert desk.swap(*words).code == 2


# Keys


def test_a_key_in_a_file_that_others_can_read_is_refused(desk: Desk, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("secret-of-the-server\n", "utf-8")
    key.chmod(0o644)
    done = desk.swap("generator", GENERATOR_API_KEY_FILE=str(key))
    assert (done.code, "secret" in done.err) == (2, False)
    desk.serve("generator", "--key", "secret-of-the-server")
    key.chmod(0o600)
    assert desk.swap("generator", GENERATOR_API_KEY_FILE=str(key)).code == 0


def test_a_key_shows_in_no_command_line(desk: Desk) -> None:
    """Looked for all through a swap, in every process but the server, which was started with it."""
    key = 'sk-"quoted"\\-5f3a'
    hold = desk.folder / "hold"
    hold.write_text("0")  # the last question waits until curl, which asks it, has been seen
    running = desk.begin("generator", GENERATOR_API_KEY=key)
    seen: set[str] = set()
    while running.poll() is None:
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                secret = key.encode() in (process / "environ").read_bytes()
            except OSError:
                continue
            assert key not in words
            assert not secret or int(process.name) == running.pid or "model-swap.sh" in words, words
            seen.add(words.split(" ")[0].rpartition("/")[2])
        if "curl" in seen:
            hold.unlink(missing_ok=True)
        time.sleep(0.001)
    assert running.stdout is not None
    assert "outcome=done" in running.stdout.read()
    running.stdout.close()
    assert "curl" in seen
    assert all(key not in path.read_text() for path in desk.folder.glob("*.log"))
