"""End one llama-server and start another: the program that strategy `command` runs in swaps.py. Standard library only.

    python change.py STATE.json LOG.jsonl generator|reviewer|none

STATE.json holds the server's command, its address, its process and both models. A line of LOG.jsonl says how long it
took since the kernel started this program: the start of Python is counted, its end is not.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path


def main() -> None:
    """Do what the arguments say."""
    place, log, role = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    state = json.loads(place.read_text("utf-8"))
    if state["pid"]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(state["pid"], signal.SIGTERM)
        while alive(state["pid"]):
            time.sleep(0.002)
    stopped = since_start()
    state["pid"] = 0
    if role != "none":
        model = state["models"][role]
        process = subprocess.Popen(
            [*state["command"], "--model", model["file"], "--alias", model["alias"]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        state["pid"] = process.pid
        place.write_text(json.dumps(state), "utf-8")
        while not healthy(state["url"]):
            if process.poll() is not None:
                sys.exit(f"the server ended with code {process.returncode}")
            time.sleep(0.005)
    place.write_text(json.dumps(state), "utf-8")
    ended = since_start()
    with log.open("a", encoding="utf-8") as file:
        took = {"program_stop_seconds": round(stopped, 2), "program_seconds": round(ended, 2)}
        file.write(json.dumps(took) + "\n")


def since_start() -> float:
    """Seconds since this process began, in the kernel's steps of a hundredth."""
    words = Path("/proc/self/stat").read_text("utf-8").rpartition(")")[2].split()
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(words[19]) / os.sysconf("SC_CLK_TCK")


def alive(pid: int) -> bool:
    """Whether the process still runs; one that only waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def healthy(url: str) -> bool:
    """Whether the server answers."""
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5):
            return True
    except (OSError, urllib.error.URLError):
        return False


if __name__ == "__main__":
    main()
