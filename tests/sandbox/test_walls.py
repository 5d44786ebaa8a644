"""What a project's tests cannot do, each tried for real in bubblewrap: reach out, write outside, take too much, stay."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from navigator.model.models import Baseline
from navigator.model.states import CheckOutcome
from navigator.sandbox.probe import Sandbox
from navigator.sandbox.suite import compared
from navigator.sandbox.supervise import Limits
from tests.git.world import fingerprint
from tests.journey.support import differences, git
from tests.sandbox.support import Bench, needs_sandbox, processes_saying
from tests.swap.desk import wait_for

pytestmark = [pytest.mark.sandbox, needs_sandbox]

PASSED, FAILED, UNTESTED = CheckOutcome.PASSED, CheckOutcome.FAILED, CheckOutcome.UNTESTED


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("bench"), {"a.txt": "a\n", "src/b.py": "B = 1\n"})


def says(bench: Bench, command: str, **options: object) -> str:
    """What a command that fails on purpose prints."""
    run = bench.run(check=f"{command}\nexit 9", **options)  # type: ignore[arg-type]
    assert run.outcome is FAILED, run
    return run.detail


def test_what_is_seen_inside(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "shall-not-be-seen")
    home = Path.home()
    said = says(
        bench,
        "pwd; ls -a; test -e .git || echo no repository; echo $HOME; touch ~/x && echo own; "
        f"ls {home}/.ssh {home}/.gitconfig {home}/.bashrc /var/log /root/.bashrc; "
        "env | sort; cat /proc/1/environ /proc/self/environ | tr '\\0' '\\n'",
    )
    for seen in (str(bench.path), "a.txt", "no repository", "/home/sandbox", "own", "PATH="):
        assert seen in said
    assert said.count("No such file or directory") == 5 and "shall-not-be-seen" not in said


def test_nothing_reaches_the_network(bench: Bench) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        code = f"""import socket
for place in (("127.0.0.1", {port}), ("1.1.1.1", 53)):
    try:
        socket.create_connection(place, 3)
        print("reached", place)
    except OSError as error:
        print("refused", place[0], error.errno)
try:
    socket.getaddrinfo("example.org", 80)
    print("resolved")
except OSError:
    print("no names")
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname(), 3)
print("its own answers")"""
        said = says(bench, python(code))
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()
    assert "reached" not in said and "resolved" not in said
    assert said.count("refused") == 2 and "its own answers" in said


def test_abstract_sockets_of_the_machine_are_out_of_reach(bench: Bench) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0navigator-test-socket")
        server.listen()
        said = says(
            bench,
            "python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect(chr(0) + 'navigator-test-socket')\"",
        )
    assert "refused" in said.lower()


def test_the_users_repository_and_checkout_are_untouched(bench: Bench) -> None:
    before = fingerprint(bench.path)
    run = bench.run(
        check=(
            "set -e; echo gone > a.txt; rm -r src; mkdir -p .git/hooks; echo evil > .git/config; "
            "echo evil > .git/hooks/pre-commit; echo new > new.txt"
        )
    )
    assert run.outcome is PASSED, run
    assert differences(before, fingerprint(bench.path)) == []
    assert git(bench.path, "status", "--porcelain") == ""


def test_there_is_no_way_to_more_rights_nor_to_the_system_or_its_processes(bench: Bench) -> None:
    places = "/usr/x /x /etc/x /dev/x /proc/sys/kernel/hostname /proc/sys/vm/swappiness"
    said = says(
        bench,
        "ls /proc | grep -c '^[0-9]'; grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status; "
        "unshare -Ur true || echo no namespace; "
        f"for place in {places}; do (echo x > $place) && echo wrote; done; "
        f"ls -d /proc/{os.getpid()} && kill -9 {os.getpid()}",
    )
    assert "CapEff:\t0000000000000000" in said and "NoNewPrivs:\t1" in said and "no namespace" in said
    assert "wrote" not in said and not Path("/usr/x").exists()
    assert "No such file" in said or os.getpid() < 10
    assert int(said.split("\n\n", 1)[1].split()[0]) < 12


def python(code: str) -> str:
    return f"python3 - <<'E'\n{code}\nE"


MEBIBYTE = "b'x' * (1 << 20)"
STAYS = "import time; time.sleep(60)"
NAMELESS = (
    "import os\nfor name in ('big', 'other'):\n    fd = os.open(name, os.O_RDWR | os.O_CREAT)\n    os.unlink(name)\n"
    f"    for _ in range(39): os.write(fd, {MEBIBYTE})"
)
TRACES = (
    "import ctypes, os, signal; ctypes.CDLL(None).ptrace(16, 1, 0, 0)\n"
    "os.kill(1, signal.SIGSTOP); os.kill(os.getppid(), signal.SIGSTOP)"
)
BEYOND: dict[str, tuple[str, Limits, str]] = {
    "memory of all processes": (
        "for i in 1 2 3 4; do python3 -c 'import time; b = b\"x\" * (180 << 20); time.sleep(30)' & done; wait",
        Limits(60, 400),
        "more than 400 MiB of memory",
    ),
    "memory in a file": (
        python(
            f"import os; fd = os.memfd_create('a')\nfor _ in range(600): os.write(fd, {MEBIBYTE})\n{STAYS}"
        ),
        Limits(50, 300),
        "more than 300 MiB of memory",
    ),
    "memory that is mapped": (
        python(
            f"import mmap; m = mmap.mmap(-1, 600 << 20)\nfor _ in range(600): m.write({MEBIBYTE})\n{STAYS}"
        ),
        Limits(50, 300),
        "more than 300 MiB of memory",
    ),
    "disk, by files without a name": (
        python(f"{NAMELESS}\n{STAYS}"),
        Limits(50, 4096, disk_mb=40),
        "more than 40 MiB of files",
    ),
    "disk, by many files": (
        "i=0; while true; do head -c 4M /dev/zero > big$i; i=$((i+1)); done",
        Limits(60, 4096, disk_mb=40),
        "more than 40 MiB of files",
    ),
    "output": (f"yes {'not a test ' * 80}", Limits(60, 4096, output=1 << 20), "wrote more than 1 MiB"),
    "time, though it is stopped": ("kill -STOP $$; echo never", Limits(1, 4096), "did not end within 1 s"),
    "time, though it stops what holds its sandbox": (
        python(f"{TRACES}\n{STAYS}"),
        Limits(2, 4096),
        "did not end within 2 s",
    ),
}


@pytest.mark.parametrize("what", BEYOND)
def test_more_than_the_limit_is_a_failed_check(bench: Bench, what: str) -> None:
    command, limits, words = BEYOND[what]
    run = bench.run(check=command, limits=limits)
    assert run.outcome is FAILED and words in run.line
    assert len(run.detail) < 6_000


def test_a_fork_bomb_is_stopped(bench: Bench) -> None:
    code = """import os, time
try:
    while os.fork():
        pass
    time.sleep(60)
except OSError:
    print("stopped by the kernel", flush=True)
    os._exit(1)"""
    run = bench.run(check=python(code), limits=Limits(60, 4096, processes=100))
    assert run.outcome is FAILED
    assert "100 processes" in run.line or "stopped by the kernel" in run.detail


def test_memory_is_bounded_in_one_process(bench: Bench) -> None:
    run = bench.run(check="python3 -c 'b = bytearray(1 << 30); print(len(b))'", limits=Limits(300, 256))
    assert run.outcome is FAILED and "1073741824" not in run.detail
    assert "MemoryError" in run.detail or "memory" in run.line


def test_memory_that_processes_share_counts_once(bench: Bench) -> None:
    code = (
        "import mmap, os, time; m = mmap.mmap(-1, 150 << 20); m.write(b'x' * (150 << 20))\n"
        "for _ in range(4):\n    if os.fork() == 0: [m[at] for at in range(0, 150 << 20, 4096)]; time.sleep(2); os._exit(0)\n"
        "for _ in range(4): os.wait()"
    )
    run = bench.run(check=f'python3 -c "{code}"', limits=Limits(60, 450))
    assert run.outcome is PASSED, run


def test_the_keyrings_of_the_session_are_out_of_reach(bench: Bench) -> None:
    """Keyrings are in no namespace: what the user's session keeps there (Kerberos, fscrypt) could else be read or revoked."""
    code = (
        "import ctypes, errno, platform; libc = ctypes.CDLL(None, use_errno=True)\n"
        "first = {'x86_64': 248, 'aarch64': 217}[platform.machine()]\n"
        "for number in range(first, first + 3):\n"
        "    print(libc.syscall(number, 0, -3, 0, 0, 0), errno.errorcode[ctypes.get_errno()])\n"
        "print(libc.syscall(first - 1, 0, 0, 0) != 0)"
    )
    said = says(bench, python(code))
    assert said.count("-1 ENOSYS") == 3


def test_a_run_that_ends_early_with_success_is_no_passed_run(tmp_path: Path) -> None:
    test = "import unittest\n\nclass T(unittest.TestCase):\n    def test_a(self): pass\n    def test_b(self): pass\n"
    bench = Bench(tmp_path, {"test_a.py": test}, check="python3 -m unittest")
    base = bench.run()
    assert (base.outcome, base.passed) == (PASSED, 2)
    early = bench.run(
        bench.changed({"test_a.py": test.replace("a(self): pass", "a(self): import os; os._exit(0)")})
    )
    before = Baseline(
        project_id=1, tree="a", command="b", environment="c", outcome=base.outcome, detail=base.detail
    )
    said = compared(before, early)
    assert said.outcome is FAILED
    assert said.detail == "exit status 0, but the output counts no tests; 2 passed on the base"
    fewer = bench.run(bench.changed({"test_a.py": test.replace("    def test_b(self): pass\n", "")}))
    assert compared(before, fewer).detail == "1 passed; 2 on the base"


def test_memory_folders_are_bounded(bench: Bench) -> None:
    said = says(
        bench,
        "for d in /tmp /dev/shm /run ~; do head -c 80M /dev/zero > $d/x || echo full $d; done",
        limits=Limits(300, 4096, tmpfs_mb=64),
    )
    assert said.count("full ") == 4


def test_a_command_that_does_not_end_is_ended(bench: Bench) -> None:
    endless = f"sleep 600.{os.getpid()}"  # other tests sleep too
    run = bench.run(check=endless, limits=Limits(1, 4096))
    assert run.outcome is FAILED and "did not end within 1 s" in run.line
    assert not processes_saying(endless)


def test_no_daemon_outlives_the_run(bench: Bench) -> None:
    # A number of this process's own: somebody else's run of this test is not ours to judge.
    daemon = f"sleep 98765.{os.getpid()}"
    run = bench.run(check=f"setsid sh -c '(setsid {daemon} &) ' >/dev/null 2>&1 </dev/null & sleep 0.3; true")
    assert run.outcome is PASSED
    # Bubblewrap tells how the check ended before it is gone itself, and everything in the sandbox with it.
    wait_for(lambda: not processes_saying(daemon), 60)


def test_a_cancelled_run_is_killed_whole(bench: Bench) -> None:
    cancel = threading.Event()
    threading.Timer(0.5, cancel.set).start()
    run = bench.run(check="setsid sleep 97531 & sleep 97532", cancel=cancel)
    assert run.cut == "cancelled"
    assert not processes_saying("sleep 97531") and not processes_saying("sleep 97532")


def test_a_killed_parent_takes_the_sandbox_along(tmp_path: Path) -> None:
    made = f"Bench(pathlib.Path({str(tmp_path)!r}), {{'a.txt': 'a'}}, 'sleep 96420')"
    script = f"import pathlib\nfrom tests.sandbox.support import Bench\n{made}.run()"
    child = subprocess.Popen([sys.executable, "-c", script])
    try:
        wait_for(lambda: processes_saying("sleep 96420") or child.poll() is not None, 60)
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()
    wait_for(lambda: not processes_saying("sleep 96420"), 60)


def test_without_a_sandbox_nothing_is_run(bench: Bench) -> None:
    run = bench.run(
        check="touch /tmp/navigator-was-run", sandbox=Sandbox(reason="it is not here", hint="Get it.")
    )
    assert run.outcome is UNTESTED and run.line == "no sandbox: it is not here" and "Get it." in run.detail
    assert not Path("/tmp/navigator-was-run").exists()


def test_unsandboxed_runs_only_when_asked_for(bench: Bench) -> None:
    none = Sandbox(reason="switched off")
    before = fingerprint(bench.path)
    run = bench.run(
        check="set -e; grep -q a a.txt; echo b > a.txt; test ! -e .git", sandbox=none, without=True
    )
    assert run.outcome is PASSED, run
    assert bench.run(check="sleep 600", sandbox=none, without=True, limits=Limits(1, 4096)).outcome is FAILED
    assert differences(before, fingerprint(bench.path)) == []
