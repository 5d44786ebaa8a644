"""What can go wrong in a swap, made to go wrong: a real systemd, real processes, real ports. Every test ends within bounds
that it sets itself, and says which model answers afterwards."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.swap.desk import STAND_IN, UNITS, Desk, wait_for
from tests.swap.streams import Stream

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("systemd")]


@pytest.fixture
def generating(desk: Desk) -> Desk:
    """The generator is resident."""
    first = desk.swap("generator")
    assert first.code == 0, first.err
    return desk


# The target does not come up

NEVER = {
    "exits_at_once": ("--words=Something broke", "unit_failed"),
    "out_of_memory": (
        "--words=torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB",
        "no_memory",
    ),
    "never_healthy": ("--sick", "timeout"),
    "never_listens": ("--boot=600", "timeout"),
}


@pytest.mark.parametrize("fault", NEVER)
def test_a_target_that_does_not_come_up(generating: Desk, fault: str) -> None:
    """The reason has a class, and the model from before answers again. An old line in the unit's file explains nothing."""
    flaw, kind = NEVER[fault]
    generating.log("reviewer").write_text("OSError: [Errno 28] No space left on device\n", "utf-8")
    generating.serve("reviewer", flaw)
    done = generating.swap("reviewer", LOAD_SECONDS="2", HEALTH_SECONDS="2")
    assert (done.code, done.outcome, done.failure) == (1, "went_back", kind), done.err
    assert generating.serves("generator")
    assert generating.state("reviewer") != "active"
    last = generating.logged()[-1]
    assert (last["outcome"], last["class"]) == ("went_back", kind)
    if flaw.startswith("--words="):
        assert flaw.removeprefix("--words=")[:40] in done.err


def test_neither_comes_up(generating: Desk) -> None:
    generating.serve("reviewer", "--words=Something broke")
    generating.serve("generator", "--words=Broken too")  # what runs goes on; it cannot start again
    done = generating.swap("reviewer")
    assert (done.code, done.outcome) == (4, "failed")
    assert "going back failed too" in done.out.splitlines()[-1]


def test_the_wrong_model_on_the_right_unit(generating: Desk) -> None:
    generating.serve("reviewer", model="test/another")
    done = generating.swap("reviewer")
    assert (done.code, done.failure) == (1, "wrong_model"), done.err
    assert "test/another" in done.detail("verify") or "test/another" in done.out
    assert generating.serves("generator")


def test_a_key_that_is_refused(generating: Desk) -> None:
    generating.serve("reviewer", "--key", "right")
    done = generating.swap("reviewer", REVIEWER_API_KEY="wrong")
    assert (done.code, done.failure) == (1, "refused"), done.err
    assert generating.swap("reviewer", REVIEWER_API_KEY="right").code == 0


def test_a_unit_that_is_not_there(generating: Desk) -> None:
    done = generating.swap("reviewer", REVIEWER_UNIT="no-such.service")
    assert done.code == 3
    assert "no-such.service" in done.err
    assert generating.serves("generator")


def test_a_systemd_that_does_not_let_us(
    generating: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where polkit does not know the user: said as it is, and nothing is killed."""
    real = shutil.which("systemctl")
    denier = tmp_path / "bin" / "systemctl"
    denier.parent.mkdir()
    denier.write_text(
        '#!/bin/bash\n[[ " $* " =~ " stop "|" kill " ]] && { echo "Failed to stop: Access denied" >&2; exit 4; }\n'
        f'exec {real} "$@"\n',
        "utf-8",
    )
    denier.chmod(0o755)
    monkeypatch.setenv("PATH", f"{denier.parent}:{os.environ['PATH']}")
    done = generating.swap("reviewer")
    assert (done.code, done.outcome, done.failure) == (1, "went_back", "refused"), done.err
    monkeypatch.undo()
    assert generating.serves("generator")


def test_a_lock_that_is_a_link_is_not_followed(generating: Desk, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    link = tmp_path / "link"
    link.symlink_to(precious)
    assert generating.swap("reviewer", LOCK=str(link)).code == 2
    assert precious.read_text() == "kept"


# Ports


def test_a_stranger_on_the_targets_port(generating: Desk) -> None:
    """Seen before anything is stopped."""
    pid = generating.manager.main_pid(UNITS["generator"])
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        generating.ports["reviewer"] = stranger.getsockname()[1]
        generating.serve("reviewer")
        done = generating.swap("reviewer")
    assert (done.code, done.outcome, done.failure) == (1, "went_back", "port_taken"), done.err
    assert ("stop", "done") not in done.phases
    assert generating.manager.main_pid(UNITS["generator"]) == pid


def test_a_port_that_is_not_let_go(desk: Desk) -> None:
    """Somebody else listens there too: on every address of IPv6, beside the server's own of IPv4."""
    desk.swap("generator")
    with socket.socket(socket.AF_INET6) as stranger:
        stranger.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        stranger.bind(("::", desk.ports["generator"]))
        stranger.listen()
        done = desk.swap("reviewer", RELEASE_SECONDS="1")
        assert (done.code, done.failure) == (4, "port_taken"), done.err
    assert desk.swap("reviewer").code == 0


def test_a_stranger_that_takes_the_port_while_the_target_loads(generating: Desk) -> None:
    """It answers in the target's place; that its model is another one is not the unit's fault."""
    if shutil.which("ss") is None:
        pytest.skip("ss: apt install iproute2")
    generating.serve("reviewer", "--boot=600")
    running = generating.begin("reviewer", RELEASE_SECONDS="1")
    wait_for(lambda: generating.state("reviewer") == "active")
    words = [sys.executable, STAND_IN, "--port", str(generating.ports["reviewer"]), "--model", "test/another"]
    stranger = subprocess.Popen(words, cwd=generating.folder)
    try:
        out, _ = running.communicate(timeout=60)
        assert running.returncode == 4  # the way back needs the port, too
        assert "phase=verify state=fail" in out
        assert "detail=port_taken" in out.splitlines()[-1]
        assert f"process {stranger.pid}" in out
    finally:
        stranger.kill()
        stranger.wait()
    assert generating.swap("generator").code == 0


# Units that do not stop


def test_a_server_that_ignores_sigterm(desk: Desk) -> None:
    """systemd would wait a minute; the script does not."""
    desk.serve("generator", "--deaf")
    desk.swap("generator")
    done = desk.swap("reviewer", STOP_SECONDS="1")
    assert done.code == 0, done.err
    assert "SIGKILL" in done.detail("stop")
    assert desk.serves("reviewer")


def test_children_that_are_left_behind(desk: Desk) -> None:
    """KillMode=process leaves a worker; it holds memory, so it is ended."""
    desk.serve("generator", "--child", unit="KillMode=process")
    desk.swap("generator")
    done = desk.swap("reviewer")
    assert done.code == 0, done.err
    assert "left 1 processes behind" in done.detail("release")


# Requests in flight


def test_a_stream_in_flight_is_waited_for(generating: Desk) -> None:
    stream = Stream(generating, "generator", {"rid": "mine", "max_tokens": 60})
    wait_for(lambda: stream.events > 0)
    done = generating.swap("reviewer")
    assert done.code == 0, done.err
    stream.thread.join(10)
    assert stream.whole
    assert (stream.events, '"finish_reason": "stop"' in stream.last) == (61, True)
    assert done.detail("drain") == ""


def test_when_time_is_up_the_callers_request_is_aborted_by_id(generating: Desk) -> None:
    stream = Stream(generating, "generator", {"rid": "mine", "max_tokens": 100000})
    wait_for(lambda: stream.events > 0)
    done = generating.swap("reviewer", DRAIN_SECONDS="0.5", RIDS="mine other")
    assert done.code == 0, done.err
    stream.thread.join(10)
    assert '"finish_reason": "abort"' in stream.last
    assert done.detail("drain").startswith("aborted: time was up with 1 in flight; 2 by id")
    aborted = (generating.folder / "aborted.log").read_text().split()
    assert "mine" in aborted
    assert "all" not in aborted


def test_when_time_is_up_a_strangers_request_is_aborted_too(generating: Desk, tmp_path: Path) -> None:
    """The ids may also stand in a file that is read when the time is up."""
    rids = tmp_path / "rids"
    rids.write_text("mine\n$(touch owned)\n")
    streams = [
        Stream(generating, "generator", {"rid": rid, "max_tokens": 100000}) for rid in ("mine", "theirs")
    ]
    wait_for(lambda: all(stream.events for stream in streams))
    done = generating.swap("reviewer", DRAIN_SECONDS="0.5", ABORT_SECONDS="1", RIDS_FILE=str(rids))
    assert done.code == 0, done.err
    assert "by id, then all" in done.detail("drain")
    assert not (generating.folder / "owned").exists()


def test_a_server_that_does_not_say_how_busy_it_is(desk: Desk) -> None:
    desk.serve("generator", "--silent-loads")
    desk.swap("generator")
    done = desk.swap("reviewer")
    assert done.code == 0
    assert "does not say" in done.detail("drain")


# Video memory


@pytest.fixture
def card(desk: Desk) -> Path:
    """A card that is not there: `nvidia-smi` prints what the file says is free, line by line, the last one for ever."""
    folder = desk.folder / "bin"
    folder.mkdir()
    free = folder / "free"
    free.write_text("80000\n")
    smi = folder / "nvidia-smi"
    smi.write_text(
        f"#!/bin/bash\nhead -n 1 {free}\n[[ $(wc -l <{free}) -gt 1 ]] && sed -i 1d {free}\nexit 0\n", "utf-8"
    )
    smi.chmod(0o755)
    desk.settings["REVIEWER_VRAM_MIB"] = "70000"
    desk.settings["GENERATOR_VRAM_MIB"] = "30000"
    return free


def with_card(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{desk.folder / 'bin'}:{os.environ['PATH']}")


def test_memory_that_takes_its_time(generating: Desk, card: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_card(generating, monkeypatch)
    card.write_text("100\n100\n100\n69999\n70000\n")
    done = generating.swap("reviewer")
    assert done.code == 0, done.err
    assert card.read_text() == "70000\n"


def test_memory_that_is_not_freed(generating: Desk, card: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough for the model from before, so that one comes back."""
    with_card(generating, monkeypatch)
    card.write_text("40000\n")
    done = generating.swap("reviewer", RELEASE_SECONDS="0.5")
    assert (done.code, done.outcome, done.failure) == (1, "went_back", "no_memory"), done.err
    assert "40000 MiB" in done.out
    assert generating.serves("generator")


def test_going_back_is_tried_without_the_memory(
    generating: Desk, card: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that was there before may fit where the numbers say that it does not."""
    with_card(generating, monkeypatch)
    card.write_text("10\n")
    done = generating.swap("reviewer", RELEASE_SECONDS="0.5")
    assert (done.code, done.outcome) == (1, "went_back"), done.err
    assert "tried all the same" in done.detail("release")


# The script itself: killed, twice at once, without a log


def begun(running: subprocess.Popen[str], phase: str) -> None:
    """Read what the script prints until it begins a phase."""
    assert running.stdout is not None
    while not running.stdout.readline().startswith(f"swap phase={phase} state=begin"):
        assert running.poll() is None


PHASES = ("drain", "stop", "release", "start", "load", "health", "verify")


@pytest.mark.parametrize(
    ("phase", "to"), [(phase, ("reviewer", "generator")[n % 2]) for n, phase in enumerate(PHASES)]
)
def test_killed_in_any_phase_and_run_again(desk: Desk, phase: str, to: str) -> None:
    """SIGKILL to the script alone, as the kernel's memory killer does it; its children live on and hold no lock."""
    slow = ("--boot=0.4", "--warm-up=0.4", "--tick=0.2")
    desk.serve("generator", *slow, unit="TimeoutStopSec=3")
    desk.serve("reviewer", *slow)
    assert desk.swap("generator").code == 0
    stream = Stream(desk, "generator", {"max_tokens": 2})
    wait_for(lambda: desk.get("generator", "/v1/loads")[1]["loads"][0]["num_running_reqs"] == 1)
    running = desk.begin("reviewer")
    begun(running, phase)
    running.kill()
    running.communicate(timeout=60)
    again = desk.swap(to, LOCK_SECONDS="0.2")
    assert (again.code, again.outcome) == (0, "done"), again.err
    assert desk.serves(to)
    other = "generator" if to == "reviewer" else "reviewer"
    assert desk.state(other) in ("inactive", "failed")
    stream.thread.join(10)


def test_told_to_end_it_ends_and_says_so(generating: Desk) -> None:
    generating.serve("reviewer", "--boot=600")
    running = generating.begin("reviewer")
    begun(running, "load")
    running.terminate()
    rest, _ = running.communicate(timeout=60)
    assert running.returncode == 143
    assert "phase=load state=fail" in rest
    assert rest.splitlines()[-1].startswith("swap outcome=failed")
    assert generating.swap("generator").code == 0


def test_its_reader_dies_and_the_swap_continues(generating: Desk) -> None:
    running = generating.begin("reviewer")
    assert running.stdout is not None
    running.stdout.close()
    assert running.wait(60) == 0
    assert generating.serves("reviewer")


def test_two_at_once(generating: Desk) -> None:
    """The impatient one says who holds the lock and touches nothing; the patient one waits, and finds its work done."""
    hold = generating.folder / "hold"
    hold.write_text("0")  # the first one stays in verify
    first = generating.begin("reviewer")
    wait_for(lambda: "to=reviewer" in (generating.folder / "lock").read_text())
    second = generating.swap("generator", LOCK_SECONDS="0.2")
    assert (second.code, second.phases) == (5, [])
    assert f"lock_held by pid={first.pid}" in second.out
    third = generating.begin("reviewer", stderr=subprocess.STDOUT)
    assert third.stdout is not None
    assert any("under way" in line for line in iter(third.stdout.readline, ""))
    hold.unlink()
    out, _ = third.communicate(timeout=60)
    assert (first.wait(60), third.returncode) == (0, 0)
    assert "phase=verify state=done" in out and "phase=load" not in out
    assert generating.serves("reviewer")


def test_no_room_for_the_log(generating: Desk) -> None:
    done = generating.swap("reviewer", LOG="/dev/full")
    assert (done.code, done.outcome) == (0, "done"), done.err
    assert "cannot be written" in done.err
    assert "disk_full" in done.out.splitlines()[-1]
    assert generating.serves("reviewer")


def test_a_systemd_that_is_not_there(desk: Desk) -> None:
    environment = desk.environment() | {"XDG_RUNTIME_DIR": str(desk.folder)}

    done = desk.script(environment, "reviewer")
    assert done.code == 3
    assert "detail=no_systemd" in done.out
    assert "enable-linger" in done.err
    environment["NAVIGATOR_SWAP_LOG"] = str(desk.folder / "not yet" / "swap.log")
    planned = desk.script(environment, "--dry-run", "reviewer")
    assert planned.code == 3
    assert "disk_full" not in planned.out + planned.err and "enable-linger" in planned.err
    assert not (desk.folder / "not yet").exists()
    looked = desk.script(environment, "status")
    assert looked.code == 3 and "systemd does not answer" in looked.out


def test_the_main_process_is_killed_while_it_loads(generating: Desk) -> None:
    """As the kernel's memory killer does it: noticed at once, not at the deadline."""
    generating.serve("reviewer", "--boot=600")
    running = generating.begin("reviewer", LOAD_SECONDS="100")
    wait_for(lambda: generating.state("reviewer") == "active")
    time.sleep(0.2)
    os.kill(generating.manager.main_pid(UNITS["reviewer"]), signal.SIGKILL)
    out, _ = running.communicate(timeout=60)
    assert running.returncode == 1
    assert "phase=load state=fail" in out
    assert "detail=unit_failed" in out
    assert generating.serves("generator")
